"""Exact match of identifiers and quoted phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.protocols import Matches
from assay.text.normalisation import contains_normalised
from assay.types import Chunk, Floats, Part, Rows

MOST_KEYS = 32
"""Identifiers and phrases of a query that are looked up."""
_TEXTS = 1_000
"""Texts read at once while a key is looked for: a quoted word may occur in every chunk."""


def filter_exact(key: str, rows: Rows, chunks: Callable[[Rows], Sequence[Chunk]]) -> Rows:
    """Those of these rows whose text holds the key itself, not only its words."""
    parts = [rows[start : start + _TEXTS] for start in range(0, len(rows), _TEXTS)]
    matches = [contains_normalised(chunk.indexed_text, key) for part in parts for chunk in chunks(part)]
    return rows[np.array(matches, np.bool_)]


def rank_by_keys(keys: Sequence[tuple[str, float, Rows]], top: Callable[[Rows, Floats], Rows]) -> Matches:
    """Rank rows by the weight of the keys they hold over that of all keys. `keys` is each key with its weight and the
    rows that hold it; `top` gives the positions of the best rows, in order."""
    total = sum(weight for _, weight, _ in keys)
    if not keys or not total:
        return Matches(np.empty(0, np.int64), (), ideal=1.0)
    rows = np.unique(np.concatenate([holding for _, _, holding in keys]))
    columns = [np.where(np.isin(rows, holding), weight / total, 0.0) for _, weight, holding in keys]
    score = np.zeros(len(rows))
    for column in columns:
        score = score + column
    order = top(rows, score)
    parts = tuple(Part(key, "add", column[order]) for (key, _, _), column in zip(keys, columns, strict=True))
    return Matches(rows[order], parts, ideal=1.0)
