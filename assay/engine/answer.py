"""What a search returns: the chosen chunks, the trace of every step, a status, and the digests that identify it.

Explanations are read off the trace; nothing here recomputes a score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from assay.engine import render
from assay.engine.answerability import Answerability, AnswerabilityJudgement
from assay.engine.context import PackedContext
from assay.engine.foreign_chunks import base_snapshot
from assay.engine.trace import (
    ChunkStep,
    Contribution,
    Degradation,
    Outcome,
    ScorePart,
    Span,
    SpanKind,
    Status,
)
from assay.errors import QueryError
from assay.protocols import GraphSnapshot, Snapshot, StoreView
from assay.types import Chunk, Excerpt, Query, Ranking
from assay.where import Filter

__all__ = [
    "Answer",
    "ChunkStep",
    "Contribution",
    "Degradation",
    "Hit",
    "Outcome",
    "ScorePart",
    "Span",
    "SpanKind",
    "Status",
]

_VIA = "via "
_PATHS = 3
"""Graph paths that `why` names; `explain` names all."""
SHORTEST_ID = 8


@dataclass(frozen=True, repr=False)
class Hit:
    """One result: a chunk at its rank, with its score and the reasons for it."""

    rank: int
    score: float
    chunk: Chunk
    answer: Answer = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        return self.chunk.id

    @property
    def doc_id(self) -> str:
        return self.chunk.doc_id

    @property
    def title(self) -> str:
        return self.chunk.title or self.chunk.doc_id

    @property
    def text(self) -> str:
        return self.chunk.text

    @cached_property
    def waterfall(self) -> tuple[ScorePart, ...]:
        return self.answer.waterfall(self.id)

    def why(self) -> str:
        """The score as a sum a person can check: `0.9919 = bm25 #1 +0.01639, dense #2 +0.01613, normalise ×30.5`.

        For a graph leg the path is named: `graph #3 +0.005556 over Anna, link docs/keys`.
        """
        return f"{self.score:.4f} = " + ", ".join(self._explain(part) for part in self.waterfall)

    def paths(self, leg: str, most: int | None = _PATHS) -> tuple[str, ...]:
        """The strongest graph paths by which a leg reached this chunk, as the chunk spells them; none for other
        legs."""
        keys, view = self.answer.path_keys(self.id, leg)[:most], self.answer.snapshot
        return tuple(
            view.spelling(self.chunk.indexed_text, key) if isinstance(view, GraphSnapshot) else key for key in keys
        )

    def excerpt(self, width: int) -> Excerpt:
        """The part of the text, at most `width` characters, that shows the most terms of the query."""
        return self.answer.excerpt(self.chunk.text, width)

    def _explain(self, part: ScorePart) -> str:
        paths = self.paths(part.name)
        return str(part) + (f" over {', '.join(paths)}" if paths else "")

    def __repr__(self) -> str:
        return render.hit_repr(self)


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """Iterate it for hits; texts are read from the snapshot only then."""

    query: Query
    chosen: Ranking
    trace: tuple[Span, ...]
    search_status: Status
    """The status without what the judge adds, see `status`."""
    digests: Mapping[str, str]
    snapshot: Snapshot
    remarks: tuple[str, ...] = ()
    """What the store says about itself beside this answer, e.g. that its text is not in the model's language."""
    judgement: AnswerabilityJudgement | None = None
    """Computes `answerability` when that is first read; None where nobody judges."""
    context: PackedContext | None = None
    """Text for a prompt within a token budget, where one was asked for."""
    ms: float = 0.0
    """What it took as a whole; steps that ran in parallel count once. Measured, so it is no part of any digest."""

    @property
    def answerability(self) -> Answerability | None:
        """Whether the store can answer the question within a token budget, and if not, why; None where nobody judges,
        or where the judge failed (`status` says why).

        It is computed when it is first read, from the same snapshot, and costs about a third of a small search.
        """
        return None if self.judgement is None else self.judgement.read()

    @property
    def status(self) -> Status:
        """How many chunks were found, and what did not run as planned; the judge too, once it was read."""
        return self.search_status if self.judgement is None else self.judgement.amend(self.search_status)

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Made anew each time: a hit refers to its answer, and an answer that held its hits would keep its snapshot,
        and with it an index on disk, until the garbage collector runs."""
        return tuple(
            Hit(place + 1, float(score), chunk, self)
            for place, (score, chunk) in enumerate(zip(self.chosen.score, self._chunks, strict=True))
        )

    def read_hits(self, start: int, stop: int) -> tuple[Hit, ...]:
        """The hits of the places start … stop − 1; only their texts are read."""
        part = self.chosen.take(slice(start, stop))
        rows = self.snapshot.rows(part.ids) if part.rows is None else part.rows
        chunks = self.snapshot.chunks(rows)
        return tuple(
            Hit(place, float(score), chunk, self)
            for place, (score, chunk) in enumerate(zip(part.score, chunks, strict=True), start + 1)
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

    def __repr__(self) -> str:
        return render.answer_repr(self)

    def _repr_html_(self) -> str:
        return render.answer_html(self)

    def to_json(self) -> dict[str, Any]:
        """The documented form of an answer (docs/reference/answer.md)."""
        return render.answer_json(self)

    @property
    def digest(self) -> str:
        """Covers what was asked, of what, by what, and every chosen id with the bits of its score."""
        scores = self.chosen.score.astype("<f8").tobytes()
        body = json.dumps([dict(sorted(self.digests.items())), self.chosen.ids.tolist()], ensure_ascii=True)
        return hashlib.sha256(body.encode() + scores).hexdigest()

    # -- the store it came from

    @property
    def _store(self) -> StoreView | None:
        view = base_snapshot(self.snapshot)
        return view if isinstance(view, StoreView) else None

    @property
    def version(self) -> int | None:
        """The version of the store that was searched; None for a snapshot that is not a store's."""
        return None if self._store is None else self._store.version

    @property
    def searched(self) -> int:
        """How many chunks the searched snapshot holds."""
        return base_snapshot(self.snapshot).size

    def count_matching(self, condition: Filter) -> int | None:
        """How many of the searched chunks satisfy a filter, 0 where no chunk has such a field; None if unknown."""
        if self._store is None:
            return None
        try:
            return len(self._store.live_rows(condition))
        except QueryError:
            return 0

    def short_id(self, chunk_id: str) -> str:
        """The shortest beginning of an id that names this chunk and no other."""
        if self._store is None:
            return chunk_id
        lengths = range(SHORTEST_ID, len(chunk_id), 4)
        return next((chunk_id[:n] for n in lengths if len(self._store.ids_with_prefix(chunk_id[:n], 2)) == 1), chunk_id)

    def excerpt(self, text: str, width: int) -> Excerpt:
        """The window of a text, at most `width` characters, that shows the most terms of the query."""
        if self._store is not None:
            return self._store.excerpt(text, self.query.text, width)
        return Excerpt(text[:width], 0, min(width, len(text)), (), (), False, len(text) > width)

    # -- explanations

    def waterfall(self, chunk_id: str) -> tuple[ScorePart, ...]:
        """The parts of a chosen chunk's score, in order, with the running score; parts without effect are left out."""
        return _score_parts(self.chosen, chunk_id, self._leg_ranks(chunk_id))

    def messages(self) -> Iterator[str]:
        """What the steps report beside their rankings, in order: who reranked, what was dropped and why. What did not
        run as planned is in the status."""
        for span in self.trace:
            for note in span.notes:
                if note.kind in ("info", "dropped"):
                    many = f"{len(note.ids):,} candidate{'s' if len(note.ids) > 1 else ''}: " if note.ids else ""
                    yield f"{span.name}: {'dropped ' if note.kind == 'dropped' else ''}{many}{note.text}"

    def chunk_steps(self, chunk_id: str) -> tuple[ChunkStep, ...]:
        """What every step did with a chunk, found or not: why it has its rank, or why it is missing."""
        steps: list[ChunkStep] = []
        present = False
        for span in self.trace:
            if span.kind == "embed":
                continue
            if span.kind == "pack":
                steps.append(self._context_step(chunk_id, span))
                continue
            place = _place(span.ranking, chunk_id)
            if place is not None:
                parts = _score_parts(span.ranking, chunk_id, {}) if span.kind == "leg" else ()
                steps.append(ChunkStep(span.name, span.kind, place + 1, float(span.ranking.score[place]), lines=parts))
                present = True
            elif span.reason is not None:
                steps.append(ChunkStep(span.name, span.kind, None, None, f"skipped: {span.reason}"))
            elif span.kind == "leg":
                why = f"not among its {len(span.ranking)} candidates"
                steps.append(ChunkStep(span.name, span.kind, None, None, why))
            elif present:
                reasons = [n.text for n in span.notes if n.kind == "dropped" and (chunk_id in n.ids or not n.ids)]
                why = "dropped: " + ("; ".join(reasons) or "no reason given")
                steps.append(ChunkStep(span.name, span.kind, None, None, why))
                present = False
        return tuple(steps)

    def _context_step(self, chunk_id: str, span: Span) -> ChunkStep:
        """What the packer took of a chunk: each sentence with its gain, its tokens and what it covers; or why not."""
        context = self.context
        source = next((one for one in context.sources if one.chunk_id == chunk_id), None) if context else None
        if context is None or source is None:
            reasons = [one.why for one in context.dropped if one.chunk_id == chunk_id] if context else []
            why = "not in the context: " + ("; ".join(reasons) or "it was not read")
            return ChunkStep(span.name, span.kind, None, None, why)
        total, lines = 0.0, []
        for one in context.sentences:
            if one.citation == source.citation:
                total += one.gain
                name = f"{one.cost} tokens" + (f" ({', '.join(one.covers)})" if one.covers else "")
                lines.append(ScorePart(name, "add", one.gain, total))
        return ChunkStep(span.name, span.kind, source.citation, total, lines=tuple(lines))

    def contributions(self, k: int | None = None) -> tuple[Contribution, ...]:
        """What each leg did for the first `k` chosen (all of them when no k is named)."""
        chosen = self.chosen.ids[:k]
        found_by = {span.name: np.isin(chosen, span.ranking.ids) for span in self.trace if span.kind == "leg"}
        times = np.sum(list(found_by.values()), axis=0)
        return tuple(
            Contribution(
                span.name,
                len(span.ranking),
                int(np.count_nonzero(found_by[span.name])),
                int(np.count_nonzero(found_by[span.name] & (times == 1))),
            )
            for span in self.trace
            if span.kind == "leg"
        )

    def path_keys(self, chunk_id: str, leg: str) -> tuple[str, ...]:
        """Over what a leg reached a chunk, strongest first: its parts that are called `via …`, without the `via`."""
        for span in self.trace:
            if span.kind == "leg" and span.name == leg:
                paths = [part for part in _score_parts(span.ranking, chunk_id, {}) if part.name.startswith(_VIA)]
                paths.sort(key=lambda part: (-part.value, part.name))
                return tuple(part.name.removeprefix(_VIA) for part in paths)
        return ()

    def _leg_ranks(self, chunk_id: str) -> dict[str, int]:
        places = {span.name: _place(span.ranking, chunk_id) for span in self.trace if span.kind == "leg"}
        return {name: place + 1 for name, place in places.items() if place is not None}


def _place(ranking: Ranking, chunk_id: str) -> int | None:
    places = np.flatnonzero(ranking.ids == chunk_id)
    return int(places[0]) if len(places) else None


def _score_parts(ranking: Ranking, chunk_id: str, ranks: Mapping[str, int]) -> tuple[ScorePart, ...]:
    place = _place(ranking, chunk_id)
    if place is None:
        return ()
    parts: list[ScorePart] = []
    score = 0.0
    for part in ranking.parts:
        value = float(part.column[place])
        if part.op == "add":
            score, without_effect = score + value, value == 0.0
        elif part.op == "mul":
            score, without_effect = score * value, value == 1.0
        else:
            without_effect = value != value
            score = score if without_effect else value
        if not without_effect:
            parts.append(ScorePart(part.name, part.op, value, score, ranks.get(part.name)))
    return tuple(parts)
