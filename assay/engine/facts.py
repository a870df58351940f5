"""What a snapshot knows about the candidates of a ranking, one entry per candidate.

A candidate that is not in this view (a leg may have read another source) is simply unknown: its numbers are
NaN, its vector is zero, it matches no filter and has no chunk.
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
    here = rows >= 0
    if here.all():
        column = snapshot.numbers(name, rows)
    else:
        column = np.full(len(rows), np.nan)
        column[here] = snapshot.numbers(name, rows[here])
    return column if unknown != unknown else known_or(column, unknown)


def known_or(column: Floats, unknown: float) -> Floats:
    """A column with `unknown` in the place of NaN."""
    return np.where(np.isnan(column), unknown, column)


def vectors_of(ranking: Ranking, snapshot: Snapshot) -> Vectors:
    rows = rows_of(ranking, snapshot)
    here = rows >= 0
    known = snapshot.vectors(rows[here])
    if here.all():
        return known
    every = np.zeros((len(rows), known.shape[1]), np.float32)
    every[here] = known
    return every


def matches_of(ranking: Ranking, snapshot: Snapshot, expression: str) -> NDArray[np.bool_]:
    rows = rows_of(ranking, snapshot)
    here = rows >= 0
    column = np.zeros(len(rows), np.bool_)
    column[here] = snapshot.matches(expression, rows[here])
    return column


def chunks_of(ranking: Ranking, snapshot: Snapshot) -> list[Chunk | None]:
    rows = rows_of(ranking, snapshot)
    here = rows >= 0
    known = iter(snapshot.chunks(rows[here]))
    return [next(known) if is_here else None for is_here in here.tolist()]
