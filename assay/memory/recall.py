"""Recalling: does the message need memory, what does the pipeline find, what stands in its place by now?

A pipeline ranks chunks and never adds any (law 1), so superseded memories stay findable, and what is found of them is
exchanged for the successor behind the pipeline, with a note. So are several chunks of one memory: the best one counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from assay.engine.answer import Answer, Hit, Status
from assay.engine.missing_reasons import reasons
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, ModelError
from assay.kb import KnowledgeBase
from assay.memory.adaptive import should_retrieve
from assay.memory.types import MemoryEntry, MemoryExplanation, RecallAnswer, RecalledMemory, iso
from assay.memory.window import Window
from assay.types import Query, Vector


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A recall, checked and complete."""

    text: str
    at: float
    k: int
    category: str | None
    tags: tuple[str, ...]
    pipeline: Pipeline

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"k = {self.k} is below 1", "ask for at least one memory")

    @property
    def pool(self) -> int:
        """All that the legs can find: asking for fewer gives a prefix of asking for more (law 9)."""
        return sum(plan.k for plan in self.pipeline.legs)


def recall(kb: KnowledgeBase, window: Window, asked: RecallQuery, *, adaptive: bool) -> RecallAnswer:
    decision = should_retrieve(asked.text) if adaptive else None
    if decision is not None and not decision.yes:
        return RecallAnswer(asked.text, (), Status(0), skipped=f"{decision.category}: {decision.reason}")
    whole = _recalled(kb, window, asked)
    hits = whole.hits[: asked.k]
    return replace(whole, hits=hits, verdict=Status(len(hits), whole.verdict.degraded))


def _recalled(kb: KnowledgeBase, window: Window, asked: RecallQuery) -> RecallAnswer:
    """Every memory the pipeline finds, in order."""
    where = window.filter(*window.asked(asked.category, asked.tags, asked.at))
    query = Query(text=asked.text, at=asked.at, where=where)
    asker = kb.asker(asked.pipeline)
    answer = asked.pipeline.run(query, window.view, _embed(kb), k=asked.pool, clock=time.perf_counter, asker=asker)
    notes: list[str] = []
    served = _served(window, asked, answer, notes)
    hits = tuple(replace(hit, rank=place) for place, hit in enumerate(served, start=1))
    return RecallAnswer(
        asked.text, hits, answer.verdict, notes=tuple(notes), remarks=tuple(answer.told()), answer=answer
    )


def _embed(kb: KnowledgeBase) -> Callable[[str], Vector]:
    """Loads the model when the pipeline wants a vector, not before."""

    def embed(text: str) -> Vector:
        if kb.embedder is None:
            raise ModelError("this store was made without an embedding model", "assay optimize --embed")
        return kb.embedder.encode_query(text)

    return embed


def _served(window: Window, asked: RecallQuery, answer: Answer, notes: list[str]) -> Iterator[RecalledMemory]:
    """Each memory once, at the place of its best chunk, or of the best chunk of one it superseded."""
    seen: set[str] = set()
    for hit in _from_here(window, answer, notes):
        found = window.whole(hit.chunk)
        if found.id in seen:
            continue
        seen.add(found.id)
        current = window.successor(found, asked.at)
        if current is None or current.id == found.id:
            if current is None:
                notes.append(f"{found.id} is superseded, and its successor is gone: not served")
            else:
                yield RecalledMemory(0, hit.score, current, hit=hit)
            continue
        why_not = _unwanted(current, asked)
        if why_not:
            notes.append(f"{found.id} is superseded by {current.id}, which {why_not}: not served")
        elif current.id in seen:
            notes.append(f"{found.id} is superseded by {current.id}, which is served already")
        else:
            seen.add(current.id)
            notes.append(f"{found.id} is superseded and served as {current.id}")
            yield RecalledMemory(0, hit.score, current, found.id, hit=hit)


def _from_here(window: Window, answer: Answer, notes: list[str]) -> list[Hit]:
    """Hits of this store: a leg may look into another one, or into what knows no scopes."""
    if answer.snapshot is window.view:  # none did
        return list(answer)
    here = window.view.rows(answer.chosen.ids) >= 0
    if not here.all():
        notes.append(f"{(~here).sum()} from elsewhere: no memories of these scopes here, not served")
    return [hit for hit, own in zip(answer, here, strict=True) if own]


def _unwanted(entry: MemoryEntry, asked: RecallQuery) -> str:
    """Why a successor, which no filter has seen, may not be served; else ""."""
    if entry.expires is not None and entry.expires <= asked.at:
        return "has expired"
    if asked.category is not None and entry.category != asked.category:
        return f"is a {entry.category}"
    if not set(asked.tags) <= set(entry.tags):
        return "lacks a tag that was asked for"
    return ""


def explain(kb: KnowledgeBase, window: Window, asked: RecallQuery, entry: MemoryEntry) -> MemoryExplanation:
    """The account of one memory in one recall."""
    whole = _recalled(kb, window, asked)
    assert whole.answer is not None
    hit = next((one for one in whole.hits if one.entry.id == entry.id), None)
    chunk_id = hit.hit.id if hit else _best_chunk(window, whole.answer, entry)
    passages = whole.answer.passages(chunk_id)
    cut = replace(whole, hits=whole.hits[: asked.k])
    if hit is not None and hit.rank <= asked.k:
        return MemoryExplanation(entry, hit.rank, hit.score, passages, (), cut)
    why = tuple(_reasons(window, asked, whole, entry, hit, chunk_id))
    return MemoryExplanation(entry, None, None, passages, why, cut)


def _best_chunk(window: Window, answer: Answer, entry: MemoryEntry) -> str:
    """The chunk of a memory that came furthest."""
    names = [str(name) for name in window.view.ids(window.rows_of(entry))]
    return max(names, key=lambda name: sum(name in span.gave.ids for span in answer.trace))


def _reasons(
    window: Window,
    asked: RecallQuery,
    whole: RecallAnswer,
    entry: MemoryEntry,
    hit: RecalledMemory | None,
    chunk_id: str,
) -> Iterator[str]:
    """Why a memory is not recalled, plainest first."""
    answer = whole.answer
    assert answer is not None
    if entry.expires is not None and entry.expires <= asked.at:
        yield f"it expired at {iso(entry.expires)}"
    elif entry.created > asked.at:
        yield f"it was created at {iso(entry.created)}, after the moment asked about"
    elif hit is not None:
        yield f"it has rank {hit.rank}, and {asked.k} were asked for"
    elif (current := window.successor(entry, asked.at)) is None or current.id != entry.id:
        yield "it is superseded" + (f" by {current.id}, which is served in its place" if current else "")
    else:
        rows = window.rows_of(entry)
        chunk = dict(zip(window.view.ids(rows).tolist(), window.view.chunks(rows), strict=True))[chunk_id]
        dropped = [passage.why for passage in answer.passages(chunk_id) if passage.why.startswith("dropped")]
        yield from dropped or reasons(answer, asked.pipeline, chunk_id, chunk)
