"""Paired randomisation test by sign flips.

If two systems were equal, each query's difference could as well have the opposite sign. The test flips signs and counts
how often the mean is at least as far from 0 as the observed one:

    p = #{ |mean(s·d)| ≥ |mean(d)| } / 2^n           over all sign vectors s, when 2^n ≤ draws
    p = (1 + #{ … }) / (1 + draws)                    over `draws` random ones otherwise

Two-sided. Means closer than 1e-10 are equal. A difference of 0 has no sign, so n counts the others; if all are 0, p is
1. Signs come from PCG64(seed) and are shared by all rows: a row's p depends on that row, `draws` and `seed` alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from assay.bench.stats.units import Floats, as_row, as_rows, check_draws, exact_sums, to_units

_CELLS = 1 << 16
"""Signs per block: small enough for the processor's cache."""


def sign_flip(differences: ArrayLike, draws: int = 10_000, seed: int = 0) -> float:
    """The two-sided p of one row of paired differences."""
    return float(sign_flips(as_row(differences), draws, seed)[0])


def sign_flips(differences: ArrayLike, draws: int = 10_000, seed: int = 0) -> Floats:
    """p of every row of [rows, queries]: many systems against one baseline, with the same flips."""
    check_draws(draws)
    rows = as_rows(differences)
    units, _ = to_units(rows, most=rows.shape[1])
    exact = np.count_nonzero(units, axis=1) < draws.bit_length()  # 2**n ≤ draws
    ps = np.empty(len(rows))
    for place in np.flatnonzero(exact):
        ps[place] = _exact_p(units[place])
    if not exact.all():
        found = _count_extremes(units[~exact], _random_signs(rows.shape[1], draws, seed))
        ps[~exact] = (1.0 + found) / (1.0 + draws)
    return ps


def _exact_p(row: Floats) -> float:
    row = row[row != 0.0]
    return float(_count_extremes(row[None, :], _all_signs(len(row)))[0]) / 2.0 ** len(row)


def _count_extremes(units: Floats, signs: Iterator[Floats]) -> Floats:
    """Count the flipped sums of each row that are as far from 0 as its own sum. Every sum is exact."""
    threshold = np.abs(units.sum(axis=1)) - units.shape[1]  # one unit per query is 1e-10 of the mean
    found = np.zeros(len(units))
    for block in signs:
        found += (np.abs(exact_sums(block, units)) >= threshold).sum(axis=0)
    return found


def _all_signs(size: int) -> Iterator[Floats]:
    for draws in _blocks(1 << size, size):
        yield 1.0 - 2.0 * (np.array(draws)[:, None] >> np.arange(size) & 1).astype(np.float64)


def _random_signs(size: int, draws: int, seed: int) -> Iterator[Floats]:
    random = np.random.Generator(np.random.PCG64(seed))
    width = (size + 7) // 8
    for block in _blocks(draws, size):
        raw = np.frombuffer(random.bytes(len(block) * width), np.uint8).reshape(len(block), width)
        yield 1.0 - 2.0 * np.unpackbits(raw, axis=1, count=size).astype(np.float64)


def _blocks(draws: int, size: int) -> Iterator[range]:
    """Split the draws into blocks."""
    step = max(1, _CELLS // max(1, size))
    return (range(start, min(start + step, draws)) for start in range(0, draws, step))
