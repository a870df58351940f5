"""The cache of one query's chunks: what was read is not read again, and the store behind it stays visible."""

import numpy as np

from assay.engine.chunk_cache import ChunkCache
from assay.engine.foreign_chunks import ExtendedSnapshot, base_snapshot
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import Chunk


class CountingSnapshot(MemorySnapshot):
    def __init__(self, chunks):
        super().__init__(chunks)
        self.asked = []

    def chunks(self, rows):
        self.asked += rows.tolist()
        return super().chunks(rows)


def test_every_chunk_is_read_once_in_any_order():
    store = CountingSnapshot([Chunk(name, name, f"text {name}", 1) for name in "abcd"])
    cache = ChunkCache(store)
    assert [chunk.id for chunk in cache.chunks(np.array([2, 0]))] == ["c", "a"]
    assert [chunk.id for chunk in cache.chunks(np.array([0, 3, 2, 0]))] == ["a", "d", "c", "a"]
    assert cache.chunks(np.array([], np.int64)) == []
    assert store.asked == [2, 0, 3]


def test_the_store_behind_the_cache_is_found():
    store = MemorySnapshot([Chunk("a", "a", "text", 1)])
    assert base_snapshot(ChunkCache(store)) is store
    assert base_snapshot(ExtendedSnapshot(ChunkCache(store), [Chunk("f", "f", "foreign", 1)])) is store
