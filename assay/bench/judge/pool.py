"""What a judge is shown: for each query the documents that any of some pipelines found, in an order that tells nothing.

A document stands for itself once, by the chunk that some pipeline ranked best. The order is a shuffle by a hash of
seed, query and document: the same for every judge and every session, and no hint at who found it or where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from assay.bench.query_log import LoggedQuery
from assay.engine.pipeline import Pipeline
from assay.kb import KnowledgeBase
from assay.types import Chunk


@dataclass(frozen=True, slots=True)
class Item:
    """A document to be judged for a query, shown by one of its chunks."""

    query: LoggedQuery
    chunk: Chunk

    @property
    def key(self) -> tuple[str, str]:
        return self.query.id, self.chunk.doc_id


@dataclass(frozen=True, slots=True)
class JudgingPool:
    """The items of one query in the order they are shown, and what could not run as planned while they were found."""

    items: tuple[Item, ...]
    degraded: tuple[str, ...] = ()


def pool(base: KnowledgeBase, pipelines: Sequence[Pipeline], asked: LoggedQuery, depth: int, seed: int) -> JudgingPool:
    """The union of the first `depth` results of every pipeline, shuffled."""
    best: dict[str, tuple[int, str, Chunk]] = {}
    degraded: dict[str, None] = {}
    for pipeline in pipelines:
        answer = base.search(asked.text, depth, pipeline=pipeline)
        degraded.update(dict.fromkeys(f"{pipeline.name}: {said}" for said in answer.verdict.degraded))
        for hit in answer:
            mine = (hit.rank, hit.id, hit.chunk)
            best[hit.chunk.doc_id] = min(best.get(hit.chunk.doc_id, mine), mine, key=lambda one: one[:2])
    items = [Item(asked, chunk) for _, _, chunk in best.values()]
    return JudgingPool(tuple(sorted(items, key=lambda item: (_place(seed, item), item.key))), tuple(degraded))


def _place(seed: int, item: Item) -> bytes:
    return blake2b("\x1f".join((str(seed), *item.key)).encode("utf-8", "replace"), digest_size=8).digest()
