"""Nearest eligible rows of an index with inverted lists: reads the lists that can hold them, in the cheaper way.

1. Count the eligible rows of every list.
2. Read the lists that a search without a filter would read, without those that hold no eligible row.
3. Predict from the k-th best score how many better rows the other lists hold (`list_spread`). Read the most promising
   ones, until fewer than a calibrated share of k is expected to be missed.

A list is read by scoring its eligible rows exactly, or, where many of its rows are eligible, by its codes and a
selector. Codes cannot tell apart rows with nearly the same score: while too many of the best come from the end of
FAISS's proposal, more are fetched, and in the end the rows are scored.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.index.list_spread import ListSpread, expected_above
from assay.types import Rows, Vector
from assay.where import Mask

FILTERS = "vectors.filters.json"
"""The calibrated share of misses, with the recall that it reached."""
ROW_COST = 12
"""Scoring a row takes as long as scanning so many codes."""
_WAVE = 0.5
"""A further wave aims at this share of the misses that are permitted, so that it is seldom followed by another."""
_END = 0.25
_FETCHES = ((1, 0.08), (4, 0.02))
"""How many times the usual candidates codes propose, and the largest share of the best that may stand in the last
quarter of them: if there are more, codes do not order these rows, and others as good are behind the end."""
_RECENT = 4
"""Filters whose rows are remembered."""

Scored = tuple[Rows, Vector]
"""Rows with their scores in float32."""


class FilterRows:
    """The rows that one filter leaves, with the number of them in each list."""

    def __init__(self, allowed: Mask) -> None:
        self.allowed = allowed
        self.count = int(np.count_nonzero(allowed))
        self._counts: Rows | None = None
        self._lists: NDArray[np.int32] | None = None

    @cached_property
    def rows(self) -> Rows:
        return np.flatnonzero(self.allowed)

    def count_by_list(self, spread: ListSpread) -> Rows:
        """How many of the rows each list has."""
        if self._counts is None:
            self._counts = spread.count_rows(self.allowed, self.count)
        return self._counts

    def rows_of(self, lists: Rows, spread: ListSpread) -> Rows:
        """The rows that stand in these lists."""
        if self._lists is None:
            self._lists = spread.lists[self.rows]
        wanted = np.zeros(len(spread.sizes), np.bool_)
        wanted[lists] = True
        return self.rows[wanted[self._lists]]


class RecentFilters:
    """The rows of the last filters; a filter is known by its mask, which its snapshot keeps."""

    def __init__(self) -> None:
        self._known: tuple[tuple[weakref.ref[Mask], FilterRows], ...] = ()

    def get(self, mask: Mask, make: Callable[[], FilterRows]) -> FilterRows:
        for reference, rows in self._known:
            if reference() is mask:
                return rows
        made = make()
        self._known = ((weakref.ref(mask), made), *self._known[: _RECENT - 1])
        return made


class ListReader(Protocol):
    """What the search needs of an index."""

    def score(self, query: Vector, rows: Rows) -> Vector:
        """The scores of these rows in float32."""

    def scan(self, query: Vector, lists: Rows, fetch: int, allowed: Mask) -> Rows:
        """At most `fetch` allowed rows of these lists, the best by their codes first."""


@dataclass(frozen=True, slots=True)
class FilteredSearch:
    """Finds the best rows of a filter. `probes` is what a search without a filter reads, `missed` the share of k that
    may be missed, by expectation, and `overfetch` the rows that codes propose for each wanted one."""

    reader: ListReader
    spread: ListSpread
    probes: int
    overfetch: float
    missed: float

    def nearest(self, query: Vector, k: int, eligible: FilterRows) -> Scored:
        """Return rows with their scores, among them the k best that were found; never fewer than k of them."""
        counts = eligible.count_by_list(self.spread)
        mean, deviation = self.spread.expect(query)
        unread = counts > 0
        wave = self._first_wave(k, counts, mean)
        rows, scores, worst = np.empty(0, np.int64), np.empty(0, np.float32), -np.inf
        while True:
            unread[wave] = False
            more_rows, more_scores = self._read(query, wave, k, eligible, worst)
            rows, scores = np.concatenate([rows, more_rows]), np.concatenate([scores, more_scores])
            worst = _kth_best(scores, k)
            left = np.flatnonzero(unread)
            better = expected_above(worst, counts[left], mean[left], deviation[left])
            if float(better.sum()) <= self.missed * k:
                return rows, scores
            order = np.argsort(-better, kind="stable")
            behind = better.sum() - np.cumsum(better[order])
            wave = left[order[: int(np.count_nonzero(behind > _WAVE * self.missed * k)) + 1]]

    def _first_wave(self, k: int, counts: Rows, mean: Vector) -> Rows:
        """The nearest lists, and further ones until they have k eligible rows."""
        order = np.argsort(-mean, kind="stable")
        enough = int(np.searchsorted(np.cumsum(counts[order]), k)) + 1
        near = order[: max(self.probes, enough)]
        return near[counts[near] > 0]

    def _read(self, query: Vector, lists: Rows, k: int, eligible: FilterRows, worst: float) -> Scored:
        """The k best rows of these lists, or all where they are fewer; those below `worst` do not matter."""
        held = int(eligible.count_by_list(self.spread)[lists].sum())
        codes = int(self.spread.sizes[lists].sum())
        for times, late in _FETCHES:
            fetch = int(times * self.overfetch * k)
            if codes + ROW_COST * fetch >= ROW_COST * held:
                break
            rows = self.reader.scan(query, lists, fetch, eligible.allowed)
            scores = self.reader.score(query, rows)
            end = scores[len(scores) - int(_END * len(scores)) :]
            if np.count_nonzero(end >= max(worst, _kth_best(scores, k))) <= late * k:
                return rows, scores
        rows = eligible.rows_of(lists, self.spread)
        return rows, self.reader.score(query, rows)


def _kth_best(scores: Vector, k: int) -> float:
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
