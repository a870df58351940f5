"""What a search returns: the chosen, the trace of every step, a verdict, and the digests that identify it.

Explanations are read off the trace; nothing here recomputes a score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from assay.protocols import Fired, Related, Snapshot
from assay.types import Chunk, Note, Op, Query, Ranking

_VIA = "via "
_WAYS = 3
"""Ways that `why` names; `explain` names all."""
SpanKind = Literal["embed", "leg", "fuse", "stage", "select"]
Fate = Literal["ran", "not_triggered", "out_of_time", "failed", "unable"]
"""What became of a step: it ran; its trigger did not fire; its time was over, or would have been; it broke; the store
or the model lacks what it needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """One step of the trace: how many candidates it took, what it gave, what it says about itself.

    `skipped` is the reason a step did not run ("" when it did), `fate` the same in one word, `fired` what its trigger
    said, if it has one. `ms` is measured, so it is no part of any digest.
    """

    name: str
    kind: SpanKind
    took: int
    gave: Ranking
    skipped: str = ""
    notes: tuple[Note, ...] = ()
    ms: float = 0.0
    fate: Fate = "ran"
    fired: Fired | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Was something found, and did every planned step run? Broken never looks like empty."""

    found: int
    degraded: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        if self.degraded:
            return "degraded" if self.found else "nothing found, degraded"
        return "answered" if self.found else "nothing found"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a waterfall: a part, how it acted, and the score after it."""

    name: str
    op: Op
    value: float
    score: float
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkStep:
    """What one step did with one chunk: its rank and score there, or the reason it is not there."""

    step: str
    kind: SpanKind
    rank: int | None
    score: float | None
    why: str = ""
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one leg did for an answer: candidates it found, how many of them were chosen, and how many of those no
    other leg had found. A leg that brings nothing alone can only reorder what the others bring."""

    leg: str
    found: int
    chosen: int
    alone: int


@dataclass(frozen=True)
class Hit:
    """One result: a chunk at its rank, with the way to say why."""

    rank: int
    score: float
    chunk: Chunk
    answer: Answer = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        return self.chunk.id

    @property
    def title(self) -> str:
        return self.chunk.title or self.chunk.doc_id

    @property
    def text(self) -> str:
        return self.chunk.text

    @cached_property
    def waterfall(self) -> tuple[Line, ...]:
        return self.answer.waterfall(self.id)

    def why(self) -> str:
        """The score as a sum a person can check: `0.9919 = bm25 #1 +0.01639, dense #2 +0.01613, normalise ×30.5`.

        Where a leg knows the way it came, that stands beside it: `graph #3 +0.005556 over Anna, link docs/keys`.
        """
        return f"{self.score:.4f} = " + ", ".join(self._spell(line) for line in self.waterfall)

    def ways(self, leg: str, most: int | None = _WAYS) -> tuple[str, ...]:
        """The strongest ways that a leg came to this chunk, as the chunk spells them; none where it knows none."""
        ways, view = self.answer.via(self.id, leg)[:most], self.answer.snapshot
        return tuple(view.spelling(self.chunk.indexed_text, way) if isinstance(view, Related) else way for way in ways)

    def _spell(self, line: Line) -> str:
        ways = self.ways(line.name)
        return _spell(line) + (f" over {', '.join(ways)}" if ways else "")


def _spell(line: Line) -> str:
    rank = f" #{line.rank}" if line.rank is not None else ""
    sign = {"add": f"{line.value:+.4g}", "mul": f"×{line.value:.4g}", "set": f"→{line.value:.4g}"}[line.op]
    return f"{line.name}{rank} {sign}"


@dataclass(frozen=True, eq=False)
class Answer:
    """Iterate it for hits; texts are read from the snapshot only then."""

    query: Query
    chosen: Ranking
    trace: tuple[Span, ...]
    verdict: Status
    digests: Mapping[str, str]
    snapshot: Snapshot = field(repr=False)
    remarks: tuple[str, ...] = ()
    """What the store should say about itself beside this answer, e.g. that its text is not in the model's language."""
    ms: float = 0.0
    """What it took as a whole; steps that ran side by side count once. Measured, so it is no part of any digest."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Made anew each time: a hit knows its answer, and an answer that held its hits would keep its snapshot, and
        with it an index on disk, until the garbage collector comes by."""
        return tuple(
            Hit(place + 1, float(score), chunk, self)
            for place, (score, chunk) in enumerate(zip(self.chosen.score, self._chunks, strict=True))
        )

    @cached_property
    def _chunks(self) -> list[Chunk]:
        rows = self.chosen.rows
        return self.snapshot.chunks(self.snapshot.rows(self.chosen.ids) if rows is None else rows)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    @property
    def digest(self) -> str:
        """Covers what was asked, of what, by what, and every chosen id with the bits of its score."""
        scores = self.chosen.score.astype("<f8").tobytes()
        body = json.dumps([dict(sorted(self.digests.items())), self.chosen.ids.tolist()], ensure_ascii=True)
        return hashlib.sha256(body.encode() + scores).hexdigest()

    def waterfall(self, chunk_id: str) -> tuple[Line, ...]:
        """The parts of a chosen chunk's score, in order, with the running score; silent parts are left out."""
        return _lines(self.chosen, chunk_id, self._leg_ranks(chunk_id))

    def told(self) -> Iterator[str]:
        """What the steps have to say that took nothing from the answer, in order: who read it, whom they dropped, why.
        What they lacked is in the verdict."""
        for span in self.trace:
            for note in span.notes:
                if note.kind in ("info", "dropped"):
                    many = f"{len(note.ids):,} candidate{'s' if len(note.ids) > 1 else ''}: " if note.ids else ""
                    yield f"{span.name}: {'dropped ' if note.kind == 'dropped' else ''}{many}{note.text}"

    def passages(self, chunk_id: str) -> tuple[ChunkStep, ...]:
        """What every step did with a chunk, found or not: the whole account of its place, or of its absence."""
        account: list[ChunkStep] = []
        present = False
        for span in self.trace:
            if span.kind == "embed":
                continue
            place = _place(span.gave, chunk_id)
            if place is not None:
                lines = _lines(span.gave, chunk_id, {}) if span.kind == "leg" else ()
                account.append(ChunkStep(span.name, span.kind, place + 1, float(span.gave.score[place]), lines=lines))
                present = True
            elif span.skipped:
                account.append(ChunkStep(span.name, span.kind, None, None, f"skipped: {span.skipped}"))
            elif span.kind == "leg":
                account.append(
                    ChunkStep(span.name, span.kind, None, None, f"not among its {len(span.gave)} candidates")
                )
            elif present:
                reasons = [n.text for n in span.notes if n.kind == "dropped" and (chunk_id in n.ids or not n.ids)]
                account.append(
                    ChunkStep(span.name, span.kind, None, None, "dropped: " + ("; ".join(reasons) or "no reason given"))
                )
                present = False
        return tuple(account)

    def contributions(self, k: int | None = None) -> tuple[Contribution, ...]:
        """What each leg did for the first `k` chosen (all of them when no k is named)."""
        chosen = self.chosen.ids[:k]
        held = {span.name: np.isin(chosen, span.gave.ids) for span in self.trace if span.kind == "leg"}
        times = np.sum(list(held.values()), axis=0)
        return tuple(
            Contribution(
                span.name,
                len(span.gave),
                int(np.count_nonzero(held[span.name])),
                int(np.count_nonzero(held[span.name] & (times == 1))),
            )
            for span in self.trace
            if span.kind == "leg"
        )

    def via(self, chunk_id: str, leg: str) -> tuple[str, ...]:
        """Over what a leg came to a chunk, strongest first: its parts that are called `via …`, without the `via`."""
        for span in self.trace:
            if span.kind == "leg" and span.name == leg:
                ways = [line for line in _lines(span.gave, chunk_id, {}) if line.name.startswith(_VIA)]
                ways.sort(key=lambda line: (-line.value, line.name))
                return tuple(line.name.removeprefix(_VIA) for line in ways)
        return ()

    def _leg_ranks(self, chunk_id: str) -> dict[str, int]:
        places = {span.name: _place(span.gave, chunk_id) for span in self.trace if span.kind == "leg"}
        return {name: place + 1 for name, place in places.items() if place is not None}

    def to_json(self) -> dict[str, Any]:
        """The documented, stable form of an answer (docs/reference/answer.md)."""
        return {
            "query": {
                "text": self.query.text,
                "at": self.query.at,
                "where": str(self.query.where) if self.query.where else None,
                "scope": self.query.scope,
            },
            "verdict": {
                "word": self.verdict.word,
                "found": self.verdict.found,
                "degraded": list(self.verdict.degraded),
                "remarks": list(self.remarks),
            },
            "hits": [
                {
                    "rank": hit.rank,
                    "score": hit.score,
                    "id": hit.id,
                    "doc_id": hit.chunk.doc_id,
                    "title": hit.chunk.title,
                    "section": hit.chunk.section,
                    "text": hit.text,
                    "tokens": hit.chunk.tokens,
                    "created": None if hit.chunk.created != hit.chunk.created else hit.chunk.created,
                    "importance": hit.chunk.importance,
                    "meta": dict(hit.chunk.meta),
                    "why": [
                        {"part": line.name, "op": line.op, "value": line.value, "score": line.score, "rank": line.rank}
                        for line in hit.waterfall
                    ],
                }
                for hit in self
            ],
            "trace": [
                {
                    "step": span.name,
                    "kind": span.kind,
                    "took": span.took,
                    "gave": len(span.gave),
                    "skipped": span.skipped or None,
                    "fate": span.fate,
                    "trigger": None if span.fired is None else span.fired.to_json(),
                    "notes": [{"kind": n.kind, "text": n.text, "ids": list(n.ids)} for n in span.notes],
                    "ms": round(span.ms, 3),
                }
                for span in self.trace
            ],
            "legs": [
                {"leg": one.leg, "found": one.found, "chosen": one.chosen, "alone": one.alone}
                for one in self.contributions()
            ],
            "digests": {**self.digests, "answer": self.digest},
        }


def _place(ranking: Ranking, chunk_id: str) -> int | None:
    found = np.flatnonzero(ranking.ids == chunk_id)
    return int(found[0]) if len(found) else None


def _lines(ranking: Ranking, chunk_id: str, ranks: Mapping[str, int]) -> tuple[Line, ...]:
    place = _place(ranking, chunk_id)
    if place is None:
        return ()
    lines: list[Line] = []
    score = 0.0
    for part in ranking.parts:
        value = float(part.column[place])
        if part.op == "add":
            score, silent = score + value, value == 0.0
        elif part.op == "mul":
            score, silent = score * value, value == 1.0
        else:
            silent = value != value
            score = score if silent else value
        if not silent:
            lines.append(Line(part.name, part.op, value, score, ranks.get(part.name)))
    return tuple(lines)
