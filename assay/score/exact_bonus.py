"""Exact bonus: a boost for chunks that hold the query's identifiers and phrases literally."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_number, check_whole, require_unit
from assay.engine.facts import rows_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.text.identifiers import extract_identifiers
from assay.types import Part, Query, Range, Ranking, fold

KEYS = ("all", "codes")
_CODE = re.compile(r"\A(?=\S+\Z).*[\d_]")


@dataclass(frozen=True, slots=True)
class ExactBonus:
    """Adds a bonus for exact matches; weighted fusion's recovery for exact queries, which fusion dilutes.

        score = min(1, score + bonus · found / ideal)

    `found` is the chunk's score in the snapshot's exact look-up (identifiers and phrases of the query), `ideal`
    the score of a chunk that holds all of them. `keys = "codes"` counts only those with a digit or an underscore
    (CVE-2024-1234, v1.29.3, JINA_API_KEY): they name one thing, while a phrase or a name such as TechCrunch is also
    mentioned in passing. With "codes", keys that no chunk holds do not count. Reads the look-up's best `depth` chunks
    and adds none to the ranking. A query without identifiers or phrases changes nothing. Needs and gives unit scores;
    where min applies, there is a part "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset({"exact"})

    bonus: float = 0.05
    depth: int = 1000
    keys: Literal["all", "codes"] = "all"

    def __post_init__(self) -> None:
        check_number("exact_bonus.bonus", self.bonus, 0.0, 1.0)
        check_whole("exact_bonus.depth", self.depth, 1)
        check_choice("exact_bonus.keys", self.keys, KEYS)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not self.bonus or not len(ranking):
            return ranking
        if self.keys == "codes" and not any(map(_CODE.search, extract_identifiers(query.text))):
            return ranking  # saves a look-up, which reads every text that holds the words of a key
        matches = snapshot.exact(query, self.depth)
        parts, ideal = matches.parts, matches.ideal
        if self.keys == "codes":
            parts = tuple(part for part in parts if _CODE.search(part.name))
            ideal = sum(float(part.column.max(initial=0.0)) for part in parts)
        if not len(matches.rows) or not ideal > 0.0:
            return ranking.noted(*matches.notes)
        share = dict(zip(matches.rows.tolist(), fold(parts, len(matches.rows)) / ideal, strict=True))
        shares = np.array([share.get(row, 0.0) for row in rows_of(ranking, snapshot).tolist()]).clip(0.0, 1.0)
        boosted = ranking.scored(Part("exact_bonus", "add", self.bonus * shares)).clamped()
        return arrange(boosted).noted(*matches.notes)

    def gives(self, scores: Range) -> Range:
        require_unit("exact_bonus", scores)
        return Range("unit", scores.lo, min(1.0, scores.hi + self.bonus))
