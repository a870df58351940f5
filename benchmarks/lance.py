"""LanceDB's own hybrid search over the same rows, with its full-text index, IVF index and RRF reranker."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

# Otherwise it logs a warning for every query, which costs it time.
os.environ.update(dict.fromkeys(("LANCE_LOG", "LANCEDB_LOG", "RUST_LOG"), "error"))

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.rerankers import RRFReranker

from assay.types import Vector, Vectors
from benchmarks.data import chunks

POOL = 100


class LanceHybrid:
    """A table of (row, text, vector); `row` equals Assay's row, because both are in id order."""

    def __init__(self, folder: Path, size: int) -> None:
        schema = pa.schema([("row", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), 384))])

        def batches() -> Iterator[pa.RecordBatch]:
            row = 0
            for part in chunks(size):
                flat = np.concatenate([vector for _, vector in part])
                yield pa.record_batch(
                    [
                        pa.array(range(row, row + len(part)), pa.int64()),
                        pa.array([chunk.indexed_text for chunk, _ in part]),
                        pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), 384),
                    ],
                    schema=schema,
                )
                row += len(part)

        self._table = lancedb.connect(folder).create_table("chunks", data=batches(), schema=schema)
        lists = int(2 ** round(np.log2(4.0 * np.sqrt(size)) - 0.25))
        self._table.create_index(metric="cosine", num_partitions=lists, index_type="IVF_FLAT")
        self._table.create_fts_index("text", use_tantivy=False, stem=True, remove_stop_words=True)
        self._reranker = RRFReranker()
        self._lists = self._probes = lists

    def tune(self, vectors: Vectors, matrix: Vectors, wanted: float) -> tuple[int, float]:
        """The most probes with which its vector search stays at or below the wanted recall at pool depth."""
        truth = [np.argsort(-(matrix @ v), kind="stable")[:POOL] for v in vectors]

        def recall(probes: int) -> float:
            shares = []
            for vector, true in zip(vectors, truth, strict=True):
                query = self._table.search(vector).metric("cosine").nprobes(probes).limit(POOL)
                shares.append(np.isin(true, query.select(["row"]).to_arrow()["row"].to_numpy()).mean())
            return round(float(np.mean(shares)), 4)

        counts = range(1, self._lists + 1)
        self._probes = max(1, bisect_right(counts, wanted, key=recall))
        return self._probes, recall(self._probes)

    def search(self, text: str, vector: Vector) -> pa.Table:
        hybrid = self._table.search(query_type="hybrid").vector(vector).text(text).metric("cosine")
        return hybrid.nprobes(self._probes).limit(POOL).rerank(self._reranker).select(["row"]).to_arrow()
