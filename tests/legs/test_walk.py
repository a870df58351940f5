"""The walk down a hand-made tree: margin, top, prefilter, path memory, rerank, diversity, hidden nodes."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from assay.legs.hierarchy.node_scores import HIDDEN, NodeScores, lift_maxima
from assay.legs.hierarchy.walk import Expansion, Walk, walk_down

#            0
#       1         2          level 1
#     3 4 5     6 7 8        level 2, leaves
PARENT = np.array([-1, 0, 0, 1, 1, 1, 2, 2, 2], np.int32)


@dataclass
class HandTree:
    """The part of a TreeView that the walk reads."""

    parent: np.ndarray = field(default_factory=lambda: PARENT)
    level: np.ndarray = field(default_factory=lambda: np.array([0, 1, 1, 2, 2, 2, 2, 2, 2], np.int32))
    first_child: np.ndarray = field(default_factory=lambda: np.array([1, 3, 6, -1, -1, -1, -1, -1, -1], np.int32))
    child_count: np.ndarray = field(default_factory=lambda: np.array([2, 3, 3, 0, 0, 0, 0, 0, 0], np.int32))
    centroids: np.ndarray = field(default_factory=lambda: np.eye(9, 4, dtype=np.float32))
    size: int = 9
    depth: int = 2

    def children(self, node: int) -> range:
        first = int(self.first_child[node])
        return range(first, first + int(self.child_count[node]))


SCORES = [0.9, 0.9, 0.6, 0.9, 0.7, 0.2, 0.6, 0.55, 0.1]


def walk(rule: Expansion, scores: list[float] = SCORES, tree: HandTree | None = None, **more: object) -> Walk:
    column = np.array(scores)
    return walk_down(tree or HandTree(), NodeScores(column, "own"), rule, **more)  # type: ignore[arg-type]


def test_margin_is_counted_from_the_best_child_of_the_level() -> None:
    done = walk(Expansion("margin", 0.35, 8))
    assert [(d["level"], d["node"], d["chosen"]) for d in done.decisions] == [
        (1, 0, [1, 2]),
        (2, 1, [3, 4]),
        (2, 2, [6, 7]),  # 0.6 and 0.55 are within 0.35 of 0.9, which is a child of the other node
    ]
    assert walk(Expansion("margin", 0.1, 8)).leaves == [3]
    # A node of the beam keeps its best child however far it is behind.
    assert walk(Expansion("margin", 0.31, 8), [0.9, 0.9, 0.6, 0.9, 0.5, 0.2, 0.3, 0.25, 0.1]).leaves == [3, 6]


def test_most_bounds_the_children_of_each_node() -> None:
    assert walk(Expansion("margin", 1.0, 1)).leaves == [3]
    assert walk(Expansion("margin", 1.0, 2)).leaves == [3, 4, 6, 7]
    assert walk(Expansion("top", 0.0, 2)).leaves == [3, 4, 6, 7]
    assert walk(Expansion("margin", 1.0, 16)).leaves == [3, 4, 5, 6, 7, 8]


def test_prefilter_leaves_only_the_best_as_candidates() -> None:
    done = walk(Expansion("top", 0.0, 2, prefilter=2))
    assert [d["children"] for d in done.decisions] == [[1, 2], [3, 4], [6, 7]]


def test_path_score_by_hand() -> None:
    # P(1) = .5·.9 + .5·.9 = .9, P(2) = .5·.6 + .5·.9 = .75, P(6) = .5·.6 + .5·.75 = .675
    done = walk(Expansion("top", 0.0, 1, path=0.5))
    assert done.path_scores.tolist() == pytest.approx([0.9])
    wide = walk(Expansion("top", 0.0, 2, path=0.5))
    assert dict(zip(wide.leaves, wide.path_scores.tolist(), strict=True)) == pytest.approx(
        {3: 0.9, 4: 0.8, 6: 0.675, 7: 0.65}
    )
    assert wide.decisions[2]["scores"]["path"] == pytest.approx([0.675, 0.65, 0.425])


def test_rerank_gets_its_weight_and_is_on_the_record() -> None:
    liked = {1: 0.0, 2: 1.0, 6: 0.0, 7: 0.0, 8: 1.0}
    read = lambda nodes: np.array([liked[int(node)] for node in nodes])  # noqa: E731
    done = walk(Expansion("top", 0.0, 1, rerank=0.5), rerank=read)
    # level 1: .5·.9 + 0 = .45 against .5·.6 + .5 = .8;  level 2: .3, .275, .55
    assert done.leaves == [8]
    assert done.decisions[0]["scores"]["rerank"] == [0.0, 1.0]
    assert done.path_scores.tolist() == pytest.approx([0.55])


def test_diversity_prefers_a_sibling_that_points_elsewhere() -> None:
    tree = HandTree()
    tree.centroids = np.zeros((9, 2), np.float32)
    tree.centroids[[3, 4]] = [1.0, 0.0]
    tree.centroids[5] = [0.0, 1.0]
    scores = [0.9, 0.9, 0.1, 0.9, 0.85, 0.8, 0.1, 0.1, 0.1]
    assert walk(Expansion("top", 0.0, 2), scores, tree).leaves[:2] == [3, 4]
    # .5·.85 − .5·1 = −.075 for node 4, .5·.8 − 0 = .4 for node 5
    assert walk(Expansion("top", 0.0, 2, diversity=0.5), scores, tree).leaves[:2] == [3, 5]


def test_hidden_nodes_are_no_candidates() -> None:
    done = walk(Expansion("margin", 1.0, 8), [0.9, HIDDEN, 0.6, HIDDEN, HIDDEN, HIDDEN, 0.6, HIDDEN, 0.1])
    assert [d["children"] for d in done.decisions] == [[2], [6, 8]]
    assert walk(Expansion("margin", 1.0, 8), [HIDDEN] * 9).leaves == []


def test_maxima_are_lifted() -> None:
    scores = np.array([HIDDEN] * 3 + [0.1, 0.5, 0.2, 0.3, 0.1, 0.1])
    assert lift_maxima(scores, HandTree()).tolist()[:3] == [0.5, 0.5, 0.3]  # type: ignore[arg-type]
