"""Reads answers from a retrieval report: how the router policy's tests run, and how a run is repeated byte for byte."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from assay.engine.foreign_chunks import SourceResult
from assay.errors import ConfigError, StoreError
from assay.protocols import Snapshot
from assay.sources.listing import SourceHit, build_result, is_number
from assay.sources.open_cache import open_once
from assay.types import Chunk, Query, Range, Ranking, Scale

_CURE = 'name a report: {"results": [{"question_id", "retrieved_session_ids", "retrieved_scores", "latency_ms"}]}'


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a system answered before, question by question, with the milliseconds it took.

    `path` is a JSON report: a list `results` of {question_id, retrieved_session_ids, retrieved_scores, latency_ms,
    question?}; the reports of `assay bench router` are such. A question is found by its id, else by its text. Missing
    scores are 0, so that the recorded order holds. A find has its id as its `session_id`, so that it is one candidate
    with chunks of that session elsewhere. Filters were applied when it was recorded. `scale` says what the scores are:
    "unit" in [0, 1], or "raw", which thresholds and weighted_merge refuse.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    is_source: ClassVar[bool] = True

    path: str
    scale: Scale = "raw"

    def __post_init__(self) -> None:
        if not self.path:
            raise ConfigError("recorded.path is empty", "name the report's file")

    def reads(self) -> tuple[str, ...]:
        return (self.path,)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0) if self.scale == "unit" else Range("raw", float("-inf"), float("inf"))

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> SourceResult:
        row = self._row(query)
        if row is None:
            question = query.id or query.text[:60]
            raise StoreError(
                f"{self.path} holds no answer to {question!r}", "record it with this question, or leave it out"
            )
        hits = [
            SourceHit(Chunk(name, name, "", 0, meta={"session_id": name}), score)
            for name, score in zip(row.ids, row.scores, strict=True)
        ]
        return build_result("recorded", hits, self.scale, k)

    def cost_ms(self, query: Query) -> float | None:
        """What the recorded answer took; a missing one costs nothing, since there is nothing to do."""
        row = self._row(query)
        return None if row is None else row.ms

    def _row(self, query: Query) -> _RecordedAnswer | None:
        report = read_report(self.path)
        return report.get(("id", query.id)) or report.get(("text", query.text))


@dataclass(frozen=True, slots=True)
class _RecordedAnswer:
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    ms: float


def read_report(path: str) -> Mapping[tuple[str, str], _RecordedAnswer]:
    """("id", question id) and ("text", question) → its row. A file that changed is read again."""
    try:
        stat = os.stat(path)
        return open_once(("report", path, stat.st_mtime_ns, stat.st_size), lambda: _parse_report(path))
    except OSError as error:
        raise StoreError(f"the report {path} cannot be read: {error.strerror}", _CURE) from error


def _parse_report(path: str) -> Mapping[tuple[str, str], _RecordedAnswer]:
    try:
        report = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise StoreError(f"the report {path} is no JSON: {error}", _CURE) from error
    results = report.get("results") if isinstance(report, dict) else None
    if not isinstance(results, list):
        raise StoreError(f"the report {path} has no list `results`", _CURE)
    answers: dict[tuple[str, str], _RecordedAnswer] = {}
    for place, entry in enumerate(results, 1):
        row = _parse_row(entry, f"{path}, result {place}")
        for key in (("id", entry.get("question_id")), ("text", entry.get("question"))):
            if isinstance(key[1], str) and key[1]:
                answers.setdefault((key[0], key[1]), row)
    return answers


def _parse_row(entry: Any, where: str) -> _RecordedAnswer:
    if not isinstance(entry, dict):
        raise StoreError(f"{where} is no table", _CURE)
    ids, scores = entry.get("retrieved_session_ids"), entry.get("retrieved_scores") or []
    ms = entry.get("latency_ms") or 0.0
    if not isinstance(ids, list) or not all(isinstance(name, str) and name for name in ids):
        raise StoreError(f"{where}: retrieved_session_ids is no list of ids", _CURE)
    if not isinstance(scores, list) or not all(is_number(score) for score in scores) or not is_number(ms):
        raise StoreError(f"{where}: a score or latency_ms is no number", _CURE)
    padded = [*map(float, scores), *([0.0] * len(ids))][: len(ids)]
    return _RecordedAnswer(tuple(ids), tuple(padded), max(float(ms), 0.0))
