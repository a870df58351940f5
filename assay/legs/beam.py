"""Beam leg: walks down the tree of a store, scores the chunks of the leaves it reaches, and follows bridges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_number, check_whole
from assay.engine.order import arrange, top
from assay.errors import ConfigError, StoreError
from assay.legs.hierarchy.bridges import Bridged, HopSettings, check_hops, follow_bridges
from assay.legs.hierarchy.node_scores import (
    ROUTERS,
    NodeScores,
    contains,
    score_by_found_rows,
    score_by_nodes,
    score_by_rows,
)
from assay.legs.hierarchy.query_entities import QueryEntities
from assay.legs.hierarchy.row_scores import RowScoreColumns, score_rows
from assay.legs.hierarchy.text_scorers import check_scorer, load_scorer, score_children
from assay.legs.hierarchy.walk import EXPANSIONS, Expansion, Reranker, Walk, walk_down
from assay.legs.hierarchy.weights import COSINE, ENTITY, LEXICAL, ScoreWeights
from assay.protocols import EntitySnapshot, Snapshot, TreeSnapshot, TreeView
from assay.types import Floats, Note, Part, Query, Range, Ranking, Rows
from assay.where import Mask

_ROUNDING = 1e-12
"""More than rounding can lift a score when its parts are added in another order."""


@dataclass(frozen=True, slots=True)
class Beam:
    """score = path · s + (1 − path) · P(leaf),  s = (lexical · BM25/best + cosine · max(0, cos) + entity · share) / Σ

    The walk starts at the root. At each node of the beam the children are scored by the `router`, the best `prefilter`
    of them (0: all) are read by the scorer `rerank` ("": none), whose score gets `rerank_weight`, and some are chosen:
    with expand = "margin" those within `margin` of the best child of the whole level, 1 to `most` for each node; with
    expand = "top" the best `most`. P = path · s + (1 − path) · P of the parent; path = 1 forgets the path. `diversity`
    is λ of maximal marginal relevance among siblings; 0 turns it off. Then every chunk of the leaves is scored.

    router = "maxpool" scores a node by its best chunk. With pool = 0 it reads the scores of all chunks, so it bounds
    what a router can do; otherwise those of the best `pool` chunks by words and by vector, and a node without one of
    them comes after the others. router = "nodes" reads nodes only: the words and entities of their leaves and their
    centroids, or so many `prototypes` where they are more than 0.

    `hops` (0 to 2) follows bridges from the best `hop_seeds` chunks: entities that the query does not name. A chunk
    behind a bridge gets the part `via <entity>` (docs/hierarchy.md).

    `share` is the weighted share of the query's entities that a chunk holds. A query without words or without a vector
    is routed by the rest. Gives unit scores. The trace holds every decision.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"tree"})
    wants: ClassVar[frozenset[str]] = frozenset({"tree", "vector"})
    parallel_weight: ClassVar[int] = 2

    router: Literal["maxpool", "nodes"] = "nodes"
    expand: Literal["margin", "top"] = "margin"
    margin: float = 0.22
    most: int = 8
    prefilter: int = 0
    rerank: str = ""
    rerank_weight: float = 0.5
    path: float = 1.0
    diversity: float = 0.0
    prototypes: int = 0
    pool: int = 0
    hops: int = 0
    hop_seeds: int = 10
    hop_each: int = 2
    hop_keep: float = 0.5
    lexical: float = LEXICAL
    cosine: float = COSINE
    entity: float = ENTITY

    def __post_init__(self) -> None:
        check_choice("beam.router", self.router, ROUTERS)
        check_choice("beam.expand", self.expand, EXPANSIONS)
        check_number("beam.margin", self.margin, 0.0, 1.0)
        check_whole("beam.most", self.most, 1)
        check_whole("beam.prefilter", self.prefilter, 0)
        check_scorer("beam.rerank", self.rerank)
        for name in ("rerank_weight", "path", "diversity", "hop_keep"):
            check_number(f"beam.{name}", getattr(self, name), 0.0, 1.0)
        check_whole("beam.prototypes", self.prototypes, 0)
        check_whole("beam.pool", self.pool, 0)
        check_hops("beam", self.hops, self.hop_seeds, self.hop_each)
        if self.prefilter and self.expand == "top" and self.most > self.prefilter:
            raise ConfigError(
                f"beam.most = {self.most} children cannot be chosen from a prefilter of {self.prefilter}",
                "raise beam.prefilter, or lower beam.most",
            )
        ScoreWeights.make("beam", self.lexical, self.cosine, self.entity)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def prepare(self) -> None:
        """Load the scorer."""
        load_scorer(self.rerank)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        if not isinstance(snapshot, TreeSnapshot):
            raise StoreError("this store says it has a tree, but cannot show it", "use a store in a folder")
        tree = snapshot.tree()
        weights = ScoreWeights.make("beam", self.lexical, self.cosine, self.entity)
        entities = QueryEntities.find(query, snapshot)
        scores = self.score_nodes(query, snapshot, tree, weights, entities)
        reranker, notes = self._open_reranker(query, snapshot, tree, scores)
        walk = walk_down(tree, scores, self.expansion, reranker)
        rows, paths = _rows_of_leaves(tree, scores, walk)
        scored = _score_leaf_rows(query, snapshot, rows, weights, entities, scores)
        value = scored.score if self.path == 1.0 else self.path * scored.score + (1.0 - self.path) * paths
        bridged, hops = self._follow(query, snapshot, entities, rows, value)
        log = {
            "tree": tree.digest,
            "router": self.router,
            "levels": walk.decisions,
            "hops": hops,
            "leaves": walk.leaves,
            "rows": len(rows),
            "of": snapshot.size,
        }
        notes = (*notes, Note("detail", _describe(walk, len(rows), snapshot.size, hops), data={"routing": log}))
        better = _select_better(bridged, rows, value)
        direct = _select(value, ~contains(np.sort([one.row for one in better]), rows), k)
        ranking = _rank(snapshot, scored.take(direct), self._path_parts(paths[direct]), better)
        return top(arrange(ranking), k).noted(*notes)

    @property
    def expansion(self) -> Expansion:
        """How children are chosen."""
        weight = self.rerank_weight if self.rerank else 0.0
        return Expansion(self.expand, self.margin, self.most, self.prefilter, weight, self.path, self.diversity)

    def score_nodes(
        self, query: Query, snapshot: Snapshot, tree: TreeView, weights: ScoreWeights, entities: QueryEntities
    ) -> NodeScores:
        """What the router says of the nodes."""
        if self.router == "nodes":
            return score_by_nodes(query, tree, weights, entities, self.prototypes)
        if self.pool:
            return score_by_found_rows(query, snapshot, tree, weights, entities, self.pool)
        return score_by_rows(query, tree, weights, entities)

    def _open_reranker(
        self, query: Query, snapshot: Snapshot, tree: TreeView, scores: NodeScores
    ) -> tuple[Reranker | None, tuple[Note, ...]]:
        if not self.rerank or not query.text.strip():
            return None, ()
        return score_children(self.rerank, query, snapshot, tree, scores)

    def _path_parts(self, paths: Floats) -> list[Part]:
        """The parts that make P of a chunk from its own score."""
        if self.path == 1.0:
            return []
        return [
            Part("path.keep", "mul", np.full(len(paths), self.path)),
            Part("path", "add", (1.0 - self.path) * paths),
        ]

    def _follow(
        self, query: Query, snapshot: Snapshot, entities: QueryEntities, rows: Rows, value: Floats
    ) -> tuple[list[Bridged], list[dict[str, Any]]]:
        if not self.hops or not isinstance(snapshot, EntitySnapshot) or "graph" not in snapshot.capabilities:
            return [], []
        order = np.lexsort((rows, -value))[: self.hop_seeds]
        best = list(zip(rows[order].tolist(), value[order].tolist(), strict=True))
        settings = HopSettings(self.hops, self.hop_seeds, self.hop_each, self.hop_keep)
        return follow_bridges(query, snapshot, snapshot.entities(), entities, best, settings)


def _rows_of_leaves(tree: TreeView, scores: NodeScores, walk: Walk) -> tuple[Rows, Floats]:
    """The visible rows of the leaves that were reached, ascending, each with the best P of its leaves."""
    below = [scores.rows_below(tree, leaf) for leaf in walk.leaves]
    if not below:
        return np.empty(0, np.int64), np.empty(0)
    rows = np.concatenate(below)
    paths = np.repeat(walk.path_scores, [len(part) for part in below])
    order = np.lexsort((-paths, rows))
    rows, paths = rows[order], paths[order]
    first = np.concatenate([[True], rows[1:] != rows[:-1]])[: len(rows)]
    return rows[first], paths[first]


def _score_leaf_rows(
    query: Query, snapshot: Snapshot, rows: Rows, weights: ScoreWeights, entities: QueryEntities, scores: NodeScores
) -> RowScoreColumns:
    if scores.rows is not None:
        return scores.rows.take(np.searchsorted(scores.rows.rows, rows))
    return score_rows(query, snapshot, rows, weights, entities)


def _select_better(bridged: Sequence[Bridged], rows: Rows, value: Floats) -> list[Bridged]:
    """The bridged chunks that are not among the rows, which ascend, or have a higher score than there."""
    if not bridged or not len(rows):
        return list(bridged)
    wanted = np.array([one.row for one in bridged], np.int64)
    places = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    known = np.where(rows[places] == wanted, value[places], -1.0).tolist()
    return [one for one, score in zip(bridged, known, strict=True) if one.score > score]


def _select(value: Floats, eligible: Mask, k: int) -> Rows:
    """The places of the k highest values that are eligible, and of those that tie with the last."""
    places = np.flatnonzero(eligible)
    if 0 < k < len(places):
        least = np.partition(value[places], len(places) - k)[len(places) - k]
        places = places[value[places] >= least - _ROUNDING]
    return places


def _rank(
    snapshot: Snapshot, scored: RowScoreColumns, path_parts: Sequence[Part], bridged: Sequence[Bridged]
) -> Ranking:
    """One ranking of chunks of leaves and of others behind bridges."""
    rows = np.concatenate([scored.rows, np.array([one.row for one in bridged], np.int64)])
    parts = [_extend(part, len(rows)) for part in (*scored.parts, *path_parts)]
    columns: dict[str, Floats] = {}
    for place, one in enumerate(bridged, len(scored.rows)):
        columns.setdefault(one.entity, np.zeros(len(rows)))[place] = one.score
    parts += [Part(f"via {name}", "add", column) for name, column in sorted(columns.items())]
    return Ranking.of(snapshot.ids(rows), parts, "unit", rows=rows).clamped()


def _extend(part: Part, size: int) -> Part:
    """The same part for more candidates, on which it has no effect."""
    column = np.full(size, {"add": 0.0, "mul": 1.0, "set": np.nan}[part.op])
    column[: len(part.column)] = part.column
    return Part(part.name, part.op, column)


def _describe(walk: Walk, rows: int, size: int, hops: Sequence[dict[str, Any]]) -> str:
    children = [len(one["chosen"]) for one in walk.decisions]
    mean = f"{sum(children) / len(children):.1f}" if children else "no"
    bridges = f", {len(hops)} bridges" if hops else ""
    return f"walked to {len(walk.leaves)} leaves, {mean} children for each node, {rows:,} of {size:,} chunks{bridges}"
