"""The nearest memories of a scope for many new ones: one product of matrices instead of a search for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.memory.scoped_view import ScopedView
from assay.memory.writer import Draft
from assay.types import Rows

NEIGHBOURS = 8
"""How many neighbours are read by vector, and how many by terms."""
LEAST_DRAFTS = 16
"""Fewer are searched one by one."""
MOST_ROWS = 50_000
"""A larger scope is searched by its index: the table would read all of its vectors for every batch."""


class ScopeNeighbours:
    """The rows of a view nearest to each of some drafts, by vector; expired memories are left out."""

    def __init__(self, view: ScopedView, at: float, drafts: Sequence[Draft]) -> None:
        self._rows: dict[int, Rows] = {}
        vectors = {id(draft): draft.vectors[0] for draft in drafts if draft.vectors[0] is not None}
        if len(vectors) < LEAST_DRAFTS:
            return
        rows = view.snapshot.live_rows(view.filter(*view.conditions(None, (), at)))
        if len(rows) > MOST_ROWS:
            return
        scores = np.stack(list(vectors.values())).astype(np.float32) @ view.snapshot.vectors(rows).T
        count = min(NEIGHBOURS, len(rows))
        best = np.argpartition(-scores, count - 1, axis=1)[:, :count] if count else np.empty((len(scores), 0), np.int64)
        self._rows = {name: rows[places] for name, places in zip(vectors, best, strict=True)}

    def rows(self, draft: Draft) -> Rows | None:
        """The rows nearest to a draft; None where there is no table."""
        return self._rows.get(id(draft))
