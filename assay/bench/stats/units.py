"""Exact sums: scores as whole units of 1e-10.

A receipt has scores with ten decimals. In units of 1e-10 they are whole numbers, and as long as no sum reaches 2**53
float64 adds them without rounding: in any order, on any number of threads, in any BLAS. So a test gives the same p
everywhere, and 0.1 + 0.2 equals 0.3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import AssayError

DECIMALS = 10
_EXACT = 2.0**53

Floats = NDArray[np.float64]


class StatisticsError(AssayError):
    """A test cannot be computed from what it was given."""

    exit_code = 2


def as_rows(values: ArrayLike) -> Floats:
    """Convert values to [rows, queries] and check them: finite, at least one query."""
    rows = np.atleast_2d(np.asarray(values, np.float64))
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise StatisticsError(
            f"a test needs one value per query, this is of shape {np.shape(values)}",
            "give [queries] or [rows, queries]",
        )
    if not np.isfinite(rows).all():
        raise StatisticsError("a value is NaN or infinite", "leave out the queries that have no value, on both sides")
    return rows


def as_row(values: ArrayLike) -> Floats:
    """Convert the values of one system to an array and check them."""
    if np.ndim(values) != 1:
        raise StatisticsError(
            f"one row is wanted, this is of shape {np.shape(values)}", "call the function for many rows"
        )
    row: Floats = as_rows(values)[0]
    return row


def to_units(rows: Floats, most: int) -> tuple[Floats, Floats]:
    """(whole numbers [rows, queries], size of one unit [rows]) for sums of up to `most` values.

    A unit is 1e-10, or the next power of ten at which no sum can round; each row has its own.
    """
    worst = np.abs(rows).max(axis=1, keepdims=True) * most
    decimals = np.full_like(worst, DECIMALS)
    while (large := worst * 10.0**decimals >= _EXACT).any():
        decimals[large] -= 1.0
    return np.rint(rows * 10.0**decimals), 10.0 ** -decimals[:, 0]


def exact_sums(draws: Floats, units: Floats) -> Floats:
    """[draws, rows]: every draw's weighted sum of every row, exact.

    Products have at most eight rows: a larger one starts BLAS's threads, and on a busy machine waiting for them takes
    twenty times as long as the computation.
    """
    return np.concatenate([draws @ units[row : row + 8].T for row in range(0, len(units), 8)], axis=1)


def exact_mean(row: Floats) -> float:
    """The mean from an exact sum, independent of the order of queries."""
    return math.fsum(row.tolist()) / len(row)


def standard_deviation(row: Floats) -> float:
    """The standard deviation with n − 1; 0 for one value and for values that differ by rounding only."""
    if len(row) < 2 or float(np.ptp(row)) <= 10.0**-DECIMALS:
        return 0.0
    return math.sqrt(math.fsum(((row - exact_mean(row)) ** 2).tolist()) / (len(row) - 1))


def check_draws(draws: int) -> None:
    if draws < 1:
        raise StatisticsError(f"{draws} draws show nothing", "ask for 10000")
