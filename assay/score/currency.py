"""Currency: among versions of one fact, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.engine.checks import check_number
from assay.engine.facts import chunks_of, numbers_of, vectors_of
from assay.engine.order import arrange
from assay.errors import QueryError
from assay.protocols import Snapshot
from assay.text.query.dates import find_dates
from assay.text.statements import asks_about_present, find_names, find_speaker, find_value_kinds, has_change_word
from assay.types import Chunk, Floats, Note, Part, Query, Range, Ranking

SUBJECT_SHARE = 0.3
"""The share of the first candidate's matched query terms (by idf) that a version has too, if the query has no name."""
LEAD = 0.97
"""The probability that the first candidate states the fact."""


@dataclass(frozen=True, slots=True)
class Currency:
    """Lets the versions of a fact among the first `depth` candidates exchange their scores: the newest gets the best.

        p(i)  = σ(2.6 · cos(i, first) + 5.4 · cos(query, i) / cos(query, first) + 1.7 · score(i) / score(first)
                  + 2.3 · change(i) + 1.5 · kinds(i) − 8.1)          that i states the fact of the first candidate
        order = p(i) · Π (1 − p(j)) over the newer j                 that i is the newest to state it

    change: it has a change word ("moved", "no longer"). kinds: the share of the first one's kinds of values (number,
    date, name) that it has. p is 0 below `threshold`, and for a candidate about another subject: one that lacks a name
    of the query, or a query term of the first. The weights were fitted on the dev split of changing_facts.

    No other candidate moves, no score is new, and none is hidden. It runs for questions about the present; for "as of
    March 2024" versions of later dates come last. Undated and longer texts (over `max_characters`) are no versions, and
    no turns of a conversation either ("Caroline: …"): people do not state facts in turns, and on LoCoMo it does harm.
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
        until = _read_as_of(query)
        if len(ranking) < 2 or (until is None and not asks_about_present(query.text)):
            return ranking
        top = ranking.take(np.arange(min(self.depth, len(ranking))))
        chance = self._version_chance(query, top, snapshot)
        versions = np.flatnonzero(chance)
        if len(versions) < 2:
            return ranking
        created = numbers_of(top, snapshot, "created")
        if until is not None:
            chance = np.where(created < until, chance, 0.0)
        newest = [chance[i] * np.prod(1.0 - chance[created > created[i]]) for i in range(len(top))]
        order = sorted(versions.tolist(), key=lambda i: (-newest[i], i))
        if order == versions.tolist():
            return ranking
        scores = np.full(len(ranking), np.nan)
        scores[order] = np.sort(ranking.score[versions])[::-1]
        note = Note("info", f"{top.ids[order[0]]} is the newest of {len(versions)} versions", (str(top.ids[order[0]]),))
        return arrange(ranking.scored(Part("currency", "set", scores))).noted(note)

    def _version_chance(self, query: Query, top: Ranking, snapshot: Snapshot) -> Floats:
        """The probability that each candidate states the fact of the first one; 0 for one that cannot."""
        chunks = chunks_of(top, snapshot)
        lead = chunks[0]
        if lead is None or query.vector is None or not top.score[0] > 0.0:
            return np.zeros(len(top))
        vectors = vectors_of(top, snapshot).astype(np.float64)
        to_query = np.einsum("ij,j->i", vectors, np.asarray(query.vector, np.float64))
        to_lead = np.einsum("ij,j->i", vectors, vectors[0])
        known = {name.lower() for name in find_names(query.text)}
        kinds = [find_value_kinds(chunk.text, known) if chunk else frozenset() for chunk in chunks]
        shared = np.array([len(kind & kinds[0]) / max(len(kinds[0]), 1) for kind in kinds])
        change = np.array([chunk is not None and has_change_word(chunk.text) for chunk in chunks], np.float64)
        relative = np.clip(to_query / max(float(to_query[0]), 1e-6), 0.0, 2.0)
        logit = 2.6 * to_lead + 5.4 * relative + 1.7 * top.score / top.score[0] + 2.3 * change + 1.5 * shared - 8.1
        chance = 1.0 / (1.0 + np.exp(-logit))
        chance = np.where(chance >= self.threshold, np.minimum(chance, LEAD), 0.0)
        chance[0] = LEAD
        dated = np.isfinite(numbers_of(top, snapshot, "created"))
        statement = np.array([chunk is not None and self._is_statement(chunk.text) for chunk in chunks])
        return np.where(dated & statement & _have_subject(query, chunks, snapshot), chance, 0.0)

    def _is_statement(self, text: str) -> bool:
        return len(text) <= self.max_characters and find_speaker(text) is None

    def gives(self, scores: Range) -> Range:
        return scores


def _read_as_of(query: Query) -> float | None:
    """The end of the period of "as of March 2024" in a query; None without one."""
    try:
        found = [date.until for date in find_dates(query.text, query.at) if date.relation == "as_of"]
    except QueryError:
        return None
    return found[0] if found else None


def _have_subject(query: Query, chunks: Sequence[Chunk | None], snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which candidates are about the subject of the first: they have the names of the query that it has, or else a
    share of its query terms."""
    weights = snapshot.term_weights(query.text)
    terms = [set(snapshot.terms(chunk.text)) if chunk else set() for chunk in chunks]
    names = {term for name in find_names(query.text) for term in snapshot.terms(name)} & terms[0]
    if names:
        return np.array([names <= held for held in terms])
    lead = terms[0] & weights.keys()
    total = sum(weights[term] for term in sorted(lead))
    shares = [sum(weights[term] for term in sorted(lead & held)) / total if total > 0.0 else 0.0 for held in terms]
    return np.array(shares) >= SUBJECT_SHARE
