"""The keywords of nodes: terms with the largest weights.

    contrastive   c-TF-IDF among siblings:  uses(t, n) / uses(n) · ln(1 + A / f(t))
                  A = mean number of words of the siblings, f(t) = uses of t in all of them
    generic       uses(t, n) / uses(n) · ln(1 + (N − df + ½) / (df + ½)),   over all N rows

The root has no siblings, and a single child none either: their keywords are generic. Closed-class words ("the") are
left out. Ties go to the smaller term.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.index.similarity import idf
from assay.index.tree.layout import TreeLayout
from assay.index.tree.leaf_words import WordBlock, read_blocks
from assay.types import Floats, Progress, Rows

MOST_KEYWORDS = 64
"""Terms that a node keeps; fewer are shown, and sentences are chosen by all of them."""


class Keywords(NamedTuple):
    """Terms of nodes: where each node's begin, heaviest first; term numbers, weights, rows below that hold the term."""

    start: Rows
    terms: NDArray[np.int32]
    weights: NDArray[np.float32]
    holding: NDArray[np.int32]


def choose_keywords(folder: Path, layout: TreeLayout, stop: Rows, contrastive: bool, progress: Progress) -> Keywords:
    """Return the keywords of all nodes from the leaf words in a folder. `stop` are term numbers to leave out."""
    nodes = len(layout.parent)
    best = _Best(nodes)
    leaves = layout.leaves()
    sizes = np.bincount(layout.leaf_of_row, minlength=nodes)
    second = layout.second_leaf_of_row
    sizes = sizes + np.bincount(second[second >= 0], minlength=nodes)
    totals = _sum_uses(folder, leaves, layout)
    ancestors: Rows = leaves
    levels = int(layout.level.max(initial=0))
    for done in range(levels + 1):
        for block in read_blocks(folder):
            best.add(_weigh(block, ancestors, layout, totals, int(sizes.sum()), stop, contrastive))
        ancestors = layout.parent[ancestors].astype(np.int64)
        progress("keywords", done + 1, levels + 1)
    return best.finish()


def _sum_uses(folder: Path, leaves: Rows, layout: TreeLayout) -> Floats:
    """Return the number of words below each node."""
    totals = np.zeros(len(layout.parent))
    for block in read_blocks(folder):
        totals[leaves] += np.bincount(block.leaves, block.uses, len(leaves))
    for node in range(len(totals) - 1, 0, -1):
        totals[layout.parent[node]] += totals[node]
    return totals


class _Entries(NamedTuple):
    nodes: Rows
    terms: Rows
    weights: Floats
    holding: Rows


def _weigh(
    block: WordBlock,
    node_of_leaf: Rows,
    layout: TreeLayout,
    totals: Floats,
    rows_total: int,
    stop: Rows,
    contrastive: bool,
) -> _Entries:
    """Return (node, term) entries of one level with their weights. Entries are by term, then by node."""
    terms = np.repeat(np.arange(len(block.start) - 1), np.diff(block.start))
    nodes = node_of_leaf[block.leaves]
    runs = _starts_of_runs(terms, nodes)
    if len(runs) == 0:
        none = np.empty(0, np.int64)
        return _Entries(none, none, np.empty(0), none)
    uses = np.add.reduceat(block.uses.astype(np.float64), runs)
    holding = np.add.reduceat(block.holding.astype(np.int64), runs)
    terms, nodes = terms[runs], nodes[runs].astype(np.int64)
    frequency = np.bincount(terms, holding, len(block.start) - 1).astype(np.float64)
    weights = uses / totals[nodes] * idf(frequency[terms], float(rows_total))
    parents = layout.parent[nodes].astype(np.int64)
    if contrastive and parents[0] >= 0:
        groups = _starts_of_runs(terms, parents)
        sizes = np.diff(np.append(groups, len(terms)))
        among = np.repeat(np.add.reduceat(uses, groups), sizes)
        siblings = layout.child_count[parents]
        contrast = uses / totals[nodes] * np.log1p(totals[parents] / siblings / among)
        weights = np.where(siblings > 1, contrast, weights)
    terms = terms + block.first
    keep = ~np.isin(terms, stop)
    return _Entries(nodes[keep], terms[keep], weights[keep], holding[keep])


def _starts_of_runs(ones: Rows, others: Rows) -> Rows:
    """Return where pairs of equal values begin."""
    changed = (ones[1:] != ones[:-1]) | (others[1:] != others[:-1])
    return np.flatnonzero(np.concatenate([[True], changed])[: len(ones)])


class _Best:
    """The heaviest terms of each node so far."""

    def __init__(self, nodes: int) -> None:
        self._count = nodes
        none = np.empty(0, np.int64)
        self._entries = _Entries(none, none, np.empty(0), none)

    def add(self, entries: _Entries) -> None:
        merged = [np.concatenate(pair) for pair in zip(self._entries, entries, strict=True)]
        nodes, terms, weights, _ = merged
        order = np.lexsort((terms, -weights, nodes))
        ordered = nodes[order]
        first = np.searchsorted(ordered, ordered)
        kept = order[np.arange(len(order)) - first < MOST_KEYWORDS]
        self._entries = _Entries(*(column[kept] for column in merged))

    def finish(self) -> Keywords:
        nodes, terms, weights, holding = self._entries
        start = np.searchsorted(nodes, np.arange(self._count + 1))
        return Keywords(start, terms.astype(np.int32), weights.astype(np.float32), holding.astype(np.int32))
