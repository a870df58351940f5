"""Records a served answer, and replays the recording.

    {"schema": 2, "query": {…}, "k": …, "snapshot": {"version", "digest"}, "pipeline": {…}, "texts": …,
     "steps": [{"name", "outcome", "reason", "cure", "ms", "trigger", "result"}],
     "answer": "<sha256 of the chosen ids and scores>"}

What the clock, the triggers (which may have read other sources' texts) and other sources decided cannot be computed
again, so a replay takes it from the recording; everything else is computed anew, in the same version of the store. A
recording holds ids, scores, metadata and notes of what other sources found, and their texts only on request: a step
that reads texts (a reranker) needs them to replay.
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

from assay.config.load import from_recorded, to_config
from assay.engine.answer import Answer, Span
from assay.engine.digests import ranking_digest
from assay.engine.executor import Executor, Job
from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW, ExtendedSnapshot, SourceResult, base_snapshot, source_result
from assay.engine.pipeline import Pipeline
from assay.errors import OutOfTime, StoreError
from assay.kb import KnowledgeBase
from assay.protocols import Snapshot, TriggerDecision
from assay.types import Chunk, Note, Part, Query, Range, Ranking
from assay.where import parse

SCHEMA = 2
_JOBS = ("leg", "stage", "select")
_STARTED = ("ran", "out_of_time", "failed")
"""Outcomes of steps that the executor was asked to run; the others were decided before."""
_NO_RECORDING = "name a file of `assay search --record`"


def record(answer: Answer, pipeline: Pipeline, *, with_text: bool = False) -> dict[str, Any]:
    """The recording of an answer that this pipeline gave, as plain data."""
    query, snapshot = answer.query, base_snapshot(answer.snapshot)
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
        "snapshot": {"version": answer.version, "digest": snapshot.digest},
        "pipeline": to_config(pipeline),
        "texts": with_text,
        "steps": [_record_step(span, answer, with_text) for span in answer.trace if span.kind in _JOBS],
        "answer": ranking_digest(answer.chosen),
    }


def _record_step(span: Span, answer: Answer, with_text: bool) -> dict[str, Any]:
    step: dict[str, Any] = {"name": span.name, "outcome": span.outcome, "ms": round(span.ms, 3)}
    if span.reason is not None:
        step |= {"reason": span.reason.text, "cure": span.reason.cure}
    if span.trigger is not None:
        step["trigger"] = span.trigger.to_json()
    if span.kind != "leg" or f"legs.{span.name}" not in answer.digests:
        return step
    ranking, snapshot = span.ranking, answer.snapshot
    rows = snapshot.rows(ranking.ids)
    foreign = snapshot.chunks(rows[rows >= FIRST_FOREIGN_ROW]) if isinstance(snapshot, ExtendedSnapshot) else []
    step["result"] = {
        "ids": ranking.ids.tolist(),
        "scale": ranking.scale,
        "parts": [[part.name, part.op, _without_nan(part.column)] for part in ranking.parts],
        "chunks": [_record_chunk(chunk, with_text) for chunk in foreign],
        # All but the engine's own last note, that the leg was triggered: a replay adds it again.
        "notes": [asdict(note) for note in (span.notes if span.trigger is None else span.notes[:-1])],
    }
    return step


def _without_nan(column: Any) -> list[float | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]


def _record_chunk(chunk: Chunk, with_text: bool) -> dict[str, Any]:
    created = None if math.isnan(chunk.created) else chunk.created
    return {**asdict(chunk), "created": created, "meta": dict(chunk.meta), "text": chunk.text if with_text else ""}


@dataclass(frozen=True)
class ReplayResult:
    """The answer computed again, whether it is the one that was served, and if not, the likely cause."""

    answer: Answer
    same: bool
    hint: str = ""


def replay(recording: Mapping[str, Any], base: KnowledgeBase) -> ReplayResult:
    """Answer a recorded query again, in the version of the store that it was served from."""
    try:
        if recording["schema"] != SCHEMA:
            raise StoreError(
                f"this record has schema {recording['schema']!r}",
                f"this version replays schema {SCHEMA}: record the answer again",
            )
        pipeline = _with_recorded_triggers(from_recorded(recording["pipeline"]), recording["steps"])
        version = recording["snapshot"]["version"]
        snapshot = base.snapshot(None if version is None else f"v{version}")
        query, k = _read_query(recording["query"]), max(int(recording["k"]), 1)
        embed, vector = None, query.vector
        if vector is not None and query.text.strip() and not snapshot.lacks("dense"):
            # As a model gave it: a caller's vector is scaled to unit length again, which may move its last bit.
            query, embed = replace(query, vector=None), lambda _: vector
        executor, judge = ReplayExecutor(recording["steps"]), base.judge(pipeline)
        answer = pipeline.run(query, snapshot, embed, k=k, executor=executor, judge=judge)
        same = ranking_digest(answer.chosen) == recording["answer"]
        return ReplayResult(answer, same, "" if same else _hint(recording, snapshot.digest))
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise StoreError(f"this record cannot be read: {error!r}", _NO_RECORDING) from error


def _hint(recording: Mapping[str, Any], digest: str) -> str:
    if recording["snapshot"]["digest"] != digest:
        return "this is another store than the one that served it, or something was purged from it since"
    foreign = any(step.get("result", {}).get("chunks") for step in recording["steps"])
    if foreign and not recording.get("texts"):
        return "the record holds no texts of other sources, which a step may have read; record with --with-text"
    return ""


def loads(text: str) -> Mapping[str, Any]:
    """A recording from its JSON."""
    try:
        recording = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"this record is no JSON: {error}", _NO_RECORDING) from error
    if not isinstance(recording, dict):
        raise StoreError("this record is no table", _NO_RECORDING)
    return recording


def _read_query(data: Mapping[str, Any]) -> Query:
    vector = data["vector"]
    return Query(
        text=data["text"],
        vector=None if vector is None else np.frombuffer(base64.b64decode(vector, validate=True), "<f4"),
        at=data["at"],
        where=None if data["where"] is None else parse(data["where"]),
        scope=data["scope"],
        extra=data["extra"],
        id=data["id"],
    )


@dataclass(frozen=True)
class RecordedTrigger:
    """The trigger of a replay: it decides as recorded."""

    decision: TriggerDecision

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        return self.decision

    def check(self, legs: Mapping[str, Range]) -> None:
        """Nothing to check: the pipeline was checked when it was served."""


def _with_recorded_triggers(pipeline: Pipeline, steps: list[Mapping[str, Any]]) -> Pipeline:
    """The pipeline with its triggers' decisions as recorded."""
    triggers = {
        step["name"]: RecordedTrigger(TriggerDecision(step["outcome"] != "not_triggered", **step["trigger"]))
        for step in steps
        if "trigger" in step
    }
    legs = tuple(replace(plan, when=triggers.get(plan.name, plan.when)) for plan in pipeline.legs)
    return replace(pipeline, legs=legs)


class ReplayExecutor(Executor):
    """The executor of a replay: every job ends as it did when the answer was served."""

    def __init__(self, steps: list[Mapping[str, Any]]) -> None:
        super().__init__()
        self._steps = [step for step in steps if step["outcome"] in _STARTED]

    def run(self, job: Job) -> Ranking:
        step: Mapping[str, Any] = self._steps.pop(0) if self._steps else {"name": None}
        if step["name"] != job.name:
            raise StoreError(
                f"the record goes on with {step['name']!r}, the pipeline with {job.name!r}",
                "the store or the code has changed since it was served",
            )
        if step["outcome"] == "out_of_time":
            raise OutOfTime(step["reason"], step["cure"])
        if step["outcome"] == "failed":
            raise StoreError(step["reason"], step["cure"])
        return _read_result(step["result"]) if "result" in step else self._result(job)


def _read_result(data: Mapping[str, Any]) -> SourceResult:
    parts = [Part(name, op, np.array(column, np.float64)) for name, op, column in data["parts"]]
    places = np.arange(1, len(data["ids"]) + 1, dtype=np.int32)
    notes = [
        Note(one["kind"], one["text"], tuple(one["ids"]), one["cure"], one.get("data", {})) for one in data["notes"]
    ]
    ranking = Ranking.of(data["ids"], parts, data["scale"], source_rank=places, notes=notes)
    chunks = [
        Chunk(**{**one, "created": math.nan if one["created"] is None else one["created"]}) for one in data["chunks"]
    ]
    return source_result(ranking, chunks)
