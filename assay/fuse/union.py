"""All candidates of all legs, once each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats, Ids, Ints, Ranking, Rows


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The candidates in no particular order, and for each leg where its own candidates stand among them.

    `priority` and `source_rank` are those of the occurrence with the smallest (priority, source_rank).
    """

    ids: Ids
    rows: Rows | None
    priority: Ints
    source_rank: Ints
    places: Mapping[str, NDArray[np.intp]]

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, leg: str, values: Floats) -> Floats:
        """A leg's values, one per candidate of the union; 0 where the leg did not find it."""
        column = np.zeros(len(self))
        column[self.places[leg]] = values
        return column

    def found_by(self, leg: str) -> NDArray[np.bool_]:
        """Which candidates a leg found; a leg that is not planned found none."""
        found = np.zeros(len(self), np.bool_)
        if leg in self.places:
            found[self.places[leg]] = True
        return found


def unite(rankings: Mapping[str, Ranking]) -> Union:
    """The union of at least one ranking."""
    every = list(rankings.values())
    ids, rows = np.concatenate([r.ids for r in every]), known_rows(every)
    priority = np.concatenate([r.priority for r in every])
    source_rank = np.concatenate([r.source_rank for r in every])
    # Rows are integers and unique per id, so they unite several times faster than texts.
    keys = ids if rows is None else rows
    order = np.lexsort((source_rank, priority, keys))
    ahead = keys[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = ahead[1:] != ahead[:-1]
    place = np.empty(len(keys), np.intp)
    place[order] = np.cumsum(new) - 1
    best = order[new]
    places, start = {}, 0
    for leg, found in rankings.items():
        places[leg] = place[start : start + len(found)]
        start += len(found)
    return Union(
        ids=ids[best],
        rows=None if rows is None else rows[best],
        priority=priority[best],
        source_rank=source_rank[best],
        places=places,
    )


def known_rows(rankings: list[Ranking]) -> Rows | None:
    """All rows, when every leg knows them and each is a row of this view."""
    known = [r.rows for r in rankings if r.rows is not None]
    if len(known) < len(rankings):
        return None
    rows = np.concatenate(known)
    return rows if (rows >= 0).all() else None
