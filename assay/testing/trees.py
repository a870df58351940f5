"""The contract of a snapshot's tree: every live row in it, bounds that hold, scores as a search gives them."""

from __future__ import annotations

from typing import cast

import numpy as np

from assay.errors import LawBroken
from assay.protocols import Snapshot, StoreView, TreeSnapshot, TreeView
from assay.types import Query, fold


def compare_tree(snapshot: Snapshot, queries: list[Query], where: str) -> None:
    """Check the tree of a snapshot against its own rows and searches."""
    tree = cast(TreeSnapshot, snapshot).tree()
    live = np.sort(cast(StoreView, snapshot).live_rows(None))
    if not tree.size:
        _expect(len(live) == 0, f"{where}: the tree is empty, the store is not")
        return
    _expect(np.array_equal(tree.rows(0), live), f"{where}: the root does not hold every live row")
    _expect(np.array_equal(np.flatnonzero(tree.leaf_of_row >= 0), live), f"{where}: a live row has no leaf")
    for node in range(tree.size):
        _check_node(snapshot, tree, node, f"{where}: node {node}")
    for query in queries:
        _check_query(snapshot, tree, query, f"{where}, {query.text!r}")


def _check_node(snapshot: Snapshot, tree: TreeView, node: int, where: str) -> None:
    rows = tree.rows(node)
    children = tree.children(node)
    if len(children):
        below = np.unique(np.concatenate([tree.rows(child) for child in children]))
        _expect(np.array_equal(rows, below), f"{where} does not hold what its children hold")
    payload = tree.payload(node)
    _expect(payload.chunks == len(rows), f"{where} counts other chunks than it holds")
    texts = {int(row): " ".join(chunk.text.split()) for row, chunk in zip(rows, snapshot.chunks(rows), strict=True)}
    for one in payload.summary:
        _expect(one.text in texts.get(one.row, ""), f"{where} quotes a text that none of its live chunks says")
    whole = "\n".join(chunk.indexed_text for chunk in snapshot.chunks(rows))
    for word in payload.keywords:
        _expect(word in whole, f"{where} has a keyword that none of its live chunks holds")
    owners, chosen, vectors = tree.prototypes(np.array([node]))
    _expect(
        len(owners) == len(vectors) and bool(np.isin(chosen, rows).all()), f"{where} has a prototype it does not hold"
    )


def _check_query(snapshot: Snapshot, tree: TreeView, query: Query, where: str) -> None:
    scores = tree.row_scores(query)
    _expect(np.array_equal(scores.rows, np.flatnonzero(tree.visible(query))), f"{where}: rows are not the visible ones")
    found = snapshot.lexical(query, snapshot.size + 1)
    wanted = dict(zip(found.rows.tolist(), fold(found.parts, len(found.rows)).tolist(), strict=True))
    given = dict(zip(scores.rows.tolist(), scores.bm25.tolist(), strict=True))
    _expect({row: score for row, score in given.items() if score} == wanted, f"{where}: scores differ from a search")
    bounds = tree.impacts(np.arange(tree.size), query).sum(axis=1)
    for node in range(tree.size):
        best = max((wanted.get(row, 0.0) for row in tree.rows(node).tolist()), default=0.0)
        _expect(best <= bounds[node], f"{where}: a row below node {node} exceeds its bound")


def _expect(holds: bool, complaint: str) -> None:
    if not holds:
        raise LawBroken(complaint)
