"""Searches nearest vectors: pgvector proposes, Assay scores in float64. Exact for few visible rows, else by index.

The index is HNSW in half precision (half the size; full vectors decide the order), scanned iteratively, so that a
filter never leaves a list short; where it still would, the search is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.backend.postgres.filters import Condition
from assay.backend.postgres.vector_type import VectorCodec, unpack_vector
from assay.backend.postgres.version_view import VersionView
from assay.index.vectors import exact_scores
from assay.types import Floats, Note, Rows, Vector

if TYPE_CHECKING:
    import psycopg

_OVERFETCH = 2
"""Candidates fetched per result: the index has half precision, the order is by the full vectors."""


_LEAST_EF = 100
_SPARE = 16
"""Extra candidates, enough to see that the next one is further away than rounding can be."""
_ROUNDING = 1e-5


@dataclass(frozen=True)
class NearestRows:
    """A nearest-vector query: table, dimensions, query vector, how many, and the condition of visible rows."""

    table: str
    dim: int
    vector: Vector
    k: int
    seen: Condition


def nearest(view: VersionView, near: NearestRows, index_from: int | None) -> tuple[Rows, Floats, Note]:
    """The best k visible rows by cosine, as (rows, scores) in any order, and a note on what served. `index_from` is the
    number of visible rows from which the index is used, None where there is none."""
    if index_from is not None and _has_at_least(view, near.seen, index_from):
        found = view.store.read(lambda db: _index_rows(db, near))
        if len(found) >= near.k:
            rows, scores = _score(view, found, near.vector)
            return rows, scores, Note("info", "pgvector's HNSW index proposed, Assay scored the whole vectors")
    found = view.store.read(lambda db: exact_rows(db, near))
    rows, scores = _score(view, found, near.vector)
    return rows, scores, Note("info", "pgvector looked at every visible vector, Assay scored the best")


def _has_at_least(view: VersionView, seen: Condition, least: int) -> bool:
    """Are there at least so many visible rows? Fewer are searched exactly, which is faster."""
    if not seen.narrows:
        return view.size >= least
    if seen.rows is not None:
        return seen.rows >= least
    counted = view.read(
        f"SELECT count(*) FROM (SELECT 1 FROM chunk c WHERE {seen.sql} LIMIT %s) AS first", (*seen.parameters, least)
    )
    return bool(counted[0][0] >= least)


_SELECT = "SELECT c.seq, c.id, vector_send(n.v) FROM {} n JOIN chunk c USING (seq) WHERE {}"


def _index_rows(db: psycopg.Connection[Any], near: NearestRows) -> list[tuple[Any, ...]]:
    fetch = near.k * _OVERFETCH
    db.execute(f"SET LOCAL hnsw.ef_search = {min(max(fetch, _LEAST_EF), 1_000)}")
    db.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
    db.execute("SET LOCAL enable_seqscan = off")
    distance = f"n.v::halfvec({near.dim}) <#> %b::vector::halfvec({near.dim})"
    statement = f"{_SELECT.format(near.table, near.seen.sql)} ORDER BY {distance} LIMIT %s"
    return db.execute(statement, (*near.seen.parameters, VectorCodec(near.vector), fetch), binary=True).fetchall()


def exact_rows(db: psycopg.Connection[Any], near: NearestRows) -> list[tuple[Any, ...]]:
    """The best k and every row within rounding of the last: the server adds in float32, we in float64."""
    every = f"SELECT seq, n.v <#> %b::vector AS far FROM {near.table} n JOIN chunk c USING (seq) WHERE {near.seen.sql}"
    statement = (
        f"SELECT c.seq, c.id, vector_send(n.v), best.far FROM ({every} ORDER BY far LIMIT %s) AS best "
        f"JOIN {near.table} n USING (seq) JOIN chunk c USING (seq)"
    )
    given = (VectorCodec(near.vector), *near.seen.parameters, near.k + _SPARE)
    found = sorted(db.execute(statement, given, binary=True).fetchall(), key=lambda row: row[3])
    if len(found) < near.k + _SPARE or found[-1][3] > found[near.k - 1][3] + _ROUNDING:
        return found  # no other row can be among the best k
    statement = f"{_SELECT.format(near.table, near.seen.sql)} AND n.v <#> %b::vector <= %s"
    last = found[near.k - 1][3] + _ROUNDING
    return db.execute(statement, (*near.seen.parameters, VectorCodec(near.vector), last), binary=True).fetchall()


def score_candidates(view: VersionView, near: NearestRows, *rows: Sequence[int]) -> tuple[Rows, Floats]:
    """Score the visible ones among rows that an index proposed, each once."""
    named = sorted({row for several in rows for row in several})
    statement = f"{_SELECT.format(near.table, near.seen.sql)} AND c.seq = ANY(%s)"
    given = (*near.seen.parameters, named)
    return _score(view, view.store.read(lambda db: db.execute(statement, given, binary=True).fetchall()), near.vector)


def _score(view: VersionView, found: Sequence[tuple[Any, ...]], vector: Vector) -> tuple[Rows, Floats]:
    view.names.add([(row[0], row[1]) for row in found])
    rows = np.array([row[0] for row in found], np.int64)
    matrix = np.array([unpack_vector(row[2]) for row in found], np.float32).reshape(len(found), len(vector))
    return rows, exact_scores(matrix, vector)
