"""What identifies a query and a ranking: every bit that can change an answer."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from assay.errors import QueryError
from assay.types import Query, Ranking, Vector


def unit(vector: Vector) -> Vector:
    """A caller's own query vector, checked and brought to unit length."""
    given = np.asarray(vector, dtype=np.float64)
    norm = math.sqrt(given @ given) if given.ndim == 1 else 0.0
    if not 0.0 < norm < math.inf:
        raise QueryError("query.vector must be one-dimensional, finite and not all zero", "pass float32[d]")
    return (given / norm).astype(np.float32)


def query_digest(query: Query) -> str:
    """Identifies a query with all that can change its answer, its vector's bytes included."""
    vector = b"" if query.vector is None else np.asarray(query.vector, "<f4").tobytes()
    said = repr((query.text, query.at, str(query.where), query.scope, sorted(query.extra.items())))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass") + b"\0" + vector).hexdigest()


def ranking_digest(ranking: Ranking) -> str:
    """Identifies what was found: every id in order, with the bits of its score."""
    names = "\0".join(ranking.ids.tolist()).encode("utf-8", "surrogatepass")
    return hashlib.sha256(names + b"\0\0" + ranking.score.astype("<f8").tobytes()).hexdigest()
