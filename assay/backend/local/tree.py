"""The tree of a local snapshot: that of its generation, or, where there is none yet, one of its live rows."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.backend.shared.bm25 import LexicalView
from assay.backend.shared.query_terms import QueryTerms
from assay.backend.shared.tree_view import SnapshotTree
from assay.index.generation import Generation
from assay.index.postings import PostingsWriter
from assay.index.tail import Tail
from assay.index.tree.builder import TreeRows, build_tree
from assay.index.tree.index import TreeIndex
from assay.index.tree.layout import TreeSettings
from assay.index.tree.summary_cache import SummaryCache
from assay.index.words import WordIndex
from assay.index.words_builder import WordIndexBuilder
from assay.protocols import EntityPostings, TermWeighting
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Floats, Query, Rows, Vectors
from assay.where import Mask

if TYPE_CHECKING:
    from assay.backend.local.snapshot import LocalSnapshot

SUMMARIES = "summaries.sqlite"


@dataclass(frozen=True)
class LocalTreeSource:
    """Implements `tree_view.TreeSource` over the parts of a local snapshot."""

    snapshot: LocalSnapshot
    generation: Generation | None
    tail: Tail
    tail_size: int
    terms: Callable[[Query, TermWeighting], QueryTerms]
    visible: Callable[[Query], Mask]
    texts: SummaryCache | None

    @property
    def digest(self) -> str:
        return self.snapshot.digest

    @property
    def analyser(self) -> Analyser:
        return self.snapshot.analyser

    def entities(self) -> EntityPostings:
        return self.snapshot.entities()

    def chunks(self, rows: Rows) -> list[Chunk]:
        return self.snapshot.chunks(rows)

    def vectors(self, rows: Rows) -> Vectors:
        return self.snapshot.vectors(rows)

    def numbers(self, name: str, rows: Rows) -> Floats:
        return self.snapshot.numbers(name, rows)

    def query_terms(self, query: Query, weighting: TermWeighting) -> QueryTerms:
        return self.terms(query, weighting)

    def vector_blocks(self) -> Sequence[Vectors]:
        """The vectors of all rows: the generation's, then the tail's."""
        vectors = self.generation.vectors if self.generation else None
        size = self.generation.size if self.generation else 0
        old = np.zeros((size, 0), np.float32) if vectors is None else vectors.matrix
        return [old, self.tail.vectors(self.tail_size)]

    def summary_text(self, sentences: Sequence[str]) -> str:
        return self.texts.get(sentences) if self.texts and sentences else ""

    def field_values(self, name: str, rows: Rows) -> list[str]:
        """The values of a text field in these rows, each once."""
        start = self.generation.size if self.generation else 0
        values = self.generation.columns.texts(name, rows[rows < start]) if self.generation else set()
        chunks = self.tail.chunks
        new = [chunks[row - start].meta.get(name) for row in rows[rows >= start].tolist()]
        return sorted(values | {value for value in new if isinstance(value, str)})


def build_tail_tree(
    tail: Tail, live: Mask, view: LexicalView, analyser: Analyser, settings: TreeSettings, base: str
) -> TreeIndex:
    """Build the tree of the live rows of a tail without a generation, in a temporary folder."""
    rows = np.flatnonzero(live)
    folder = Path(tempfile.mkdtemp(prefix="assay-tree-"))
    words = _index_words(folder, [tail.chunks[row] for row in rows.tolist()], analyser)

    def read(numbers: Sequence[int]) -> list[Chunk]:
        return [tail.chunks[rows[number]] for number in numbers]

    vectors = tail.vectors(len(live))[rows]
    source = TreeRows(vectors, words, read, analyser, view.similarity, base)
    index = build_tree(source, folder / "tree", settings).renumber(rows, len(live))
    weakref.finalize(index, shutil.rmtree, folder, ignore_errors=True)
    return index


def _index_words(folder: Path, chunks: Sequence[Chunk], analyser: Analyser) -> WordIndex:
    postings, builder, lengths = PostingsWriter(folder, 0), WordIndexBuilder(folder, False), array("I")
    for chunk in chunks:
        terms = analyser.terms(chunk.indexed_text)
        postings.add(terms)
        lengths.append(len(terms))
    postings.finish()
    builder.add(lengths, [])
    builder.finish()
    return WordIndex(folder)


def open_tree(
    source: LocalTreeSource, view: LexicalView, get_index: Callable[[], TreeIndex], settings: TreeSettings
) -> SnapshotTree:
    """Return the tree of a snapshot; `get_index` opens or builds that of its generation."""
    if source.generation is None:
        index = build_tail_tree(source.tail, view.tail_live, view, source.analyser, settings, source.digest)
        return SnapshotTree(index, view, source, np.empty(0, np.int32))
    index = get_index()
    leaves = source.tail.tree(index).read_up_to(source.tail.chunks, source.tail.vectors(source.tail_size))
    return SnapshotTree(index, view, source, leaves)


def open_summaries(store: SqliteStore, model: str | None = None) -> SummaryCache | None:
    """Return the summaries that a language model wrote for this store; None when none was ever asked.

    The file is in the store's folder, so that it is deleted with the store.
    """
    model = model or store.setting("tree_summaries")
    return SummaryCache(store.folder / SUMMARIES, model) if model else None


def remove_summaries(store: SqliteStore) -> bool:
    """Delete what a language model wrote: it may tell of chunks that are erased. False when there is nothing."""
    paths = list(store.folder.glob(f"{SUMMARIES}*"))
    for path in paths:
        path.unlink(missing_ok=True)
    return bool(paths)


def describe_settings(settings: Mapping[str, Any]) -> str:
    """What a snapshot's digest covers of the tree's settings; "" for the defaults."""
    return f"|tree={json.dumps(settings, sort_keys=True)}" if settings else ""
