"""Describes the tree of a snapshot: its nodes for people, and its quality in numbers.

A node is named by its path: the places of the children, from 1, that lead to it from the root. `2.5` is the fifth child
of the root's second child; the root is `root`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from assay.backend.contract import NO_TREE, StoreBackend, StoreSnapshot, TreeBackend
from assay.errors import QueryError, StoreError
from assay.protocols import TreeSnapshot, TreeView
from assay.types import Floats, NodePayload, Progress, Vectors

ROOT = "root"


def require_tree_backend(backend: StoreBackend) -> TreeBackend:
    """Return the backend as one that has trees; StoreError with the cure otherwise."""
    if not isinstance(backend, TreeBackend):
        raise StoreError(f"{backend.store.address}: {NO_TREE.text}", NO_TREE.cure)
    return backend


def require_tree(snapshot: StoreSnapshot) -> TreeView:
    """Return the tree of a snapshot; StoreError with the cure where it has none."""
    if not isinstance(snapshot, TreeSnapshot):
        raise NO_TREE.as_error(StoreError)
    return snapshot.tree()


def name_node(tree: TreeView, node: int) -> str:
    """Return the path of a node."""
    places: list[str] = []
    while node:
        parent = int(tree.parent[node])
        places.append(str(node - int(tree.first_child[parent]) + 1))
        node = parent
    return ".".join(reversed(places)) or ROOT


def find_node(tree: TreeView, path: str) -> int:
    """Return the node of a path; QueryError with what there is where it leads nowhere."""
    node = 0
    if not tree.size:
        raise QueryError("the tree is empty: the store has no chunks", "add some: assay add FOLDER")
    for place in [] if path in (ROOT, "") else path.split("."):
        children = tree.children(node)
        if not place.isdecimal() or not 1 <= int(place) <= len(children):
            below = f"{name_node(tree, node)} has {len(children)} children" if len(children) else "that is a leaf"
            raise QueryError(f"no node {path!r}: {below}", "see the paths: assay tree show")
        node = children[int(place) - 1]
    return node


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node for people: its path, its level, its children and what it says."""

    path: str
    level: int
    children: int
    payload: NodePayload

    def to_json(self, ids: list[str]) -> dict[str, Any]:
        """`ids` are those of the chunks that the summary's sentences come from."""
        data = {"path": self.path, "level": self.level, "children": self.children, **asdict(self.payload)}
        data["summary"] = [{"id": name, "text": one.text} for name, one in zip(ids, self.payload.summary, strict=True)]
        return data


def describe_nodes(tree: TreeView, node: int, depth: int) -> Iterator[NodeReport]:
    """Yield a node and those below it down to `depth` levels, parents before children."""
    payload = tree.payload(node)
    yield NodeReport(name_node(tree, node), int(tree.level[node]), len(tree.children(node)), payload)
    if depth > 0:
        for child in tree.children(node):
            yield from describe_nodes(tree, child, depth - 1)


@dataclass(frozen=True, slots=True)
class LevelStats:
    """One level: its nodes, the chunks below each, and how much siblings differ.

    distance           mean cosine distance of two siblings' centroids, and of the vectors of their summaries
    entity_overlap     mean Jaccard similarity of two siblings' key entities
    contributing       mean share of a node's children whose chunks are in its summary; None for leaves
    """

    level: int
    nodes: int
    chunks: tuple[int, float, int]
    centroid_distance: float | None
    summary_distance: float | None
    entity_overlap: float | None
    contributing: float | None


@dataclass(frozen=True, slots=True)
class TreeStats:
    """A tree in numbers: `coverage` is the share of live chunks that have a leaf, `replication` the mean number of
    leaves of a chunk, `over_cap` the leaves that new chunks have filled beyond the cap."""

    digest: str
    nodes: int
    leaves: int
    chunks: int
    coverage: float
    replication: float
    over_cap: int
    levels: tuple[LevelStats, ...]
    settings: dict[str, Any]


def collect_tree_stats(
    backend: StoreBackend, snapshot: StoreSnapshot, progress: Progress = lambda *_: None
) -> TreeStats:
    """Count the tree of a snapshot."""
    settings = require_tree_backend(backend).tree_settings
    tree = require_tree(snapshot)
    placed = int(np.count_nonzero(tree.leaf_of_row >= 0))
    twice = int(np.count_nonzero(tree.second_leaf_of_row >= 0))
    sizes = np.bincount(tree.leaf_of_row[tree.leaf_of_row >= 0], minlength=tree.size)
    entities = []
    for node in range(tree.size):
        entities.append(frozenset(tree.payload(node).entities))
        progress("reading nodes", node + 1, tree.size)
    levels = range(tree.depth + 1) if tree.size else range(0)
    return TreeStats(
        digest=tree.digest,
        nodes=tree.size,
        leaves=int(np.count_nonzero(tree.child_count == 0)),
        chunks=placed,
        coverage=placed / snapshot.size if snapshot.size else 1.0,
        replication=(placed + twice) / placed if placed else 1.0,
        over_cap=int(np.count_nonzero(sizes > settings.leaf_cap)),
        levels=tuple(_count_level(tree, level, entities) for level in levels),
        settings=asdict(settings),
    )


def _count_level(tree: TreeView, level: int, entities: list[frozenset[str]]) -> LevelStats:
    nodes = np.flatnonzero(tree.level == level)
    counts = np.array([len(tree.rows(node)) for node in nodes.tolist()])
    parents = [int(parent) for parent in np.unique(tree.parent[nodes]) if parent >= 0]
    families = [list(tree.children(parent)) for parent in parents]
    inner = [node for node in nodes.tolist() if len(tree.children(node))]
    return LevelStats(
        level,
        len(nodes),
        (int(counts.min()), float(counts.mean()), int(counts.max())),
        _mean([mean_distance(tree.centroids[family]) for family in families]),
        _mean([mean_distance(tree.summary_vectors(np.array(family))) for family in families]),
        _mean([mean_jaccard([entities[node] for node in family]) for family in families]),
        _mean([_contributing_share(tree, node) for node in inner]),
    )


def mean_distance(vectors: Vectors) -> float | None:
    """Return the mean of 1 − cosine over pairs of vectors; None for fewer than two. Zero vectors are left out."""
    vectors = vectors[vectors.any(axis=1)] if vectors.shape[1] else vectors[:0]
    count = len(vectors)
    if count < 2:
        return None
    cosines: Floats = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    return float(1.0 - (cosines.sum() - np.trace(cosines)) / (count * (count - 1)))


def mean_jaccard(sets: list[frozenset[str]]) -> float | None:
    """Return the mean Jaccard similarity of pairs of sets; None for fewer than two. Two empty sets do not overlap."""
    pairs = [(one, other) for place, one in enumerate(sets) for other in sets[place + 1 :]]
    return _mean([len(one & other) / max(len(one | other), 1) for one, other in pairs])


def _contributing_share(tree: TreeView, node: int) -> float:
    """Return the share of children that hold a chunk of the node's summary."""
    children = tree.children(node)
    leaves = tree.leaf_of_row[[one.row for one in tree.payload(node).summary]]
    ancestors = {_ancestor(tree, int(leaf), int(tree.level[node]) + 1) for leaf in leaves}
    return len(ancestors & set(children)) / len(children)


def _ancestor(tree: TreeView, node: int, level: int) -> int:
    while tree.level[node] > level:
        node = int(tree.parent[node])
    return node


def _mean(values: list[float] | list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
