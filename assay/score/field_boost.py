"""Field boost: a factor for chunks that satisfy a filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_positive
from assay.engine.facts import matches_of
from assay.engine.order import arrange
from assay.errors import ConfigError, QueryError
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking
from assay.where import parse


@dataclass(frozen=True, slots=True)
class FieldBoost:
    """Multiplies where a filter expression holds.

        score = score · factor    where `where` matches, e.g. where = 'kind = "policy"', factor = 1.2

    A factor below 1 demotes. Takes any scale without negative scores, and keeps it; unit scores are capped at 1;
    where that applies, there is a part "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    where: str
    factor: float = 1.2

    def __post_init__(self) -> None:
        check_number("field_boost.factor", self.factor, 0.0, 1000.0)
        try:
            parse(self.where)
        except QueryError as error:
            raise ConfigError(f"field_boost.where = {self.where!r}: {error.message}", error.cure) from error

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking):
            return ranking
        factor = np.where(matches_of(ranking, snapshot, self.where), self.factor, 1.0)
        return arrange(ranking.scored(Part("field_boost", "mul", factor)).clamped())

    def gives(self, scores: Range) -> Range:
        require_positive("field_boost", scores)
        highest = scores.hi * max(1.0, self.factor)
        return Range(
            scores.scale, scores.lo * min(1.0, self.factor), min(1.0, highest) if scores.scale == "unit" else highest
        )
