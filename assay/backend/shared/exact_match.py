"""Keys found letter for letter, and the terms of very long queries: what every backend does with them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.backend.shared.bm25 import MOST_TERMS
from assay.protocols import Found
from assay.text.holds import holds
from assay.types import Chunk, Floats, Note, Part, Rows

MOST_KEYS = 32
"""Identifiers and phrases of a query that are looked up."""
_TEXTS = 1_000
"""Texts held at once while a key is looked for: somebody may quote a word that every chunk holds."""


def rarest(terms: Sequence[str], weights: Floats) -> tuple[list[int], Note]:
    """Places of the terms that are used of a query with too many, in its order, and what is said about it."""
    chosen = np.sort(np.lexsort((np.arange(len(terms)), -weights))[:MOST_TERMS])
    return chosen.tolist(), Note("info", f"the query has {len(terms)} terms; its {MOST_TERMS} rarest were used")


def letter_for_letter(key: str, rows: Rows, chunks: Callable[[Rows], Sequence[Chunk]]) -> Rows:
    """Those of these rows whose text holds the key itself, not only its words."""
    parts = [rows[start : start + _TEXTS] for start in range(0, len(rows), _TEXTS)]
    held = [holds(chunk.indexed_text, key) for part in parts for chunk in chunks(part)]
    return rows[np.array(held, np.bool_)]


def keys_found(found: Sequence[tuple[str, float, Rows]], best: Callable[[Rows, Floats], Rows]) -> Found:
    """Chunks by the weight of the keys they hold over that of all. `found` is each key with its weight and the rows
    that hold it; `best` gives the places of the best rows, in order."""
    total = sum(weight for _, weight, _ in found)
    if not found or not total:
        return Found(np.empty(0, np.int64), (), ideal=1.0)
    rows = np.unique(np.concatenate([holding for _, _, holding in found]))
    columns = [np.where(np.isin(rows, holding), weight / total, 0.0) for _, weight, holding in found]
    score = np.zeros(len(rows))
    for column in columns:
        score = score + column
    place = best(rows, score)
    parts = tuple(Part(key, "add", c[place]) for (key, _, _), c in zip(found, columns, strict=True))
    return Found(rows[place], parts, ideal=1.0)
