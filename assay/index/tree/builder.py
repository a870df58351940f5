"""Builds the tree of a generation: families, layout, then what each node says about the rows below it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.index.atomic_folder import atomic_folder, write_manifest
from assay.index.similarity import Bm25Similarity
from assay.index.tree.clustering import build_layout
from assay.index.tree.families import FamilyGroups, group_families
from assay.index.tree.headings import HeadingPath, build_heading_layout, make_path
from assay.index.tree.index import TREE_FORMAT, TreeIndex, add_to_parents, sum_leaf_vectors
from assay.index.tree.keywords import choose_keywords
from assay.index.tree.layout import TreeLayout, TreeSettings
from assay.index.tree.leaf_words import remove_builder_files, write_leaf_words
from assay.index.tree.prototypes import choose_prototypes
from assay.index.tree.sentences import (
    NodeKeywords,
    NodeSentence,
    list_ancestors,
    pack_sentences,
    summarise_inner,
    summarise_leaf,
)
from assay.index.words import WordIndex
from assay.text.analyser import Analyser, load_stop_words
from assay.types import Chunk, Progress, Rows, Vectors

READ = 2_000
"""Chunks that are read at a time."""


@dataclass(frozen=True)
class TreeRows:
    """The input of a tree: rows 0 … size−1 with their vectors (zero: none), words and texts.

    `read` returns the chunks of rows; `base` is a digest of all of this.
    """

    vectors: Vectors
    words: WordIndex
    read: Callable[[Sequence[int]], list[Chunk]]
    analyser: Analyser
    similarity: Bm25Similarity
    base: str

    @property
    def size(self) -> int:
        return len(self.vectors)


def build_tree(rows: TreeRows, folder: Path, settings: TreeSettings, progress: Progress = lambda *_: None) -> TreeIndex:
    """Build the tree of these rows atomically in `folder`."""
    with atomic_folder(folder) as temporary:
        paths: list[HeadingPath] = []
        groups = group_families(_read_texts(rows, paths), seed=1, progress=progress, total=rows.size)
        if settings.kind == "headings":
            layout = build_heading_layout(rows.vectors, paths, settings)
        else:
            layout = build_layout(rows.vectors, groups.families, settings, settings.seed, progress)
        _save_layout(temporary, layout)
        _save_families(temporary, layout, groups)
        sums = sum_leaf_vectors(rows.vectors, layout.leaf_of_row, len(layout.parent))
        _save(temporary, "sums", add_to_parents(sums, layout.parent))
        start, chosen = choose_prototypes(rows.vectors, layout, progress)
        _save(temporary, "prototype_start", start)
        _save(temporary, "prototype_rows", chosen)
        _build_words(rows, temporary, layout, settings, progress)
        average = rows.words.total / rows.words.size if rows.words.total else 1.0
        manifest = {
            "format": TREE_FORMAT,
            "base": rows.base,
            "settings": settings.to_json(),
            "rows": rows.size,
            "nodes": len(layout.parent),
            "average": average,
            "digest": _digest(temporary),
        }
        write_manifest(temporary, manifest)
    return TreeIndex(folder, rows.words, rows.base, settings)


def _read_texts(rows: TreeRows, paths: list[HeadingPath]) -> Iterator[str]:
    """Yield the text of each row, and add its path to `paths`."""
    for first in range(0, rows.size, READ):
        for chunk in rows.read(range(first, min(first + READ, rows.size))):
            paths.append(make_path(chunk))
            yield chunk.indexed_text


def _save(folder: Path, name: str, column: NDArray[np.generic]) -> None:
    np.save(folder / f"{name}.npy", column, allow_pickle=False)


def _save_layout(folder: Path, layout: TreeLayout) -> None:
    for name in ("parent", "level", "first_child", "child_count", "leaf_of_row", "second_leaf_of_row"):
        _save(folder, name, getattr(layout, name))


def _save_families(folder: Path, layout: TreeLayout, groups: FamilyGroups) -> None:
    leaves = np.where(
        np.isin(groups.mark_families, layout.split_families), -1, layout.leaf_of_row[groups.mark_families]
    )
    order = np.argsort(groups.marks, kind="stable")
    _save(folder, "marks", groups.marks[order])
    _save(folder, "mark_leaves", leaves[order].astype(np.int32))


def _build_words(rows: TreeRows, folder: Path, layout: TreeLayout, settings: TreeSettings, progress: Progress) -> None:
    """Write the words of leaves, the keywords of nodes and their sentences."""
    leaves = layout.leaves()
    first = int(leaves[0]) if len(leaves) else 0
    second = layout.second_leaf_of_row
    places = layout.leaf_of_row - np.int32(first), np.where(second < 0, -1, second - first).astype(np.int32)
    write_leaf_words(folder, rows.words, places, rows.similarity, progress)
    stop = _stop_terms(rows.words, rows.analyser)
    keywords = choose_keywords(folder, layout, stop, settings.summaries == "contrastive", progress)
    remove_builder_files(folder)
    _save(folder, "keyword_start", keywords.start)
    _save(folder, "keyword_terms", keywords.terms)
    _save(folder, "keyword_holding", keywords.holding)
    weights = NodeKeywords(keywords)
    chosen = _summarise_leaves(rows, layout, weights, progress)
    start, sentences = pack_sentences(dict(summarise_inner(layout, weights, chosen)), len(layout.parent))
    _save(folder, "sentence_start", start)
    _save(folder, "sentences", sentences)


def _stop_terms(words: WordIndex, analyser: Analyser) -> Rows:
    """Return the numbers of the terms of closed-class words, and of single characters."""
    terms = {term for word in load_stop_words(analyser.language) for term in analyser.terms(word)}
    terms |= set("abcdefghijklmnopqrstuvwxyz0123456789")
    return np.array(sorted({words.term(term) for term in terms} - {-1}), np.int64)


def _summarise_leaves(
    rows: TreeRows, layout: TreeLayout, keywords: NodeKeywords, progress: Progress
) -> dict[int, list[NodeSentence]]:
    order = np.argsort(layout.leaf_of_row, kind="stable")
    leaves = layout.leaves()
    bounds = np.searchsorted(layout.leaf_of_row[order], leaves)
    ends = np.append(bounds[1:], len(order))
    chosen = {}
    for place, leaf in enumerate(leaves.tolist()):
        members = np.sort(order[bounds[place] : ends[place]])
        lines = [keywords.weights(node) for node in list_ancestors(layout, leaf)]
        chosen[leaf] = summarise_leaf(members, rows.read, lines, rows.analyser, rows.words)
        progress("summaries", place + 1, len(leaves))
    return chosen


def _digest(folder: Path) -> str:
    """Return a digest of all files of a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
