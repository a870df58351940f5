"""The walk down the tree: at each node of the beam some children are chosen; every choice is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.legs.hierarchy.node_scores import NodeScores
from assay.protocols import TreeView
from assay.types import Floats, Rows, Vectors

EXPANSIONS = ("margin", "top")
Reranker = Callable[[Rows], Floats]
"""Scores nodes in [0, 1] by reading their texts."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """How the children of a node are chosen.

    prefilter   only so many children, by the router's score, are looked at further; 0: all
    rerank      the weight of the reranker's score, in [0, 1]; the router's gets the rest
    path        the weight a of a child's own score in P = a·s + (1 − a)·P of its parent; 1: no memory of the path
    kind        "margin": children whose P is within `margin` of the best child of the whole level, 1 to `most` for each
                node; "top": the best `most` children of each node
    diversity   λ of maximal marginal relevance among siblings, by their centroids; 0: by P alone
    """

    kind: Literal["margin", "top"]
    margin: float
    most: int
    prefilter: int = 0
    rerank: float = 0.0
    path: float = 1.0
    diversity: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The leaves that were reached, with their P, and the decisions as JSON: one for each expanded node."""

    leaves: list[int]
    path_scores: Floats
    decisions: list[dict[str, Any]]


@dataclass(slots=True)
class _Candidates:
    """The children of one node, in order of their number, with the P of each."""

    node: int
    children: Rows
    value: Floats
    scores: dict[str, list[float]]


def walk_down(tree: TreeView, scores: NodeScores, rule: Expansion, rerank: Reranker | None = None) -> Walk:
    """Go from the root to the leaves. A node whose score is −∞ is never entered."""
    beam = {0: float(scores.score[0])} if tree.size and np.isfinite(scores.score[0]) else {}
    decisions: list[dict[str, Any]] = []
    for level in range(1, tree.depth + 1):
        levels = [_score_children(tree, scores, rule, rerank, node, path) for node, path in beam.items()]
        best = max((float(one.value.max()) for one in levels), default=0.0)
        beam = {}
        for one in levels:
            chosen = _choose(one, rule, best, tree)
            beam.update((int(one.children[place]), float(one.value[place])) for place in chosen)
            decisions.append(
                {
                    "level": level,
                    "node": one.node,
                    "children": one.children.tolist(),
                    "scores": one.scores,
                    "chosen": [int(one.children[place]) for place in chosen],
                }
            )
    return Walk(list(beam), np.array(list(beam.values())), decisions)


def _score_children(
    tree: TreeView, scores: NodeScores, rule: Expansion, rerank: Reranker | None, node: int, path: float
) -> _Candidates:
    children = np.array(tree.children(node), np.int64)
    children = children[np.isfinite(scores.score[children])]
    own = scores.score[children]
    if 0 < rule.prefilter < len(children):
        kept = np.sort(np.lexsort((children, -own))[: rule.prefilter])
        children, own = children[kept], own[kept]
    seen = {name: column[children].tolist() for name, column in scores.scorers.items()}
    value = own
    if rerank is not None and rule.rerank:
        read = rerank(children)
        value = (1.0 - rule.rerank) * own + rule.rerank * read
        seen["rerank"] = read.tolist()
    if rule.path < 1.0:
        value = rule.path * value + (1.0 - rule.path) * path
        seen["path"] = value.tolist()
    return _Candidates(node, children, value, seen)


def _choose(one: _Candidates, rule: Expansion, best: float, tree: TreeView) -> list[int]:
    """The places of the chosen children, best first; ties go to the smaller node."""
    order = np.lexsort((one.children, -one.value))
    if rule.kind == "margin":
        within = one.value[order] >= best - rule.margin
        within[0] = True
        order = order[within]
    if rule.diversity and len(order) > rule.most:
        return _diversify(order, one, rule, tree.centroids)
    return [int(place) for place in order[: rule.most]]


def _diversify(order: Sequence[int] | Rows, one: _Candidates, rule: Expansion, centroids: Vectors) -> list[int]:
    """Maximal marginal relevance: (1 − λ)·P − λ·(the largest cosine with a chosen sibling)."""
    places = [int(place) for place in order]
    vectors = centroids[one.children[places]].astype(np.float64)
    likeness = np.vecdot(vectors[:, None], vectors[None])  # not a matrix product, whose bits depend on the threads
    chosen = [0]
    while len(chosen) < min(rule.most, len(places)):
        gains = (1.0 - rule.diversity) * one.value[places] - rule.diversity * likeness[:, chosen].max(axis=1)
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
    return [places[place] for place in chosen]
