"""Period: a boost for chunks created in the period that the query names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import numbers_of
from assay.engine.order import arrange
from assay.errors import QueryError
from assay.protocols import Snapshot
from assay.text.query.dates import find_dates
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Period:
    """Adds to the score of chunks created in a period of the query: "last week", "in September", "since 3 May".

        score = min(1, score + weight)

    Periods are resolved against `query.at`. It is a boost and no filter: a plan for December may be known since June.
    Needs and gives unit scores; where min applies, there is a part "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    weight: float = 0.1

    def __post_init__(self) -> None:
        check_number("period.weight", self.weight, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not self.weight or not len(ranking):
            return ranking
        try:
            dates = [date for date in find_dates(query.text, query.at) if date.problem is None]
        except QueryError:  # contradictory dates: no period
            return ranking
        created = numbers_of(ranking, snapshot, "created")
        inside = np.zeros(len(ranking), np.bool_)
        for date in dates:
            if date.relation != "as_of":
                since = -np.inf if date.since is None else date.since
                until = np.inf if date.until is None else date.until
                inside |= (created >= since) & (created < until)
        if not inside.any():
            return ranking
        return arrange(ranking.scored(Part("period", "add", np.where(inside, self.weight, 0.0))).clamped())

    def gives(self, scores: Range) -> Range:
        require_unit("period", scores)
        return Range("unit", scores.lo, min(1.0, scores.hi + self.weight))
