"""Currency: among versions of one fact, the one that held at the time asked about comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number
from assay.engine.order import arrange
from assay.errors import QueryError
from assay.protocols import Snapshot
from assay.score.version_features import VersionCandidates, find_versions
from assay.text.query.dates import find_dates
from assay.text.questions import AskedTime, read_asked_time
from assay.types import Floats, Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Currency:
    """Lets the versions of a fact among the first `depth` candidates exchange their scores.

        p(i)      the probability that i states the fact that is asked about (version_features.py)
        present   p(i) · Π (1 − p(j)) over the newer j           i is the newest version
        as of     the same, without what was created later       "as of March 2024", "where did she live in March 2024?"
        before    the same with p(i) · (1 − Π (1 − p(j))), the probability that a newer version replaced i
        at first  p(i) · Π (1 − p(j)) over the older j           i is the oldest version

    Candidates with p below `threshold` are no versions. A candidate about another subject that stands before all
    versions comes after them, also when the question has a name and one statement is about it. No other candidate
    moves, no score is new, and none is hidden. A question about some other time in the past ("when did she move?")
    changes nothing. Undated and longer texts (over `max_characters`) are no versions, and no turns of a conversation
    either ("Caroline: …"): people do not state facts in turns, and on LoCoMo it does harm.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense", "lexical", "vector"})

    depth: int = 10
    threshold: float = 0.5
    max_characters: int = 300

    def __post_init__(self) -> None:
        check_number("currency.depth", self.depth, 2, 100)
        check_number("currency.threshold", self.threshold, 0.0, 1.0)
        check_number("currency.max_characters", self.max_characters, 1)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if len(ranking) < 2 or query.vector is None or _AskedVersion.read(query) is None:
            return ranking
        top = ranking.take(np.arange(min(self.depth, len(ranking))))
        found = find_versions(query, top, snapshot, self.max_characters)
        return ranking if found is None else self.exchange_scores(query, ranking, found)

    def exchange_scores(self, query: Query, ranking: Ranking, found: VersionCandidates) -> Ranking:
        """The ranking after the versions among its first candidates have exchanged their scores."""
        asked = _AskedVersion.read(query)
        if asked is None:
            return ranking
        chance = np.where(found.chance >= self.threshold, found.chance, 0.0)
        versions = np.flatnonzero(chance).tolist()
        held = asked.chance_to_hold(chance, found.created)
        order = sorted(versions, key=lambda i: (-held[i], i))
        others = [place for place in range(found.lead) if place not in versions]
        order, places = order + others, sorted(versions + others)
        if order == places:
            return ranking
        scores = np.full(len(ranking), np.nan)
        scores[order] = ranking.score[places]
        first = str(ranking.ids[order[0]])
        note = Note("info", f"{asked.describe()} of {len(versions)} versions is first", (first,))
        return arrange(ranking.scored(Part("currency", "set", scores))).noted(note)

    def gives(self, scores: Range) -> Range:
        return scores


@dataclass(frozen=True, slots=True)
class _AskedVersion:
    """Which version a question asks for: by the time it speaks of, or the one that held at a moment (`until`)."""

    time: AskedTime
    until: float | None = None

    @classmethod
    def read(cls, query: Query) -> _AskedVersion | None:
        """None for a question about some other time in the past: "When did she move?" """
        time = read_asked_time(query.text)
        relations = ("as_of",) if time == "present" else ("as_of", "in")
        try:
            ends = [date.until for date in find_dates(query.text, query.at) if date.relation in relations]
        except QueryError:
            ends = []
        until = ends[0] if ends else None
        return None if time == "past" and until is None else cls(time, until)

    def chance_to_hold(self, chance: Floats, created: Floats) -> Floats:
        """The probability of each candidate to be the version asked for."""
        if self.until is not None:
            return _chance_of_newest(np.where(created < self.until, chance, 0.0), created)
        if self.time == "first":
            return _chance_of_newest(chance, -created)
        if self.time == "previous":
            return _chance_of_newest(chance - _chance_of_newest(chance, created), created)
        return _chance_of_newest(chance, created)

    def describe(self) -> str:
        if self.until is not None:
            return "the newest at the time asked about"
        return {"first": "the oldest", "previous": "the one before the newest"}.get(self.time, "the newest")


def _chance_of_newest(chance: Floats, created: Floats) -> Floats:
    """The probability that each candidate is a version and no newer one is."""
    return np.array([chance[i] * np.prod(1.0 - chance[created > created[i]]) for i in range(len(chance))])
