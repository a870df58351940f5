"""The best k rows with ties broken by id, and the query vector that a nearest-neighbour search needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import QueryError, Reason, StoreError
from assay.types import Floats, Query, Rows, Vector


def top_k(rows: Rows, scores: Floats, k: int, sort_keys: Callable[[Rows], NDArray[Any]]) -> Rows:
    """Positions of the best k by (score desc, id asc); `sort_keys` gives values that order rows as their ids do."""
    candidates = np.arange(len(rows))
    if len(rows) > k:
        candidates = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    order = np.lexsort((sort_keys(rows[candidates]), -scores[candidates]))
    best: Rows = candidates[order[:k]]
    return best


def require_query_vector(query: Query, dim: int, no_vectors: Reason) -> Vector:
    """The query's vector; an error when the store has no vectors, or the query none of this length."""
    if not dim:
        raise no_vectors.as_error(StoreError)
    if query.vector is None:
        raise QueryError("nearest needs query.vector", "embed the query first, or pass a vector")
    if query.vector.shape != (dim,):
        raise QueryError(
            f"query.vector has shape {query.vector.shape}; this store holds vectors of length {dim}",
            "embed the query with the store's own model",
        )
    return query.vector
