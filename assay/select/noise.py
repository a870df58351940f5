"""Noise filter: drops chunks without content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.facts import chunks_of
from assay.protocols import Snapshot
from assay.text.noise_filter import CATEGORIES, classify_noise
from assay.types import Note, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Noise:
    """Drops chunks whose whole text is noise; the memory pipeline's noise filter at recall time.

    Noise is an assistant's denial, a question about the memory itself, boilerplate of a session, or fewer than five
    characters (English, Chinese, Japanese, Korean; docs/memory.md). One clause with content keeps the chunk. There is
    one note per dropped category. A candidate whose text is not in the store stays. Scores stay as they are.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        chunks = chunks_of(ranking, snapshot)
        category = np.array(["" if chunk is None else classify_noise(chunk.text).category for chunk in chunks], np.str_)
        notes = [
            Note("dropped", f"noise: {name}", tuple(ranking.ids[category == name].tolist()))
            for name in CATEGORIES
            if name in category
        ]
        return ranking.take(category == "").noted(*notes) if notes else ranking

    def gives(self, scores: Range) -> Range:
        return scores
