"""Turns a list of hits into a ranking in the retriever's own order, whatever its scores say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.engine.foreign_chunks import SourceResult, source_result
from assay.errors import StoreError
from assay.text.token_count import count_tokens
from assay.types import Chunk, Note, Part, Query, Ranking, Scale


@dataclass(frozen=True, slots=True)
class SourceHit:
    """One hit: the chunk, as far as the retriever shows it, and its score."""

    chunk: Chunk
    score: float


def build_result(name: str, hits: Sequence[SourceHit], scale: Scale, k: int) -> SourceResult:
    """A result of the first k hits, best first. An id that occurs twice keeps its first rank.

    Equal scores keep their order (it is the source rank); a score above the one before it is held down to it, as a
    `set` part called "order", and a note says how many were. Unit scores are clamped to [0, 1]. Tokens are counted
    here, so that a token budget also holds for foreign chunks.
    """
    first: dict[str, SourceHit] = {}
    for hit in hits:
        first.setdefault(hit.chunk.id, hit)
    selected = list(first.values())[:k]
    scores = np.array([hit.score for hit in selected], np.float64)
    if not np.isfinite(scores).all():
        raise StoreError(f"{name} gave a score that is no number", "look at what it prints")
    capped = np.minimum.accumulate(scores) if len(scores) else scores
    parts, notes = [Part(name, "add", scores)], []
    if (capped < scores).any():
        parts.append(Part("order", "set", np.where(capped < scores, capped, np.nan)))
        notes.append(
            Note("info", f"{int((capped < scores).sum())} scores are above the one before; its order was kept")
        )
    ranking = Ranking.of(
        [hit.chunk.id for hit in selected],
        parts,
        scale,
        source_rank=np.arange(1, len(selected) + 1, dtype=np.int32),
        notes=notes,
    )
    return source_result(
        ranking.clamped(), (replace(hit.chunk, tokens=count_tokens(hit.chunk.text)) for hit in selected)
    )


def is_number(value: Any) -> bool:
    """Is this a finite number that a float can hold? JSON allows NaN, and integers of any length."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def reject_filters(name: str, query: Query) -> None:
    """StoreError for a query with a filter, which this source cannot apply: hidden chunks must not be returned."""
    filters = [key for key in ("where", "scope", "at") if getattr(query, key) is not None]
    if filters:
        raise StoreError(f"{name} cannot filter, and the query has {filters[0]!r}", f"ask without {filters[0]!r}")
