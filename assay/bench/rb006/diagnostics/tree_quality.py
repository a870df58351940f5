"""How well a tree can route, without asking a query: siblings that differ, entities they share, what is reachable."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from assay.protocols import TreeView


def measure_tree(tree: TreeView) -> dict[str, Any]:
    """Sibling distinctiveness, entity overlap and coverage, by level of the parent.

    distinctiveness   mean cosine distance between the summaries of siblings; higher is better
    entity_overlap    mean Jaccard of the key entities of siblings; lower is better
    coverage          share of live chunks that a path from the root leads to
    """
    vectors = tree.summary_vectors(np.arange(tree.size)).astype(np.float64)
    inner = np.flatnonzero(tree.child_count > 0)
    levels: dict[int, dict[str, list[float]]] = {}
    for node in inner.tolist():
        children = list(tree.children(node))
        if len(children) < 2:
            continue
        found = levels.setdefault(int(tree.level[node]) + 1, {"distinctiveness": [], "entity_overlap": []})
        cosines = vectors[children] @ vectors[children].T
        upper = np.triu_indices(len(children), 1)
        found["distinctiveness"].append(float(1.0 - cosines[upper].mean()))
        entities = [frozenset(tree.payload(child).entities) for child in children]
        found["entity_overlap"].append(float(np.mean([_jaccard(a, b) for a, b in combinations(entities, 2)])))
    rows = tree.leaf_of_row
    return {
        "nodes": np.bincount(tree.level).tolist(),
        "levels": [
            {
                "level": level,
                "parents": len(found["distinctiveness"]),
                **{name: round(float(np.mean(values)), 4) for name, values in found.items()},
            }
            for level, found in sorted(levels.items())
        ],
        "coverage": float(np.mean(_reaches_root(tree)[rows[rows >= 0]])) if (rows >= 0).any() else None,
        "replication": 1.0 + float((tree.second_leaf_of_row >= 0).mean()) if len(rows) else 1.0,
        "digest": tree.digest,
    }


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def _reaches_root(tree: TreeView) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which nodes lead up to the root."""
    reaches = np.zeros(tree.size, np.bool_)
    if tree.size:
        reaches[0] = True
        for node in range(1, tree.size):  # a parent has a smaller number than its children
            parent = int(tree.parent[node])
            reaches[node] = 0 <= parent < node and reaches[parent] and node in tree.children(parent)
    return reaches
