"""Percentile bootstrap intervals of a mean over queries, plain or two-level.

Plain: n queries are drawn with replacement, `draws` times. Two-level, for queries in groups that share something (a
conversation, a document, a seed): first the groups are drawn with replacement, as many as there are, then the queries
of each drawn group, as many as it has. The value of a draw is the mean over the queries drawn; the interval runs from
the (1 − level)/2 to the (1 + level)/2 quantile of the draws, interpolated linearly.

Draws come from PCG64(seed) and are shared by all rows, so an interval depends on its own row alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.bench.stats.units import Floats, StatisticsError, as_row, as_rows, check_draws, exact_sums, to_units

_CELLS = 1 << 16
"""Queries drawn per block: small enough for the processor's cache, which is four times as fast."""

Groups = Sequence[str] | Sequence[int] | NDArray[np.str_] | NDArray[np.int64]
"""The group of each query."""


class Interval(NamedTuple):
    low: float
    high: float


def bootstrap_ci(
    values: ArrayLike, level: float = 0.95, draws: int = 10_000, seed: int = 0, *, groups: Groups | None = None
) -> Interval:
    """The interval of the mean of one row: scores, or paired differences."""
    low, high = bootstrap_cis(as_row(values), level, draws, seed, groups=groups)[0]
    return Interval(float(low), float(high))


def bootstrap_cis(
    values: ArrayLike, level: float = 0.95, draws: int = 10_000, seed: int = 0, *, groups: Groups | None = None
) -> Floats:
    """[rows, 2]: low and high of every row of [rows, queries], on the same draws."""
    check_draws(draws)
    if not 0.0 < level < 1.0:
        raise StatisticsError(f"a level of {level} is none", "a level lies between 0 and 1: 0.95")
    rows = as_rows(values)
    strata = _group_queries(rows.shape[1], groups)
    units, size = to_units(rows, most=len(strata.sizes) * int(strata.sizes.max()))
    blocks = strata.draw_counts(draws, np.random.Generator(np.random.PCG64(seed)))
    means = np.concatenate([exact_sums(counts, units) / counts.sum(axis=1, keepdims=True) for counts in blocks])
    tail = (1.0 - level) / 2.0
    ends: Floats = np.quantile(means, [tail, 1.0 - tail], axis=0).T * size[:, None]
    return ends


@dataclass(frozen=True, eq=False)
class _QueryGroups:
    """Queries by group: group g has the `sizes[g]` queries from `members[starts[g]]` on."""

    members: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def draw_counts(self, draws: int, random: np.random.Generator) -> Iterator[Floats]:
        """Yield blocks of [draws, queries]: how often each draw contains each query."""
        queries, groups = len(self.members), len(self.sizes)
        step = max(1, _CELLS // queries)
        for start in range(0, draws, step):
            count = min(step, draws - start)
            chosen = random.integers(0, groups, (count, groups)) if groups > 1 else np.zeros((count, 1), np.int64)
            sizes = self.sizes[chosen].ravel()
            first = np.repeat(self.starts[chosen].ravel(), sizes)
            within = (random.random(len(first)) * np.repeat(sizes, sizes)).astype(np.int64)
            query = self.members[first + within]
            draw = np.repeat(np.arange(count), sizes.reshape(count, groups).sum(axis=1))
            flat = np.bincount(draw * queries + query, minlength=count * queries)
            yield flat.reshape(count, queries).astype(np.float64)


def _group_queries(queries: int, groups: Groups | None) -> _QueryGroups:
    """Without groups, all queries form one group."""
    names = np.zeros(queries, np.int64) if groups is None else np.asarray(groups)
    if names.shape != (queries,):
        raise StatisticsError(f"{names.size} groups for {queries} queries", "name one group per query")
    _, code, sizes = np.unique(names, return_inverse=True, return_counts=True)
    return _QueryGroups(np.argsort(code, kind="stable"), np.cumsum(sizes) - sizes, sizes)
