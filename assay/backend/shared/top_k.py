"""What every snapshot does alike when it looks for the best: whom it asks for, and who wins a tie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import QueryError, StoreError
from assay.types import Floats, Query, Rows, Vector


def best(rows: Rows, scores: Floats, k: int, names: Callable[[Rows], NDArray[Any]]) -> Rows:
    """Places of the best k by (score desc, id asc); `names` gives what orders rows as their ids do."""
    near = np.arange(len(rows))
    if len(rows) > k:
        near = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    found: Rows = near[np.lexsort((names(rows[near]), -scores[near]))[:k]]
    return found


def asked_vector(query: Query, dim: int, no_vectors: str) -> Vector:
    """The vector of a query that a store with vectors of this length can look near."""
    if not dim:
        raise StoreError(no_vectors)
    if query.vector is None:
        raise QueryError("nearest needs query.vector", "embed the query first, or pass a vector")
    if query.vector.shape != (dim,):
        raise QueryError(
            f"query.vector has shape {query.vector.shape}; this store holds vectors of length {dim}",
            "embed the query with the store's own model",
        )
    return query.vector
