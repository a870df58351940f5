"""A list of finds as a ranking: the order is the maker's, whatever his scores say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.engine.foreign_chunks import SourceResult, source_result
from assay.errors import StoreError
from assay.text.tokens import count_tokens
from assay.types import Chunk, Note, Part, Query, Ranking, Scale


@dataclass(frozen=True, slots=True)
class SourceHit:
    """One find: the chunk as far as it can be shown, and its score."""

    chunk: Chunk
    score: float


def ranked(name: str, found: Sequence[SourceHit], scale: Scale, k: int) -> SourceResult:
    """The first k of a list, best first. An id that stands twice keeps its first place.

    Equal scores keep their order (it is the source rank); a score above the one before it is held down to it, as a
    `set` part called "order", and a note says how many were. Unit scores are clamped to [0, 1]. Tokens are counted
    here, so that a token budget holds for what others bring.
    """
    first: dict[str, SourceHit] = {}
    for one in found:
        first.setdefault(one.chunk.id, one)
    kept = list(first.values())[:k]
    given = np.array([one.score for one in kept], np.float64)
    if not np.isfinite(given).all():
        raise StoreError(f"{name} gave a score that is no number", "look at what it prints")
    held = np.minimum.accumulate(given) if len(given) else given
    parts, notes = [Part(name, "add", given)], []
    if (held < given).any():
        parts.append(Part("order", "set", np.where(held < given, held, np.nan)))
        notes.append(Note("info", f"{int((held < given).sum())} scores are above the one before; its order was kept"))
    ranking = Ranking.of(
        [one.chunk.id for one in kept],
        parts,
        scale,
        source_rank=np.arange(1, len(kept) + 1, dtype=np.int32),
        notes=notes,
    )
    return source_result(ranking.clamped(), (replace(one.chunk, tokens=count_tokens(one.chunk.text)) for one in kept))


def is_number(value: Any) -> bool:
    """A finite number that a float can hold; JSON knows NaN, and whole numbers of any length."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def unfiltered(name: str, query: Query) -> None:
    """Refuse a question whose filter this source cannot apply: what it may not show must not come in by the back."""
    asked = [key for key in ("where", "scope", "at") if getattr(query, key) is not None]
    if asked:
        raise StoreError(f"{name} cannot filter, and the query has {asked[0]!r}", f"ask without {asked[0]!r}")
