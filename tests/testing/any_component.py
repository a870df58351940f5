"""Components that do right until a given function changes what they return."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.order import arrange
from assay.fuse.rrf import Rrf
from assay.types import Part, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
Change = Callable[[Ranking], Ranking]


@dataclass(frozen=True)
class AnyFuser:
    """RRF, then a change."""

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True
    change: Change

    def fuse(self, query, rankings, snapshot):
        return self.change(Rrf().fuse(query, rankings, snapshot))

    def gives(self, legs):
        return UNIT


@dataclass(frozen=True)
class AnyStage:
    needs: ClassVar[frozenset[str]] = frozenset()
    change: Change

    def apply(self, query, ranking, snapshot):
        return self.change(ranking)

    def gives(self, given):
        return given


@dataclass(frozen=True)
class AnySelector:
    needs: ClassVar[frozenset[str]] = frozenset()
    change: Change

    def select(self, query, ranking, snapshot):
        return self.change(ranking)

    def gives(self, given):
        return given


@dataclass(frozen=True)
class AnyLeg:
    needs: ClassVar[frozenset[str]] = frozenset({"lexical"})
    change: Change

    def find(self, query, snapshot, k, seeds=None):
        found = snapshot.lexical(query, k)
        size = len(found.rows)
        rank = np.arange(1, size + 1, dtype=np.int32)
        ids = snapshot.ids(found.rows) if size else []
        score = Part("normalise", "mul", np.full(size, 1 / found.ideal if found.ideal else 0.0))
        ranking = Ranking.of(ids, (*found.parts, score), "unit", rows=found.rows, source_rank=rank)
        return self.change(arrange(ranking))

    def gives(self):
        return UNIT


def same(ranking):
    return ranking
