"""A generation: words, vectors and filter columns of the chunks alive at one version, built canonically.

Rows stand in id order, so the same live chunks give the same files whatever their history. A generation is
built in a folder aside and renamed when whole; a folder without a manifest is rubbish and is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import threading
import weakref
from array import array
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.index.columns import FilterColumns
from assay.index.columns_build import ColumnsBuilder
from assay.index.graph import GraphIndex
from assay.index.graph_build import GraphRows, build_graph
from assay.index.rows import BLOCK, Work, blocks, seqs_of
from assay.index.strings import Strings, StringsWriter
from assay.index.vectors import VectorIndex
from assay.index.vectors_build import IVF_FROM, build_vectors
from assay.index.whole import read_manifest, whole, write_manifest
from assay.index.words import TANTIVY_FROM, Words
from assay.index.words_build import WordsBuilder
from assay.store.locks import InUse, in_turn
from assay.store.sqlite import SqliteStore
from assay.text.analyse import Analyser
from assay.types import Progress

FORMAT = 2


class Generation:
    """Read-only view of a finished generation; parts open when first used.

    OSError or ValueError when it is not there, not whole, or of another format: then it is to be built anew.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._in_use = InUse(folder / "manifest.json")  # parts open later; until we are gone they must stay
        self.manifest = read_manifest(folder, FORMAT, _MANIFEST)
        self.version: int = self.manifest["version"]
        self.last_seq: int = self.manifest["last_seq"]
        self.size: int = self.manifest["chunks"]
        self.digest: str = self.manifest["digest"]
        self._graph: GraphIndex | None = None
        self._graph_lock = threading.Lock()

    @cached_property
    def ids(self) -> Strings:
        return Strings(self.folder / "ids")

    @cached_property
    def seqs(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.fromfile(self.folder / "seqs", "<i8")

    def row_of(self, chunk_id: str, seq: int) -> int:
        """The row of a chunk as it was when the generation was built, or -1."""
        row = self.ids.find(chunk_id)
        return row if row >= 0 and self.seqs[row] == seq else -1

    @cached_property
    def words(self) -> Words:
        return Words(self.folder)

    @cached_property
    def columns(self) -> FilterColumns:
        return FilterColumns(self.folder, self.ids)

    @cached_property
    def vectors(self) -> VectorIndex | None:
        dim = self.manifest["dim"]
        return VectorIndex(self.folder, self.size, dim) if dim else None

    @property
    def graph_folder(self) -> Path:
        return self.folder / "graph"

    def graph(self, store: SqliteStore, analyser: Analyser, progress: Progress = lambda *_: None) -> GraphIndex:
        """The graph of these rows; built now when nobody has asked for it before. Whoever else asks meanwhile waits.

        It follows from the rows and the analyser alone, so it changes no digest.
        """
        with self._graph_lock:
            if self._graph is None:
                self._graph = self._opened_graph(store, analyser, progress)
            return self._graph

    def _opened_graph(self, store: SqliteStore, analyser: Analyser, progress: Progress) -> GraphIndex:
        with contextlib.suppress(OSError, ValueError):
            return GraphIndex(self.graph_folder)
        if store.readonly:
            aside = tempfile.mkdtemp(prefix="assay-graph-")
            weakref.finalize(self, shutil.rmtree, aside, ignore_errors=True)
            return build_graph(self._rows_in(store), Path(aside) / "graph", analyser, progress)
        with in_turn(self.folder / ".graph.lock"):
            with contextlib.suppress(OSError, ValueError):
                return GraphIndex(self.graph_folder)  # built while we waited
            return build_graph(self._rows_in(store), self.graph_folder, analyser, progress)

    def _rows_in(self, store: SqliteStore) -> GraphRows:
        """These rows, as a graph is built from them."""
        words = self.words
        return GraphRows(store, store.folder, self.folder, words.size, lambda term: words.frequency(words.term(term)))


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
    with whole(folder) as aside:
        last_seq = store.last_seq(version)
        size = _write_ids(store, version, aside)
        work = Work(store.folder, aside, analyser, with_bodies=size >= tantivy_from, block=BLOCK)
        words = WordsBuilder(aside, work.with_bodies)
        columns = ColumnsBuilder(aside)
        content = hashlib.sha256()
        dim = model[1]
        has = np.zeros(size, np.bool_)
        done = 0
        with (aside / "vectors").open("wb") as matrix, contextlib.closing(blocks(store, work, size)) as given:
            for block in given:
                words.add(block.lengths, block.bodies)
                columns.add(block.entries)
                content.update(block.facts)
                first, done = done, done + len(block.lengths)
                if dim:
                    vectors = store.vectors(seqs_of(aside, first, done), dim)
                    has[first:done] = vectors.any(axis=1)
                    content.update(vectors.tobytes())
                    vectors.tofile(matrix)
                progress("indexing", done, size)
        words.finish()
        columns.finish()
        progress("vectors", 0, 1)
        made = build_vectors(aside, size, dim, has, ivf_from) if dim else None
        manifest = {
            "format": FORMAT,
            "version": version,
            "last_seq": last_seq,
            "chunks": size,
            "dim": dim,
            "model": model[0],
            "analyser": analyser.digest,
            "vectors": made,
            "tantivy": size >= tantivy_from,
        }
        content.update(
            json.dumps([manifest[k] for k in ("format", "model", "analyser", "vectors", "tantivy")]).encode()
        )
        manifest["digest"] = content.hexdigest()
        write_manifest(aside, manifest)
        progress("vectors", 1, 1)
    return Generation(folder)


def _write_ids(store: SqliteStore, version: int, folder: Path) -> int:
    """The ids alive at a version, in order, and the rows of the store they stand in; how many there are."""
    ids, seqs = StringsWriter(folder / "ids"), array("q")
    for name, seq in store.live_at(version):
        ids.add(name)
        seqs.append(seq)
    ids.close()
    np.frombuffer(seqs, "<i8").tofile(folder / "seqs")
    return len(seqs)


_MANIFEST = frozenset({"version", "last_seq", "chunks", "dim", "model", "analyser", "digest"})
