"""Speaker: a boost for what was said by somebody whom the query names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import chunks_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.text.statements import find_speaker
from assay.types import Part, Query, Range, Ranking

_WORD = re.compile(r"[^\W_]+")
_FIRST_PERSON = frozenset({"i", "me", "my", "mine", "we", "us", "our", "ours"})
_USER = frozenset({"user", "human"})


@dataclass(frozen=True, slots=True)
class Speaker:
    """Adds to the score of a turn of a conversation whose speaker the query names.

        score = min(1, score + weight)        for "Caroline: I went …" and "Where did Caroline go?"

    A turn begins with its speaker and a colon. A query in the first person names the speaker `user`. A text of several
    turns has no speaker. Needs and gives unit scores; where min applies, there is a part "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    weight: float = 0.1

    def __post_init__(self) -> None:
        check_number("speaker.weight", self.weight, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        named = {word.lower() for word in _WORD.findall(query.text)}
        named |= _USER if named & _FIRST_PERSON else set()
        if not self.weight or not len(ranking) or not named:
            return ranking
        texts = ("" if chunk is None else chunk.text for chunk in chunks_of(ranking, snapshot))
        spoken = np.array([find_speaker(text) in named for text in texts])
        if not spoken.any():
            return ranking
        return arrange(ranking.scored(Part("speaker", "add", self.weight * spoken)).clamped())

    def gives(self, scores: Range) -> Range:
        require_unit("speaker", scores)
        return Range("unit", scores.lo, min(1.0, scores.hi + self.weight))
