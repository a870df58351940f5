"""Builds the pool of documents to judge: for each query the union of several pipelines' results, shuffled.

A document occurs once, with the chunk that was ranked best by any pipeline. The order is a hash of seed, query and
document: the same for every judge and session, and independent of pipelines and ranks.
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
class PoolItem:
    """A document to judge for a query, shown by one of its chunks."""

    query: LoggedQuery
    chunk: Chunk

    @property
    def key(self) -> tuple[str, str]:
        return self.query.id, self.chunk.doc_id


@dataclass(frozen=True, slots=True)
class JudgingPool:
    """The items of one query in display order, and the degradations of the searches that found them."""

    items: tuple[PoolItem, ...]
    degraded: tuple[str, ...] = ()


def build_pool(
    base: KnowledgeBase, pipelines: Sequence[Pipeline], query: LoggedQuery, depth: int, seed: int
) -> JudgingPool:
    """Pool the first `depth` results of every pipeline, shuffled."""
    best: dict[str, tuple[int, str, Chunk]] = {}
    degraded: dict[str, None] = {}
    for pipeline in pipelines:
        answer = base.search(query.text, depth, pipeline=pipeline)
        degraded.update(dict.fromkeys(f"{pipeline.name}: {note}" for note in answer.status.degraded))
        for hit in answer:
            candidate = (hit.rank, hit.id, hit.chunk)
            best[hit.chunk.doc_id] = min(best.get(hit.chunk.doc_id, candidate), candidate, key=lambda one: one[:2])
    items = [PoolItem(query, chunk) for _, _, chunk in best.values()]
    return JudgingPool(tuple(sorted(items, key=lambda item: (_shuffle_key(seed, item), item.key))), tuple(degraded))


def _shuffle_key(seed: int, item: PoolItem) -> bytes:
    return blake2b("\x1f".join((str(seed), *item.key)).encode("utf-8", "replace"), digest_size=8).digest()
