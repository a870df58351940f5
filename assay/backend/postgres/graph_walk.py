"""Walks over one version of a store: the graph of its base, what was born and died since, and who may be seen.

The graph counts rows by their place in it, the store by `seq`; here one becomes the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from assay.backend.postgres.graph_cache import CachedGraph, GraphCache
from assay.backend.postgres.version_view import VersionView
from assay.backend.shared.best_rows import best
from assay.backend.shared.filter_cache import FilterCache
from assay.backend.shared.graph_search import reached
from assay.backend.shared.graph_view import GraphView
from assay.backend.shared.limits import MOST_TAIL
from assay.errors import StoreBusy
from assay.protocols import Found, Walk
from assay.types import Ids, Query, Rows
from assay.where import Mask

_SINCE = """
SELECT (SELECT erasures FROM graph),
  (SELECT string_agg(int8send(seq), '') FROM chunk WHERE died > %(base)s AND died <= %(v)s AND seq <= %(last)s),
  (SELECT string_agg(int8send(seq), '' ORDER BY seq) FROM chunk
   WHERE seq > %(last)s AND born <= %(v)s AND (died IS NULL OR died > %(v)s))
"""
"""One statement, so one moment."""
_TRIES = 5


@dataclass(frozen=True)
class GraphWalk:
    """What walks over one version share."""

    view: VersionView
    held: CachedGraph
    dead: Rows
    tail_live: Mask
    _masks: FilterCache[Mask | None] = field(default_factory=FilterCache)

    @staticmethod
    def over(view: VersionView, graphs: GraphCache, base: int | None) -> GraphWalk:
        """The graph that is about `base`; about the version itself, where too much was born since."""
        for _ in range(_TRIES):
            held = graphs.get(base)
            given = {"base": -1 if base is None else base, "last": held.last, "v": view.version}
            erasures, died, born = view.read(_SINCE, given, binary=True)[0]
            if erasures != held.erasures:
                continue  # rows were erased between our two looks
            fresh = _rows(born)
            if len(fresh) <= MOST_TAIL or base == view.version:
                return GraphWalk(view, held, np.sort(held.rows_of(_rows(died))), held.take_in(fresh))
            base = view.version
        raise StoreBusy(f"{view.store.address}: chunks are being erased", "ask again")

    @cached_property
    def graph(self) -> GraphView:
        held = self.held
        return GraphView(
            held.index, held.tail, held.chunks, self.dead, self.tail_live, self.view.store.analyser.language
        )

    def found(self, query: Query, k: int, walk: Walk) -> Found:
        """Rows of the store that a walk reaches, best first."""
        seeds = self.held.rows_of(walk.seeds)
        plan = replace(walk, seeds=seeds[seeds < self.graph.total])
        found = reached(
            self.graph, query, plan, self._allowed(query), lambda rows, score: best(rows, score, k, self._names)
        )
        return replace(found, rows=self.held.seqs_of(found.rows))

    def _names(self, rows: Rows) -> Rows | Ids:
        """Rows of the base stand in id order, so their numbers break ties as their ids would."""
        if bool((rows < len(self.held)).all()):
            return rows
        return np.array(self.view.ids(self.held.seqs_of(rows).tolist()), np.str_)

    def _allowed(self, query: Query) -> Mask | None:
        """Which rows a walk may go over; None for all."""
        at = self.view.moment(query)
        return self._masks.get(query.where, at, query.scope, lambda: self._visible(query))

    def _visible(self, query: Query) -> Mask | None:
        seen = self.view.rows_seen(query)
        if seen is not None:
            mask = np.zeros(len(self.held) + len(self.tail_live), np.bool_)
            mask[self.held.rows_of(seen)] = True
            return mask
        if not len(self.dead) and bool(self.tail_live.all()):
            return None
        mask = np.concatenate([np.ones(len(self.held), np.bool_), self.tail_live])
        mask[self.dead] = False
        return mask


def _rows(packed: bytes | None) -> Rows:
    return np.frombuffer(packed or b"", ">i8").astype(np.int64)
