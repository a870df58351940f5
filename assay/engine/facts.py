"""Facts about the candidates of a ranking, one entry per candidate: numbers, vectors, filter matches, chunks.

A candidate that is not in the snapshot (a leg may have read another source) has NaN for a number, a zero vector, no
chunk, and matches no filter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.protocols import Snapshot
from assay.types import Chunk, Floats, Ranking, Rows, Vectors


def rows_of(ranking: Ranking, snapshot: Snapshot) -> Rows:
    """The candidates' rows; -1 where one is not in this view."""
    return snapshot.rows(ranking.ids) if ranking.rows is None else ranking.rows


def numbers_of(ranking: Ranking, snapshot: Snapshot, name: str, unknown: float = np.nan) -> Floats:
    """A number of each candidate; `unknown` where it has none, or is not in this view."""
    rows = rows_of(ranking, snapshot)
    present = rows >= 0
    if present.all():
        column = snapshot.numbers(name, rows)
    else:
        column = np.full(len(rows), np.nan)
        column[present] = snapshot.numbers(name, rows[present])
    return column if unknown != unknown else fill_nan(column, unknown)


def fill_nan(column: Floats, unknown: float) -> Floats:
    """A column with `unknown` in the place of NaN."""
    return np.where(np.isnan(column), unknown, column)


def vectors_of(ranking: Ranking, snapshot: Snapshot) -> Vectors:
    """The vectors of the ranked chunks, one row each."""
    rows = rows_of(ranking, snapshot)
    present = rows >= 0
    known = snapshot.vectors(rows[present])
    if present.all():
        return known
    every = np.zeros((len(rows), known.shape[1]), np.float32)
    every[present] = known
    return every


def matches_of(ranking: Ranking, snapshot: Snapshot, expression: str) -> NDArray[np.bool_]:
    """Which ranked chunks a filter expression matches."""
    rows = rows_of(ranking, snapshot)
    present = rows >= 0
    column = np.zeros(len(rows), np.bool_)
    column[present] = snapshot.matches(expression, rows[present])
    return column


def chunks_of(ranking: Ranking, snapshot: Snapshot) -> list[Chunk | None]:
    """The ranked chunks; None where the snapshot does not hold one."""
    rows = rows_of(ranking, snapshot)
    present = rows >= 0
    known = iter(snapshot.chunks(rows[present]))
    return [next(known) if is_present else None for is_present in present.tolist()]
