"""What the walk of one query did, from the log of the leg `beam`: compact JSON that is kept for every query.

levels   for each level: was a correct node in the beam above it, what was missed (metrics/routing.py), the share of
         correct children among the best M before rerank, and the margin of the best correct over the best other child
hops     for each hop: was the evidence before it found, the share of its groups that no bridge led to
nodes    (level, node, correct children missed) of every expanded node that evidence lies below
links    what the cross-links did: is evidence outside of the first branch, did a bridge lead to it
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from assay.bench.metrics.routing import list_ancestors, measure_hops, measure_levels, measure_survival
from assay.engine.trace import Span
from assay.protocols import Snapshot, TreeView
from assay.types import Rows

PREFILTER = 3
"""M of Child Recall@M: the children that the specification's prefilter keeps."""
Groups = Mapping[int, Mapping[int, Collection[int]]]
"""hop → group → rows of evidence."""


def find_log(trace: Sequence[Span]) -> dict[str, Any] | None:
    """The routing log of a walk on the trace; None where no leg walked."""
    for span in trace:
        for note in span.notes:
            log = (note.data or {}).get("routing")
            if log and "levels" in log:
                found: dict[str, Any] = log
                return found
    return None


def measure_routing(log: Mapping[str, Any], groups: Groups, tree: TreeView, snapshot: Snapshot) -> dict[str, Any]:
    """Measure a walk against the rows of evidence."""
    parent = tree.parent.tolist()
    first = [_list_paths(tree, parent, rows) for rows in groups.get(1, {}).values()]
    outcomes = measure_levels(log, first, tree.depth)
    correct = frozenset().union(*first) if first else frozenset()
    reached = _rows_below(tree, log["leaves"])
    names = {hop: [_names(snapshot, rows) for rows in by_group.values()] for hop, by_group in groups.items()}
    hops = measure_hops(log, _names(snapshot, reached), names)
    return {
        "levels": [
            {**asdict(one), "children": list(one.children), **_measure_children(log, one.level, correct, tree)}
            for one in outcomes
        ],
        "hops": [asdict(hop) for hop in hops],
        "survival": measure_survival(outcomes, hops),
        "nodes": _list_nodes(log, correct),
        "links": _measure_links(log, groups, tree, parent, snapshot),
        "scanned": log["rows"],
    }


def _list_paths(tree: TreeView, parent: Sequence[int], rows: Collection[int]) -> frozenset[int]:
    """The nodes that lead to any of these rows, by either leaf."""
    places = np.array(sorted(rows), np.int64)
    leaves = np.concatenate([tree.leaf_of_row[places], tree.second_leaf_of_row[places]])
    return list_ancestors(parent, leaves[leaves >= 0].tolist())


def _rows_below(tree: TreeView, leaves: Sequence[int]) -> Rows:
    return np.concatenate([tree.rows(leaf) for leaf in leaves]) if leaves else np.empty(0, np.int64)


def _names(snapshot: Snapshot, rows: Collection[int] | Rows) -> list[str]:
    names: list[str] = snapshot.ids(np.array(sorted(int(row) for row in rows), np.int64)).tolist()
    return names


def _measure_children(
    log: Mapping[str, Any], level: int, correct: frozenset[int], tree: TreeView
) -> dict[str, float | None]:
    """Child Recall@M and the routing margin, each the mean over the expanded nodes that evidence lies below."""
    recalls, margins = [], []
    for decision in log["levels"]:
        if decision["level"] != level or decision["node"] not in correct:
            continue
        children = decision["children"]
        wanted = correct.intersection(tree.children(decision["node"]))
        before, final = _read_scores(decision["scores"])
        order = sorted(range(len(children)), key=lambda place: (-before[place], children[place]))[:PREFILTER]
        recalls.append(len(wanted.intersection(children[place] for place in order)) / len(wanted))
        right = [score for child, score in zip(children, final, strict=True) if child in correct]
        wrong = [score for child, score in zip(children, final, strict=True) if child not in correct]
        if right and wrong:
            margins.append(max(right) - max(wrong))
    return {"child_recall": _mean(recalls), "margin": _mean(margins)}


def _read_scores(scores: Mapping[str, Sequence[float]]) -> tuple[list[float], list[float]]:
    """The router's score of each child (the sum of its scorers), and the score that decided."""
    routed = [column for name, column in scores.items() if name not in ("rerank", "path")]
    before = [float(sum(values)) for values in zip(*routed, strict=True)]
    final = scores.get("path") or scores.get("rerank") or before
    return before, list(final)


def _list_nodes(log: Mapping[str, Any], correct: frozenset[int]) -> list[list[int]]:
    """(level, node, 1 if no chosen child is correct) of every expanded node that evidence lies below."""
    return [
        [decision["level"], decision["node"], int(correct.isdisjoint(decision["chosen"]))]
        for decision in log["levels"]
        if decision["node"] in correct
    ]


def _measure_links(
    log: Mapping[str, Any], groups: Groups, tree: TreeView, parent: Sequence[int], snapshot: Snapshot
) -> dict[str, Any]:
    """Whether evidence lies outside of the first branch, and whether one hop led to some of it.

    The first branch is the child of the root that was chosen first. `bridged` are the chunks behind the bridges.
    """
    root = next((decision for decision in log["levels"] if decision["level"] == 1 and decision["chosen"]), None)
    primary = root["chosen"][0] if root else -1
    rows = {int(row) for by_group in groups.values() for evidence in by_group.values() for row in evidence}
    outside = {row for row in rows if primary not in _list_paths(tree, parent, [row])}
    one_hop = {name for hop in log["hops"] if hop["hop"] == 1 for name in hop["chosen"]}
    return {
        "outside": bool(outside),
        "reached": not one_hop.isdisjoint(_names(snapshot, outside)),
        "bridged": sorted({name for hop in log["hops"] for name in hop["chosen"]}),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
