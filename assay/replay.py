"""A served answer as a record: what was asked, what became of every step, what others brought. It replays.

    {"schema": 1, "query": {…}, "k": …, "snapshot": {"version", "digest"}, "pipeline": {…}, "texts": …,
     "steps": [{"name", "fate", "skipped", "ms", "trigger", "brought"}],
     "answer": "<sha256 of the chosen ids and scores>"}

Decisions of the clock, of triggers (which may have read the texts of others) and of other stores cannot be made again,
so a replay takes them from the record; everything else is computed anew, in the same version of the store. A record
holds ids, scores, metadata and remarks of what was brought, and its texts only when asked to: a step that reads texts
(a reranker) needs them to replay.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from assay.config.load import from_dict, to_config
from assay.engine.answer import Answer, Span
from assay.engine.digests import ranking_digest
from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW, ExtendedSnapshot, SourceResult, base_snapshot, source_result
from assay.engine.pipeline import Pipeline
from assay.errors import OutOfTime, StoreError
from assay.kb import KnowledgeBase
from assay.protocols import Fired, Job, Snapshot
from assay.types import Chunk, Note, Part, Query, Range, Ranking
from assay.where import parse

SCHEMA = 1
_ASKED = ("leg", "stage", "select")
_REACHED = ("ran", "out_of_time", "failed")
"""Fates of steps that were asked to run; the others were decided before."""


def record(answer: Answer, pipeline: Pipeline, *, with_text: bool = False) -> dict[str, Any]:
    """The record of an answer that this pipeline gave, as plain data."""
    query, view = answer.query, base_snapshot(answer.snapshot)
    vector = None if query.vector is None else base64.b64encode(query.vector.astype("<f4").tobytes()).decode()
    return {
        "schema": SCHEMA,
        "query": {
            "text": query.text,
            "vector": vector,
            "at": query.at,
            "where": None if query.where is None else str(query.where),
            "scope": query.scope,
            "extra": dict(query.extra),
            "id": query.id,
        },
        "k": len(answer.chosen),
        "snapshot": {"version": getattr(view, "version", None), "digest": view.digest},
        "pipeline": to_config(pipeline),
        "texts": with_text,
        "steps": [_step(span, answer, with_text) for span in answer.trace if span.kind in _ASKED],
        "answer": ranking_digest(answer.chosen),
    }


def _step(span: Span, answer: Answer, with_text: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"name": span.name, "fate": span.fate, "skipped": span.skipped, "ms": round(span.ms, 3)}
    if span.fired is not None:
        said["trigger"] = span.fired.to_json()
    if span.kind != "leg" or f"legs.{span.name}" not in answer.digests:
        return said
    found, view = span.gave, answer.snapshot
    rows = view.rows(found.ids)
    strangers = view.chunks(rows[rows >= FIRST_FOREIGN_ROW]) if isinstance(view, ExtendedSnapshot) else []
    gave = {
        "ids": found.ids.tolist(),
        "scale": found.scale,
        "parts": [[part.name, part.op, _plain(part.column)] for part in found.parts],
        "chunks": [_chunk(chunk, with_text) for chunk in strangers],
        # All but the engine's own last word, that the leg was triggered: a replay says it again.
        "notes": [asdict(note) for note in (span.notes if span.fired is None else span.notes[:-1])],
    }
    return {**said, "brought": gave}


def _plain(column: Any) -> list[float | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]


def _chunk(chunk: Chunk, with_text: bool) -> dict[str, Any]:
    said = {**asdict(chunk), "created": None if math.isnan(chunk.created) else chunk.created, "meta": dict(chunk.meta)}
    return said if with_text else {**said, "text": ""}


@dataclass(frozen=True)
class ReplayResult:
    """The answer computed again, and whether it is the one that was served; where it is not, what may be to blame."""

    answer: Answer
    same: bool
    hint: str = ""


def replay(found: Mapping[str, Any], base: KnowledgeBase) -> ReplayResult:
    """Answer a recorded query again, in the version of the store that it was served from."""
    try:
        if found["schema"] != SCHEMA:
            raise StoreError(f"this record has schema {found['schema']!r}", f"this version replays schema {SCHEMA}")
        pipeline = _decided(from_dict(found["pipeline"]), found["steps"])
        version = found["snapshot"]["version"]
        view = base.snapshot(None if version is None else f"v{version}")
        query, k = _query(found["query"]), max(int(found["k"]), 1)
        embed, given = None, query.vector
        if given is not None and query.text.strip() and not view.lacks("dense"):
            # As a model gave it: a caller's vector is brought to unit length again, which may move its last bit.
            query, embed = replace(query, vector=None), lambda _: given
        answer = pipeline.run(query, view, embed, k=k, asker=ReplayExecutor(found["steps"]))
        same = ranking_digest(answer.chosen) == found["answer"]
        return ReplayResult(answer, same, "" if same else _hint(found, view.digest))
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise StoreError(f"this record cannot be read: {error!r}", "name a file of `assay search --record`") from error


def _hint(found: Mapping[str, Any], digest: str) -> str:
    if found["snapshot"]["digest"] != digest:
        return "this is another store than the one that served it, or something was purged from it since"
    source_result = any(step.get("brought", {}).get("chunks") for step in found["steps"])
    if source_result and not found.get("texts"):
        return "the record holds no texts of other sources, which a step may have read; record with --with-text"
    return ""


def loads(text: str) -> Mapping[str, Any]:
    """A record from its JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"this record is no JSON: {error}", "name a file of `assay search --record`") from error
    if not isinstance(found, dict):
        raise StoreError("this record is no table", "name a file of `assay search --record`")
    return found


def _query(said: Mapping[str, Any]) -> Query:
    vector = said["vector"]
    return Query(
        text=said["text"],
        vector=None if vector is None else np.frombuffer(base64.b64decode(vector, validate=True), "<f4"),
        at=said["at"],
        where=None if said["where"] is None else parse(said["where"]),
        scope=said["scope"],
        extra=said["extra"],
        id=said["id"],
    )


@dataclass(frozen=True)
class RecordedTrigger:
    """The trigger of a replay: it decides as it did."""

    fired: Fired

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        return self.fired

    def check(self, legs: Mapping[str, Range]) -> None:
        """It was checked when it was served."""


def _decided(pipeline: Pipeline, steps: list[Mapping[str, Any]]) -> Pipeline:
    """The pipeline with its triggers' decisions as they were recorded."""
    said = {
        step["name"]: RecordedTrigger(Fired(step["fate"] != "not_triggered", **step["trigger"]))
        for step in steps
        if "trigger" in step
    }
    return replace(pipeline, legs=tuple(replace(plan, when=said.get(plan.name, plan.when)) for plan in pipeline.legs))


class ReplayExecutor:
    """The asker of a replay: every errand meets the fate that it met when it was served."""

    def __init__(self, steps: list[Mapping[str, Any]]) -> None:
        self._steps = [step for step in steps if step["fate"] in _REACHED]

    def ask(self, errand: Job) -> Ranking:
        step: Mapping[str, Any] = self._steps.pop(0) if self._steps else {"name": None}
        if step["name"] != errand.name:
            raise StoreError(
                f"the record goes on with {step['name']!r}, the pipeline with {errand.name!r}",
                "the store or the code has changed since it was served",
            )
        if step["fate"] == "out_of_time":
            raise OutOfTime(step["skipped"])
        if step["fate"] == "failed":
            raise StoreError(step["skipped"])
        return _brought(step["brought"]) if "brought" in step else errand.run()


def _brought(said: Mapping[str, Any]) -> SourceResult:
    parts = [Part(name, op, np.array(column, np.float64)) for name, op, column in said["parts"]]
    places = np.arange(1, len(said["ids"]) + 1, dtype=np.int32)
    notes = [Note(one["kind"], one["text"], tuple(one["ids"])) for one in said.get("notes", ())]
    ranking = Ranking.of(said["ids"], parts, said["scale"], source_rank=places, notes=notes)
    chunks = [
        Chunk(**{**one, "created": math.nan if one["created"] is None else one["created"]}) for one in said["chunks"]
    ]
    return source_result(ranking, chunks)
