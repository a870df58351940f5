"""The walk down the tree: at each node of the beam some children are chosen; every choice is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    path: float
    children: Rows
    value: Floats
    scores: dict[str, list[float]]


def walk_down(tree: TreeView, scores: NodeScores, rule: Expansion, rerank: Reranker | None = None) -> Walk:
    """Go from the root to the leaves. A node whose score is −∞ is never entered."""
    beam: dict[int, float] = {}
    if tree.size and np.isfinite(root := float(scores.read(np.zeros(1, np.int64))[0][0])):
        beam[0] = root
    decisions: list[dict[str, Any]] = []
    for level in range(1, tree.depth + 1):
        candidates = _list_candidates(tree, scores, rule, beam)
        if rerank is not None and rule.rerank and candidates:
            _rerank(candidates, rule, rerank)
        if rule.path < 1.0:
            _add_path(candidates, rule)
        best = max((float(one.value.max()) for one in candidates), default=0.0)
        beam = {}
        for one in candidates:
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


def _list_candidates(
    tree: TreeView, scores: NodeScores, rule: Expansion, beam: Mapping[int, float]
) -> list[_Candidates]:
    """The children of every node of the beam that pass the prefilter, with the router's scores, read at once."""
    families = [np.array(tree.children(node), np.int64) for node in beam]
    every = np.concatenate([np.empty(0, np.int64), *families])
    values, columns = scores.read(every)
    found, start = [], 0
    for (node, path), children in zip(beam.items(), families, strict=True):
        places = np.arange(start, start + len(children))
        start += len(children)
        places = places[np.isfinite(values[places])]
        if 0 < rule.prefilter < len(places):
            places = np.sort(places[np.lexsort((every[places], -values[places]))[: rule.prefilter]])
        seen = {name: column[places].tolist() for name, column in columns.items()}
        found.append(_Candidates(node, path, every[places], values[places], seen))
    return found


def _rerank(candidates: Sequence[_Candidates], rule: Expansion, rerank: Reranker) -> None:
    """Add the reranker's scores; it reads the nodes of a whole level at once."""
    read = rerank(np.concatenate([one.children for one in candidates]))
    for one, part in zip(
        candidates, np.split(read, np.cumsum([len(one.children) for one in candidates])[:-1]), strict=True
    ):
        one.value = (1.0 - rule.rerank) * one.value + rule.rerank * part
        one.scores["rerank"] = part.tolist()


def _add_path(candidates: Sequence[_Candidates], rule: Expansion) -> None:
    for one in candidates:
        one.value = rule.path * one.value + (1.0 - rule.path) * one.path
        one.scores["path"] = one.value.tolist()


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
