"""Recall: the adaptive check, the pipeline run, and the mapping from chunks to current memories.

A pipeline ranks chunks and adds none (law 1), so superseded memories stay findable; after the pipeline each is replaced
by its successor, with a note. Of several chunks of one memory the best one counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from assay.engine.answer import Answer, Degradation, Hit, Status
from assay.engine.chunk_cache import ChunkCache
from assay.engine.context import PackCandidate, PackedContext
from assay.engine.foreign_chunks import ExtendedSnapshot
from assay.engine.laws import check_context
from assay.engine.missing_reasons import missing_reasons
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, ModelError
from assay.ingest.date_bounds import DateRange, read_query_range
from assay.kb import KnowledgeBase
from assay.memory.adaptive import should_retrieve
from assay.memory.scoped_view import ScopedView
from assay.memory.types import MemoryEntry, MemoryExplanation, RecallAnswer, RecalledMemory, iso
from assay.types import Query, Vector

_BATCH = 10
"""Candidates that are read at once; most are memories of their own, and five to ten are asked for."""


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """The checked arguments of a recall."""

    text: str
    at: float
    k: int
    category: str | None
    tags: tuple[str, ...]
    pipeline: Pipeline
    """Its packer, if it has one, packs the memories that are served."""
    range: DateRange | None = None
    """Only memories created in it; `words` is empty."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"k = {self.k} is below 1", "ask for at least one memory")

    @property
    def pool(self) -> int:
        """The number of candidates the legs can find together; a smaller k gives a prefix (law 9)."""
        return sum(plan.k for plan in self.pipeline.legs)


def recall(kb: KnowledgeBase, view: ScopedView, request: RecallQuery, *, adaptive: bool) -> RecallAnswer:
    decision = should_retrieve(request.text) if adaptive else None
    if decision is not None and not decision.yes:
        return RecallAnswer(
            request.text, (), Status(0), skipped=f"{decision.category}: {decision.reason}", scopes=view.scopes.names
        )
    recalled = _recall(kb, view, request, request.k)
    context = _pack(view, request, recalled.hits, recalled.answer)
    problems = recalled.search_status.problems
    if context is not None:
        problems += tuple(Degradation("context", note.reason) for note in context.notes if note.kind == "degraded")
    status = replace(recalled.search_status, found=len(recalled.hits), problems=problems)
    return replace(recalled, search_status=status, context=context)


def _pack(
    view: ScopedView, request: RecallQuery, hits: Sequence[RecalledMemory], answer: Answer | None
) -> PackedContext | None:
    """Pack the memories that are served, as they stand now; each is cited by its rank."""
    packer = request.pipeline.packer
    if packer is None or answer is None:
        return None
    candidates = []
    for hit in hits:
        chunks = view.snapshot.chunks(view.rows_of(hit.memory))
        whole = replace(chunks[0], text=hit.text, tokens=sum(chunk.tokens for chunk in chunks))
        candidates.append(PackCandidate(hit.rank, whole, hit.score))
    context = packer.pack(answer.query, candidates, view.snapshot)
    check_context(context, candidates)
    return context


def _recall(kb: KnowledgeBase, view: ScopedView, request: RecallQuery, limit: int | None = None) -> RecallAnswer:
    """Recall the first memories that the pipeline finds, or all of them, in order. Candidates after the last one that
    is served are counted, and their texts are not read."""
    named, as_of = read_query_range(request.text, request.at)
    if as_of is not None and as_of <= request.at:  # "as of March 2024" is the clock, down to the microsecond before
        request = replace(request, at=as_of - 1e-6)
    where = view.filter(*view.conditions(request.category, request.tags, request.at, request.range))
    query = Query(text=request.text, at=request.at, where=where)
    answer = replace(request.pipeline, packer=None).run(
        query,
        ChunkCache(view.snapshot),
        _lazy_embedder(kb),
        k=request.pool,
        clock=time.perf_counter,
        executor=kb.executor(request.pipeline),
        judge=kb.judge(request.pipeline),
    )
    candidates = _RecallCandidates(view, request, answer)
    hits = tuple(replace(hit, rank=place) for place, hit in enumerate(islice(candidates.serve(), limit), start=1))
    return RecallAnswer(
        request.text,
        hits,
        answer.search_status,
        notes=tuple(candidates.notes),
        remarks=tuple(answer.messages()),
        found=len({name for span in answer.trace if span.kind == "leg" for name in span.ranking.ids.tolist()}),
        dropped=_count_dropped(answer, candidates.read - len(hits), len(answer) - candidates.read),
        range=request.range or named,
        at=request.at,
        answer=answer,
        scopes=view.scopes.names,
    )


def _count_dropped(answer: Answer, replaced: int, beyond: int) -> dict[str, int]:
    """Step → how many candidates it took away; what was replaced or not served afterwards counts as `superseded`, what
    lies beyond the number that was asked for as `limit`."""
    counts = {
        span.name: span.candidates_in - len(span.ranking)
        for span in answer.trace
        if span.kind in ("stage", "select") and span.outcome == "ran"
    }
    counts |= {"superseded": replaced, "limit": beyond}
    return {step: count for step, count in counts.items() if count > 0}


def _lazy_embedder(kb: KnowledgeBase) -> Callable[[str], Vector]:
    """A function that loads the model when the pipeline first needs a vector."""

    def embed(text: str) -> Vector:
        if kb.embedder is None:
            raise ModelError("this store was made without an embedding model", "assay optimize --embed")
        return kb.embedder.encode_query(text)

    return embed


class _RecallCandidates:
    """The candidates of an answer, from the best on, as memories: read in batches, and only as far as they are wanted.

    `read` is how many were looked at, `notes` what happened to those that are not served as they are.
    """

    def __init__(self, view: ScopedView, request: RecallQuery, answer: Answer) -> None:
        self.view = view
        self.request = request
        self.answer = answer
        self.read = 0
        self.notes: list[str] = []

    def serve(self) -> Iterator[RecalledMemory]:
        """Yield each memory once, at the place of its best chunk or of the best chunk of one it superseded."""
        seen: set[str] = set()
        for hit in self._hits():
            matched = self.view.entry_of(hit.chunk)
            if matched.id in seen:
                continue
            seen.add(matched.id)
            current = self.view.successor(matched, self.request.at)
            if current is None:
                self.notes.append(f"{matched.id} is superseded, and its successor is gone: not served")
                continue
            if current.id == matched.id:
                yield RecalledMemory(0, hit.score, current, hit=hit)
                continue
            why_not = _reject_reason(current, self.request)
            if why_not:
                self.notes.append(f"{matched.id} is superseded by {current.id}, which {why_not}: not served")
            elif current.id in seen:
                self.notes.append(f"{matched.id} is superseded by {current.id}, which is served already")
            else:
                seen.add(current.id)
                self.notes.append(f"{matched.id} is superseded and served as {current.id}")
                yield RecalledMemory(0, hit.score, current, matched.id, hit=hit)

    def _hits(self) -> Iterator[Hit]:
        """The hits of this store: a source may return chunks of another one, without scopes."""
        is_own = np.ones(len(self.answer), np.bool_)
        if isinstance(self.answer.snapshot, ExtendedSnapshot):
            is_own = self.view.snapshot.rows(self.answer.chosen.ids) >= 0
        if not is_own.all():
            self.notes.append(f"{(~is_own).sum()} from elsewhere: no memories of these scopes here, not served")
        for start in range(0, len(self.answer), _BATCH):
            for place, hit in enumerate(self.answer.read_hits(start, start + _BATCH), start):
                self.read += 1
                if is_own[place]:
                    yield hit


def _reject_reason(entry: MemoryEntry, request: RecallQuery) -> str:
    """Why a successor, which passed no filter, must not be served; else ""."""
    if entry.expires is not None and entry.expires <= request.at:
        return "has expired"
    if request.category is not None and entry.category != request.category:
        return f"is a {entry.category}"
    if not set(request.tags) <= set(entry.tags):
        return "lacks a tag that was asked for"
    if request.range is not None and not request.range.holds(entry.created):
        return "is of another time than was asked for"
    return ""


def explain(kb: KnowledgeBase, view: ScopedView, request: RecallQuery, entry: MemoryEntry) -> MemoryExplanation:
    """Explain the rank of one memory in a recall, or why it is missing."""
    full_answer = _recall(kb, view, request)
    assert full_answer.answer is not None
    hit = next((one for one in full_answer.hits if one.memory.id == entry.id), None)
    chunk_id = hit.hit.id if hit else _best_chunk(view, full_answer.answer, entry)
    steps = full_answer.answer.chunk_steps(chunk_id)
    shown = replace(full_answer, hits=full_answer.hits[: request.k])
    if hit is not None and hit.rank <= request.k:
        return MemoryExplanation(entry, hit.rank, hit.score, steps, (), shown)
    why = tuple(_missing_reasons(view, request, full_answer, entry, hit, chunk_id))
    return MemoryExplanation(entry, None, None, steps, why, shown)


def _best_chunk(view: ScopedView, answer: Answer, entry: MemoryEntry) -> str:
    """The chunk of a memory that passed the most steps."""
    names = [str(name) for name in view.snapshot.ids(view.rows_of(entry))]
    return max(names, key=lambda name: sum(name in span.ranking.ids for span in answer.trace))


def _missing_reasons(
    view: ScopedView,
    request: RecallQuery,
    full_answer: RecallAnswer,
    entry: MemoryEntry,
    hit: RecalledMemory | None,
    chunk_id: str,
) -> Iterator[str]:
    """Why a memory is not recalled, the simplest reason first."""
    answer = full_answer.answer
    assert answer is not None
    if entry.expires is not None and entry.expires <= request.at:
        yield f"it expired at {iso(entry.expires)}"
    elif entry.created > request.at:
        yield f"it was created at {iso(entry.created)}, after the moment asked about"
    elif hit is not None:
        yield f"it has rank {hit.rank}, and {request.k} were asked for"
    elif (current := view.successor(entry, request.at)) is None or current.id != entry.id:
        yield "it is superseded" + (f" by {current.id}, which is served in its place" if current else "")
    else:
        rows = view.rows_of(entry)
        chunk = dict(zip(view.snapshot.ids(rows).tolist(), view.snapshot.chunks(rows), strict=True))[chunk_id]
        dropped = [step.why for step in answer.chunk_steps(chunk_id) if step.why.startswith("dropped")]
        yield from dropped or missing_reasons(answer, request.pipeline, chunk_id, chunk)
