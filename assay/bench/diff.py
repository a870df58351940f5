"""Compares two pipelines on one snapshot of a store and a query log, without labels.

Both answer every query; the rankings are compared, and each chunk that entered or left gets the reason from the two
traces. The order of the pipelines alternates from query to query, so that neither always finds warm caches; a query is
embedded once, before either is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from assay.bench.overlap import overlap, rbo
from assay.bench.query_log import LoggedQuery
from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.errors import ModelError
from assay.kb import KnowledgeBase
from assay.protocols import Snapshot
from assay.types import Chunk, Progress, Query, Vector


@dataclass(frozen=True, slots=True)
class Moved:
    """A chunk whose rank differs between the two answers, with the reason in each; rank None: it is missing."""

    id: str
    doc_id: str
    title: str
    before: int | None
    after: int | None
    why_before: str
    why_after: str


@dataclass(frozen=True, slots=True)
class RankingChange:
    """One query under both pipelines. `moved` holds what entered, left or changed its rank, by rank."""

    query: LoggedQuery
    overlap: float
    rbo: float
    top_changed: bool
    moved: tuple[Moved, ...]
    degraded: tuple[str, ...]
    ms: tuple[float, float]

    @property
    def unchanged(self) -> bool:
        return not self.moved

    @property
    def entered(self) -> tuple[Moved, ...]:
        return tuple(one for one in self.moved if one.before is None)

    @property
    def left(self) -> tuple[Moved, ...]:
        return tuple(one for one in self.moved if one.after is None)

    def to_json(self) -> dict[str, Any]:
        return {
            "overlap": self.overlap,
            "rbo": self.rbo,
            "top_changed": self.top_changed,
            "moved": [asdict(one) for one in self.moved],
            "degraded": list(self.degraded),
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """The change of every query, the most changed first. `digests` identify both pipelines and the snapshot."""

    k: int
    digests: Mapping[str, str]
    changes: tuple[RankingChange, ...]
    embed_ms: float

    @property
    def unchanged(self) -> float:
        return self._share(lambda change: change.unchanged)

    @property
    def top_changed(self) -> float:
        return self._share(lambda change: change.top_changed)

    @property
    def mean_rbo(self) -> float:
        return sum(change.rbo for change in self.changes) / len(self.changes) if self.changes else 1.0

    @property
    def mean_overlap(self) -> float:
        return sum(change.overlap for change in self.changes) / len(self.changes) if self.changes else 1.0

    @property
    def latency_ratio(self) -> float | None:
        """Median over queries of B's time over A's, both without making the query's vector."""
        ratios = [change.ms[1] / change.ms[0] for change in self.changes if change.ms[0] > 0]
        return median(ratios) if ratios else None

    @property
    def ms(self) -> tuple[float, float] | None:
        """The median time of A and of B in milliseconds."""
        return (median(c.ms[0] for c in self.changes), median(c.ms[1] for c in self.changes)) if self.changes else None

    def _share(self, holds: Callable[[RankingChange], bool]) -> float:
        return sum(map(holds, self.changes)) / len(self.changes) if self.changes else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "digests": dict(self.digests),
            "summary": {
                "queries": len(self.changes),
                "unchanged": self.unchanged if self.changes else 1.0,
                "top_changed": self.top_changed,
                "mean_rbo": self.mean_rbo,
                "mean_overlap": self.mean_overlap,
            },
            "queries": [
                {
                    "id": change.query.id,
                    "text": change.query.text,
                    "times": change.query.times,
                    **change.to_json(),
                }
                for change in self.changes
            ],
            "measured": {"latency_ratio": self.latency_ratio, "ms": self.ms, "embed_ms": self.embed_ms},
        }


def compare(
    base: KnowledgeBase,
    a: Pipeline,
    b: Pipeline,
    queries: Sequence[LoggedQuery],
    k: int,
    *,
    snapshot: str | None = None,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress = lambda *_: None,
) -> Difference:
    """Run both pipelines over the log. Pipelines with equal digests give the same answers and are not run."""
    view = base.snapshot(snapshot)
    digests = {"a": a.digest, "b": b.digest, "snapshot": view.digest}
    if a.digest == b.digest:
        return Difference(k, digests, (), 0.0)
    changes: list[RankingChange] = []
    embedding: list[float] = []
    for pipeline in (a, b) if queries else ():  # the first run opens files and fills caches: it is not timed
        pipeline.run(Query(text=queries[0].text, vector=_embed_query(base, queries[0].text, view)), view, k=k)
    for place, logged in enumerate(queries):
        start = clock()
        vector = _embed_query(base, logged.text, view)
        embedding.append((clock() - start) * 1000.0)
        query = Query(text=logged.text, vector=vector, id=logged.id)
        order = (a, b) if place % 2 == 0 else (b, a)
        answers: dict[str, tuple[Answer, float]] = {}
        for pipeline in order:
            start = clock()
            answer = pipeline.run(query, view, k=k, clock=clock)
            answers[pipeline.digest] = (answer, (clock() - start) * 1000.0)
        (old, old_ms), (new, new_ms) = answers[a.digest], answers[b.digest]
        changes.append(compare_answers(logged, old, new, (old_ms, new_ms)))
        progress("asking both", place + 1, len(queries))
    changes.sort(key=lambda change: (change.rbo, change.overlap, change.query.id))
    return Difference(k, digests, tuple(changes), median(embedding) if embedding else 0.0)


def _embed_query(base: KnowledgeBase, text: str, view: Snapshot) -> Vector | None:
    """The query's vector by the store's model; None without one, and then the answers are degraded."""
    if "dense" not in view.capabilities:
        return None
    try:
        model = base.embedder
    except ModelError:
        return None
    return None if model is None else model.encode_query(text)


def compare_answers(query: LoggedQuery, old: Answer, new: Answer, ms: tuple[float, float]) -> RankingChange:
    """What changed from one answer to another of the same query, with the reasons."""
    before, after = old.chosen.ids.tolist(), new.chosen.ids.tolist()
    ranks_before, ranks_after = _ranks(before), _ranks(after)
    different = [i for i in dict.fromkeys([*after, *before]) if ranks_before.get(i) != ranks_after.get(i)]
    chunks = _chunks((old, new), different)
    moved = tuple(
        Moved(
            id=name,
            doc_id=chunks[name].doc_id,
            title=chunks[name].title,
            before=ranks_before.get(name),
            after=ranks_after.get(name),
            why_before=why(old, name),
            why_after=why(new, name),
        )
        for name in different
    )
    degraded = tuple(dict.fromkeys([*old.status.degraded, *new.status.degraded]))
    return RankingChange(
        query, overlap(before, after), rbo(before, after), before[:1] != after[:1], moved, degraded, ms
    )


def why(answer: Answer, chunk_id: str) -> str:
    """Why a chunk is at its rank in an answer, or is missing: the ranks in its legs, or the step that dropped it."""
    passages = answer.chunk_steps(chunk_id)
    legs = [f"{p.step} #{p.rank}" for p in passages if p.kind == "leg" and p.rank is not None]
    if not legs:
        return "; ".join(f"{p.step}: {p.why}" for p in passages if p.kind == "leg" and p.why) or "no leg found it"
    lost = next((p for p in passages if p.kind != "leg" and p.rank is None and p.why.startswith("dropped")), None)
    if lost is not None:
        return f"{', '.join(legs)}, then {lost.step} {lost.why}"
    last = passages[-1]
    if chunk_id in answer.chosen.ids:
        steps = [f"{p.step} #{p.rank}" for p in passages if p.kind in ("stage", "select") and p.rank is not None]
        return ", ".join([*legs, *steps])
    return f"{', '.join(legs)}, ranked #{last.rank}, below the {len(answer.chosen)} asked for"


def _ranks(ids: Sequence[str]) -> dict[str, int]:
    return {name: place + 1 for place, name in enumerate(ids)}


def _chunks(answers: Sequence[Answer], ids: Sequence[str]) -> dict[str, Chunk]:
    """The chunks of the ids; an answer may hold some from external sources."""
    found: dict[str, Chunk] = {}
    for answer in answers if ids else ():
        view = answer.snapshot
        rows = view.rows(np.array(ids, np.str_))
        found |= {chunk.id: chunk for chunk in view.chunks(rows[rows >= 0])}
    return found
