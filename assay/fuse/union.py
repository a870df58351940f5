"""The union of the legs' candidates, each once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats, Ids, Ints, Ranking, Rows


@dataclass(frozen=True, slots=True, eq=False)
class CandidateUnion:
    """The candidates in no particular order, and per leg the positions of its own candidates among them.

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
        """A mask of the candidates that a leg found; all False for a leg that is not planned."""
        mask = np.zeros(len(self), np.bool_)
        if leg in self.places:
            mask[self.places[leg]] = True
        return mask


def unite(rankings: Mapping[str, Ranking]) -> CandidateUnion:
    """Build the union of at least one ranking."""
    all_rankings = list(rankings.values())
    ids, rows = np.concatenate([r.ids for r in all_rankings]), concatenate_rows(all_rankings)
    priority = np.concatenate([r.priority for r in all_rankings])
    source_rank = np.concatenate([r.source_rank for r in all_rankings])
    # Rows are integers, unique per id: sorting them is several times faster than sorting texts.
    keys = ids if rows is None else rows
    order = np.lexsort((source_rank, priority, keys))
    sorted_keys = keys[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = sorted_keys[1:] != sorted_keys[:-1]
    place = np.empty(len(keys), np.intp)
    place[order] = np.cumsum(new) - 1
    best = order[new]
    places, start = {}, 0
    for leg, ranking in rankings.items():
        places[leg] = place[start : start + len(ranking)]
        start += len(ranking)
    return CandidateUnion(
        ids=ids[best],
        rows=None if rows is None else rows[best],
        priority=priority[best],
        source_rank=source_rank[best],
        places=places,
    )


def concatenate_rows(rankings: list[Ranking]) -> Rows | None:
    """All rows; None unless every leg has rows and each is a row of this snapshot."""
    known = [r.rows for r in rankings if r.rows is not None]
    if len(known) < len(rankings):
        return None
    rows = np.concatenate(known)
    return rows if (rows >= 0).all() else None
