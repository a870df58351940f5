"""Searches the graph at one version of a store: the base's graph, rows inserted and deleted since, and visible rows.

The graph numbers rows by position, the store by `seq`; this module translates between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from assay.backend.postgres.graph_cache import CachedGraph, GraphCache
from assay.backend.postgres.version_view import VersionView
from assay.backend.shared.filter_cache import FilterCache
from assay.backend.shared.graph_search import search_graph
from assay.backend.shared.graph_view import GraphView
from assay.backend.shared.limits import MOST_TAIL
from assay.backend.shared.top_k import top_k
from assay.errors import StoreBusy
from assay.protocols import Matches, WalkSettings
from assay.types import Ids, Query, Rows
from assay.where import Mask

_SINCE = """
SELECT (SELECT erasures FROM graph),
  (SELECT string_agg(int8send(seq), '') FROM chunk WHERE died > %(base)s AND died <= %(v)s AND seq <= %(last)s),
  (SELECT string_agg(int8send(seq), '' ORDER BY seq) FROM chunk
   WHERE seq > %(last)s AND born <= %(v)s AND (died IS NULL OR died > %(v)s))
"""
"""One statement, so one consistent state."""
_TRIES = 5


@dataclass(frozen=True)
class GraphWalk:
    """What all graph searches of one version share."""

    view: VersionView
    cached: CachedGraph
    deleted: Rows
    tail_live: Mask
    _masks: FilterCache[Mask | None] = field(default_factory=FilterCache)

    @staticmethod
    def open(view: VersionView, graphs: GraphCache, base: int | None) -> GraphWalk:
        """Open the graph of `base`; that of the version itself, where too many rows were inserted since."""
        for _ in range(_TRIES):
            cached = graphs.get(base)
            parameters = {"base": -1 if base is None else base, "last": cached.last, "v": view.version}
            erasures, deleted, inserted = view.read(_SINCE, parameters, binary=True)[0]
            if erasures != cached.erasures:
                continue  # rows were erased between the two reads
            tail = _rows(inserted)
            if len(tail) <= MOST_TAIL or base == view.version:
                return GraphWalk(view, cached, np.sort(cached.rows_of(_rows(deleted))), cached.add_tail_rows(tail))
            base = view.version
        raise StoreBusy(f"{view.store.address}: chunks are being erased", "ask again")

    @cached_property
    def graph(self) -> GraphView:
        cached = self.cached
        return GraphView(
            cached.index, cached.tail, cached.chunks, self.deleted, self.tail_live, self.view.store.analyser.language
        )

    def search(self, query: Query, k: int, walk: WalkSettings) -> Matches:
        """Rows of the store that a walk reaches, best first."""
        seeds = self.cached.rows_of(walk.seeds)
        plan = replace(walk, seeds=seeds[seeds < self.graph.total])
        matches = search_graph(
            self.graph, query, plan, self._allowed(query), lambda rows, score: top_k(rows, score, k, self._names)
        )
        return replace(matches, rows=self.cached.seqs_of(matches.rows))

    def _names(self, rows: Rows) -> Rows | Ids:
        """Rows of the base are in id order, so their numbers break ties as their ids would."""
        if bool((rows < len(self.cached)).all()):
            return rows
        return np.array(self.view.ids(self.cached.seqs_of(rows).tolist()), np.str_)

    def _allowed(self, query: Query) -> Mask | None:
        """The rows a walk may use; None for all."""
        at = self.view.moment(query)
        return self._masks.get(query.where, at, query.scope, lambda: self._visible(query))

    def _visible(self, query: Query) -> Mask | None:
        seen = self.view.visible_rows(query)
        if seen is not None:
            mask = np.zeros(len(self.cached) + len(self.tail_live), np.bool_)
            mask[self.cached.rows_of(seen)] = True
            return mask
        if not len(self.deleted) and bool(self.tail_live.all()):
            return None
        mask = np.concatenate([np.ones(len(self.cached), np.bool_), self.tail_live])
        mask[self.deleted] = False
        return mask


def _rows(packed: bytes | None) -> Rows:
    return np.frombuffer(packed or b"", ">i8").astype(np.int64)
