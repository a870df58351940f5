"""A generation: word index, vectors and filter columns of the chunks alive at one version.

Rows are in id order, so the same live chunks give the same files whatever their history. A generation is built in a
temporary folder and renamed when complete; a folder without a manifest is incomplete and is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.index.atomic_folder import atomic_folder, read_manifest, write_manifest
from assay.index.columns import FilterColumns
from assay.index.columns_builder import ColumnsBuilder
from assay.index.graph import GraphIndex
from assay.index.graph_builder import GraphRows, build_graph
from assay.index.lazy_index import LazyIndex
from assay.index.row_blocks import BLOCK, IndexTask, read_blocks, read_seqs
from assay.index.similarity import Bm25Similarity
from assay.index.strings import StringColumn, StringColumnWriter
from assay.index.tree.builder import TreeRows, build_tree
from assay.index.tree.index import TreeIndex
from assay.index.tree.layout import TreeSettings
from assay.index.vectors import VectorIndex
from assay.index.vectors_builder import IVF_FROM, build_vectors
from assay.index.words import TANTIVY_FROM, WordIndex, memory_map
from assay.index.words_builder import WordIndexBuilder
from assay.store.contents_digest import MARK, add_sums, mark_row, sum_marks
from assay.store.locks import SharedFileLock
from assay.store.rows import FACTS
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Progress, Rows, Vectors

FORMAT = 2


class Generation:
    """Read-only view of a finished generation; parts open when first used.

    OSError or ValueError when it is missing, incomplete, or of another format: then it must be rebuilt.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._in_use = SharedFileLock(folder / "manifest.json")  # parts are opened later, so the files must stay
        self.manifest, self.checks = read_manifest(folder, FORMAT, _MANIFEST)
        self.version: int = self.manifest["version"]
        self.last_seq: int = self.manifest["last_seq"]
        self.size: int = self.manifest["chunks"]
        self.digest: str = self.manifest["digest"]
        self._graph: LazyIndex[GraphIndex] = LazyIndex(folder / "graph")
        self._tree: LazyIndex[TreeIndex] = LazyIndex(folder / "tree")

    @cached_property
    def ids(self) -> StringColumn:
        self.checks.verify("ids.blob", "ids.offsets")
        return StringColumn(self.folder / "ids")

    @cached_property
    def seqs(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        self.checks.verify("seqs")
        return np.fromfile(self.folder / "seqs", "<i8")

    @property
    def mark_sums(self) -> list[int] | None:
        """The sum of the marks of all rows; None in a generation of an earlier version."""
        sums: list[int] | None = self.manifest.get("marks")
        return sums

    def sum_marks(self, rows: Rows) -> tuple[int, int]:
        """The sum of the marks of these rows."""
        blocks = self.checks.blocks("marks")
        if blocks is not None:
            blocks.verify_rows(rows, MARK)
        return sum_marks(memory_map(self.folder / "marks", f"V{MARK}")[rows].tobytes())

    def row_of(self, chunk_id: str, seq: int) -> int:
        """Return the row of a chunk as it was when the generation was built, or -1."""
        row = self.ids.find(chunk_id)
        return row if row >= 0 and self.seqs[row] == seq else -1

    @cached_property
    def words(self) -> WordIndex:
        return WordIndex(self.folder, self.checks)

    @cached_property
    def columns(self) -> FilterColumns:
        return FilterColumns(self.folder, self.ids, self.checks)

    @cached_property
    def vectors(self) -> VectorIndex | None:
        dim = self.manifest["dim"]
        return VectorIndex(self.folder, self.size, dim, self.checks) if dim else None

    @property
    def graph_folder(self) -> Path:
        return self._graph.folder

    def graph(self, store: SqliteStore, analyser: Analyser, progress: Progress = lambda *_: None) -> GraphIndex:
        """Return the graph of these rows; the first call builds it, and other callers wait for that.

        It is derived from the rows and the analyser alone, so it changes no digest.
        """
        return self._graph.get(
            store.readonly,
            GraphIndex,
            lambda folder: build_graph(self._graph_rows(store), folder, analyser, progress),
        )

    def _graph_rows(self, store: SqliteStore) -> GraphRows:
        """Return these rows as input of the graph builder."""
        words = self.words
        return GraphRows(store, store.folder, self.folder, words.size, lambda term: words.frequency(words.term(term)))

    @property
    def tree_folder(self) -> Path:
        return self._tree.folder

    def tree(
        self,
        store: SqliteStore,
        analyser: Analyser,
        similarity: Bm25Similarity,
        settings: TreeSettings,
        progress: Progress = lambda *_: None,
    ) -> TreeIndex:
        """Return the tree of these rows; the first call, or the first with other settings, builds it."""
        rows = self.tree_rows(store, analyser, similarity)
        return self._tree.get(
            store.readonly,
            lambda folder: TreeIndex(folder, self.words, self.digest, settings),
            lambda folder: build_tree(rows, folder, settings, progress),
            lambda index: index.settings == settings,
        )

    def tree_rows(self, store: SqliteStore, analyser: Analyser, similarity: Bm25Similarity) -> TreeRows:
        """Return these rows as input of the tree builder."""

        def read(numbers: Sequence[int]) -> list[Chunk]:
            return [row.chunk for row in store.rows(self.seqs[list(numbers)].tolist())]

        matrix = np.zeros((self.size, 0), np.float32) if self.vectors is None else self.vectors.matrix
        return TreeRows(matrix, self.words, read, analyser, similarity, self.digest)


def build_generation(
    store: SqliteStore,
    version: int,
    folder: Path,
    analyser: Analyser,
    model: tuple[str, int],
    progress: Progress = lambda *_: None,
    *,
    tantivy_from: int = TANTIVY_FROM,
    ivf_from: int = IVF_FROM,
) -> Generation:
    """Index every chunk alive at `version` into `folder`. `model` is (digest, dimension); 0 means no vectors."""
    with atomic_folder(folder) as temporary:
        last_seq = store.last_seq(version)
        size = _write_ids(store, version, temporary)
        task = IndexTask(store.folder, temporary, analyser, with_bodies=size >= tantivy_from, block=BLOCK)
        words = WordIndexBuilder(temporary, task.with_bodies)
        columns = ColumnsBuilder(temporary)
        content = hashlib.sha256()
        dim = model[1]
        has = np.zeros(size, np.bool_)
        done = 0
        sums = []
        with (
            (temporary / "vectors").open("wb") as matrix,
            (temporary / "marks").open("wb") as marks,
            contextlib.closing(read_blocks(store, task, size)) as row_blocks,
        ):
            for block in row_blocks:
                words.add(block.lengths, block.bodies)
                columns.add(block.entries)
                content.update(block.facts)
                first, done = done, done + len(block.lengths)
                vectors = None
                if dim:
                    vectors = store.vectors(read_seqs(temporary, first, done), dim)
                    has[first:done] = vectors.any(axis=1)
                    content.update(vectors.tobytes())
                    vectors.tofile(matrix)
                block_marks = _mark_rows(block.facts, vectors)
                marks.write(block_marks)
                sums.append(sum_marks(block_marks))
                progress("indexing", done, size)
        words.finish()
        columns.finish()
        progress("vectors", 0, 1)
        vector_facts = build_vectors(temporary, size, dim, has, ivf_from) if dim else None
        manifest = {
            "format": FORMAT,
            "version": version,
            "last_seq": last_seq,
            "chunks": size,
            "dim": dim,
            "model": model[0],
            "analyser": analyser.digest,
            "vectors": vector_facts,
            "tantivy": size >= tantivy_from,
            "marks": add_sums(sums),
        }
        content.update(
            json.dumps([manifest[k] for k in ("format", "model", "analyser", "vectors", "tantivy")]).encode()
        )
        manifest["digest"] = content.hexdigest()
        write_manifest(temporary, manifest)
        progress("vectors", 1, 1)
    return Generation(folder)


def _mark_rows(facts: bytes, vectors: Vectors | None) -> bytes:
    """The marks of a block of rows."""
    each = [facts[start : start + FACTS] for start in range(0, len(facts), FACTS)]
    return b"".join([mark_row(one, None if vectors is None else vectors[n]) for n, one in enumerate(each)])


def _write_ids(store: SqliteStore, version: int, folder: Path) -> int:
    """Write the ids alive at a version, in order, with their rows in the store; return their number."""
    ids, seqs = StringColumnWriter(folder / "ids"), array("q")
    for name, seq in store.live_at(version):
        ids.add(name)
        seqs.append(seq)
    ids.close()
    np.frombuffer(seqs, "<i8").tofile(folder / "seqs")
    return len(seqs)


_MANIFEST = frozenset({"version", "last_seq", "chunks", "dim", "model", "analyser", "digest"})
