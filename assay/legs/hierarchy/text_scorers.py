"""Opens scorers of texts by name, and lets them score the children of a node.

A scorer has `score(query, texts)` with values in [0, 1], and `prepare()`. A name may be followed by a colon and an
argument: "cross_encoder:<folder>". Third parties register theirs in the entry point group `assay.text_scorers`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Protocol, cast

import numpy as np

from assay.errors import AssayError, ConfigError, nearest
from assay.legs.hierarchy.node_scores import NodeScores
from assay.legs.hierarchy.walk import Reranker
from assay.protocols import Snapshot, TreeView
from assay.types import Floats, Note, Query, Rows

SCORERS: Mapping[str, str] = {
    "late_interaction": "assay.rerank.text_scorers:LateInteractionScorer",
    "cross_encoder": "assay.rerank.text_scorers:CrossEncoderScorer",
}
"""Only names: the classes live beside the rerankers, which this layer does not import."""
GROUP = "assay.text_scorers"


class TextScorer(Protocol):
    """Scores texts for a query, in [0, 1]."""

    def prepare(self) -> None: ...
    def score(self, query: str, texts: Sequence[str]) -> Floats: ...


def check_scorer(field: str, name: str) -> None:
    """`field` must name a scorer, or be empty."""
    known = {*SCORERS, *(point.name for point in entry_points(group=GROUP))}
    if name and name.partition(":")[0] not in known:
        raise ConfigError(
            f"{field} = {name!r} names no scorer of texts", nearest(name.partition(":")[0], sorted(known))
        )


@lru_cache(maxsize=8)
def open_scorer(name: str) -> TextScorer:
    """Make the scorer of a name, once per process."""
    kind, _, argument = name.partition(":")
    if kind in SCORERS:
        module, _, attribute = SCORERS[kind].partition(":")
        made = getattr(import_module(module), attribute)
    else:
        made = next(point for point in entry_points(group=GROUP) if point.name == kind).load()
    return cast(TextScorer, made(argument))


def load_scorer(name: str) -> None:
    """Load the model of a scorer; one that fails says so when it runs."""
    if name:
        with contextlib.suppress(AssayError):
            open_scorer(name).prepare()


def score_children(
    name: str, query: Query, snapshot: Snapshot, tree: TreeView, scores: NodeScores
) -> tuple[Reranker | None, tuple[Note, ...]]:
    """Return a function that scores nodes by the text of one chunk each: the best one where the router read the rows,
    else the most central one. None, and a note, where the scorer cannot be opened."""
    try:
        scorer = open_scorer(name)
        scorer.prepare()
    except AssayError as error:
        return None, (Note("degraded", f"beam.rerank did not run: {error.message}", cure=error.cure),)

    def represent(node: int) -> int:
        if scores.best is not None and scores.best[node] >= 0:
            return int(scores.best[node])
        rows = scores.rows
        if rows is not None:
            leaves = [scores.rows_below(tree, leaf) for leaf in _find_best_leaves(tree, scores.score, node)]
            below = np.unique(np.concatenate(leaves))
            return int(below[np.argmax(rows.score_of(below))])
        owners, prototypes, _ = tree.prototypes(np.array([node]))
        return int(prototypes[0]) if len(owners) and scores.visible is None else int(scores.rows_below(tree, node)[0])

    def rerank(nodes: Rows) -> Floats:
        rows = np.array([represent(int(node)) for node in nodes], np.int64)
        texts = [chunk.indexed_text for chunk in snapshot.chunks(rows)]
        return np.clip(scorer.score(query.text, texts), 0.0, 1.0)

    return rerank, ()


def _find_best_leaves(tree: TreeView, score: Floats, node: int) -> list[int]:
    """The leaves whose best row is the best one below a node; more than one where they tie."""
    best, level = score[node], [node]
    while tree.child_count[level[0]]:
        level = [child for one in level for child in tree.children(one) if score[child] == best]
    return level
