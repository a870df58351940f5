"""Finds memories that already say a text. A text is a duplicate when all three conditions hold:

    cosine  ≥ COSINE     of the two vectors (of the first chunks, for texts of several)
    overlap ≥ OVERLAP    |A ∩ B| / |A ∪ B| of the two texts' terms, stems without closed-class words
    no contradiction     the same numbers, both or neither negate, and no word exchanged for another

Cosine and overlap are not enough: "the demo is on Monday" and "… on Friday" have a cosine of .91. The third condition
keeps that true for longer texts, where one word weighs little. Word order is ignored. Without a model only the terms
are compared, and they must all agree. Measured on a labelled table in tests/memory.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from assay.memory.compared_text import ComparedText, TextReader
from assay.memory.entries import count_pieces
from assay.memory.pending import PendingMemories
from assay.memory.scope_neighbours import NEIGHBOURS
from assay.memory.scoped_view import ScopedView
from assay.memory.types import MemoryEntry, NearDuplicate
from assay.select.similarity import cosines
from assay.types import Query, Rows, Vector

COSINE = 0.85
OVERLAP = 0.7
OVERLAP_ALONE = 1.0
"""The overlap required without a model."""
MIN_LIKENESS = 0.5
"""The least cosine or overlap at which a neighbour is reported."""


def find_near(
    view: ScopedView,
    text: str,
    vector: Vector | None,
    at: float,
    reader: TextReader,
    pending: PendingMemories,
    nearest: Rows | None = None,
) -> tuple[NearDuplicate, ...]:
    """Find current memories of the view's scopes that are similar to a text, most similar first; those that are
    accepted and not written yet are `pending`. `nearest` are the rows nearest by vector, where they are known.

    Superseded and expired memories are not compared: stating an old fact again is new information.
    """
    by_id: dict[str, NearDuplicate] = {}
    likeness: list[float | None]
    rows = _neighbours(view, text, vector, at, nearest)
    terms = reader.read(text).terms
    likeness = [None] * len(rows)
    if vector is not None:
        likeness = cosines(view.snapshot.vectors(rows).astype(np.float64), vector.astype(np.float64)).tolist()
    for chunk, cosine in zip(view.snapshot.chunks(rows), likeness, strict=True):
        if count_pieces(chunk) == 1 and (cosine or 0.0) < MIN_LIKENESS > jaccard(reader.read(chunk.text).terms, terms):
            continue  # it would be dropped below
        entry = view.entry_of(chunk)
        if entry.superseded_by or (entry.id in by_id and chunk.meta["start"]):
            continue
        by_id[entry.id] = compare(entry, text, cosine, reader)
    for entry, cosine in pending.neighbours(terms, vector, at, NEIGHBOURS, MIN_LIKENESS):
        by_id[entry.id] = compare(entry, text, cosine, reader)
    near = [
        candidate for candidate in by_id.values() if max(candidate.cosine or 0.0, candidate.overlap) >= MIN_LIKENESS
    ]
    return tuple(
        sorted(
            near,
            key=lambda candidate: (
                not candidate.duplicate,
                -(candidate.cosine or 0.0),
                -candidate.overlap,
                candidate.memory.id,
            ),
        )
    )


def _neighbours(view: ScopedView, text: str, vector: Vector | None, at: float, nearest: Rows | None) -> Rows:
    """Rows near a text by vector and by terms, each once."""
    query = Query(text=text, vector=vector, where=view.filter(*view.conditions(None, (), at)))
    by_words = view.snapshot.lexical(query, NEIGHBOURS).rows
    by_vector = by_words[:0] if nearest is None else nearest
    if nearest is None and vector is not None:
        by_vector = view.snapshot.nearest(query, NEIGHBOURS).rows
    rows: Rows = np.unique(np.concatenate([by_vector, by_words]).astype(np.int64))
    return rows


def compare(entry: MemoryEntry, text: str, cosine: float | None, reader: TextReader) -> NearDuplicate:
    """Compare a memory with a text; `duplicate` and `why` are the result."""
    known, new = reader.read(entry.text), reader.read(text)
    overlap = jaccard(known.terms, new.terms)
    same = known.words == new.words
    difference = "" if same else find_contradiction(known, new) or _find_exchange(known.terms, new.terms)
    if same or difference:
        duplicate, why = same, difference or "the same words"
    elif cosine is None:
        duplicate, why = overlap >= OVERLAP_ALONE, f"overlap {overlap:.2f}, and no model to compare meanings"
    else:
        duplicate = cosine >= COSINE and overlap >= OVERLAP
        why = f"cosine {cosine:.2f} and overlap {overlap:.2f}; a duplicate has {COSINE:g} and {OVERLAP:g}"
    return NearDuplicate(entry, cosine, overlap, duplicate, why, tuple(sorted(new.terms - known.terms)))


def jaccard(first: Set[str], second: Set[str]) -> float:
    """|A ∩ B| / |A ∪ B|; 0 when both are empty."""
    return len(first & second) / len(first | second) if first | second else 0.0


def find_contradiction(first: ComparedText, second: ComparedText) -> str:
    """Why two similar texts cannot say the same: other numbers, or only one of them negates; else ""."""
    numbers = first.numbers ^ second.numbers
    if numbers:
        return f"the numbers differ: {', '.join(sorted(numbers)[:4])}"
    return "one of them negates" if first.negates != second.negates else ""


def _find_exchange(entry_terms: Set[str], text_terms: Set[str]) -> str:
    """Why two texts differ if each has a term that the other lacks (Monday for Friday); else ""."""
    if entry_terms - text_terms and text_terms - entry_terms:
        return f"each has words of its own: {min(entry_terms - text_terms)}, {min(text_terms - entry_terms)}"
    return ""
