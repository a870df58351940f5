"""What a search found, measured against the words of its question.

The candidates are the first rows of every leg: they obey the query's filter, scope and clock. A term that none of them
holds is looked up under the same filter, so "unknown" means unknown to what the query may see, whatever other scopes
hold; an unknown term weighs as one that no chunk holds, so its weight tells nothing about them either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.answerability.question import Question, QuestionWord
from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW
from assay.engine.trace import Span
from assay.protocols import Snapshot
from assay.types import Floats, Query, Rows

CANDIDATES = 32
"""Rows of each leg that are measured."""
MOST_LOOKUPS = 8
"""Words that are looked up one by one."""
_LOOKUP_DEPTH = 8


@dataclass(frozen=True, slots=True, eq=False)
class TermTable:
    """Which rows hold which terms, with the weight of each term: holds[term, row]."""

    rows: Rows
    terms: tuple[str, ...]
    holds: NDArray[np.bool_]
    weights: Mapping[str, float]

    def find_rows(self, terms: frozenset[str]) -> NDArray[np.bool_]:
        """Which rows hold all of some terms; a term that is not in the table is held by none."""
        if not terms <= set(self.terms):
            return np.zeros(len(self.rows), np.bool_)
        places = [place for place, term in enumerate(self.terms) if term in terms]
        held: NDArray[np.bool_] = np.logical_and.reduce(self.holds[places], axis=0)
        return held

    def coverage(self, terms: frozenset[str]) -> Floats:
        """The weight of the terms that each row holds, over the weight of all of them; 1 without terms."""
        column = np.array([self.weights.get(t, 0.0) if t in terms else 0.0 for t in self.terms])
        whole = sum(self.weights.get(term, 0.0) for term in terms)
        if whole <= 0.0:
            return np.ones(len(self.rows))
        covered: Floats = column @ self.holds / whole
        return covered


@dataclass(frozen=True, eq=False)
class FoundEvidence:
    """The candidates of a search: their terms, their cosines (None without vectors), and the unknown words."""

    table: TermTable
    cosines: Floats | None
    unknown: tuple[QuestionWord, ...]
    snapshot: Snapshot

    @cached_property
    def unknown_terms(self) -> frozenset[str]:
        return frozenset().union(*(word.terms for word in self.unknown))


def weigh_terms(query: Query, snapshot: Snapshot) -> dict[str, float]:
    """The terms of a query with their idf."""
    return dict(snapshot.term_weights(query.text))


def collect_evidence(
    query: Query, question: Question, weights: Mapping[str, float], snapshot: Snapshot, trace: Sequence[Span]
) -> FoundEvidence:
    """Measure what the legs of a search found."""
    rows = _candidates(trace, snapshot)
    table = table_of(query, rows, weights, snapshot)
    seen = frozenset(term for term, line in zip(table.terms, table.holds, strict=True) if line.any())
    unknown = _find_unknown(query, question, seen, snapshot)
    absent = frozenset().union(*(_unseen(word, seen) for word in unknown))
    unheld = math.log(1.0 + (snapshot.size + 0.5) / 0.5)  # the idf of a term that no chunk holds
    weights = {term: unheld if term in absent else weight for term, weight in weights.items()}
    return FoundEvidence(
        replace(table, weights=weights),
        _cosines(query, rows, snapshot),
        tuple(replace(word, terms=_unseen(word, seen)) for word in unknown),
        snapshot,
    )


def table_of(query: Query, rows: Rows, weights: Mapping[str, float], snapshot: Snapshot) -> TermTable:
    """Which of these rows hold which terms of a query. Rows of other sources are read as text."""
    own = rows < FIRST_FOREIGN_ROW
    terms = tuple(weights)
    holds = np.zeros((len(terms), len(rows)), np.bool_)
    places = {term: place for place, term in enumerate(terms)}
    if own.any() and "lexical" in snapshot.capabilities:
        for part in snapshot.lexical_at(query, rows[own]).parts:
            if part.name in places:
                holds[places[part.name], own] = part.column > 0.0
        own = ~own
    else:
        own = np.ones(len(rows), np.bool_)
    for place in np.flatnonzero(own).tolist():
        held = set(snapshot.terms(snapshot.chunks(rows[place : place + 1])[0].indexed_text))
        holds[:, place] = [term in held for term in terms]
    return TermTable(rows, terms, holds, weights)


def _candidates(trace: Sequence[Span], snapshot: Snapshot) -> Rows:
    """The first rows of every leg, each once, in the order of the legs."""
    found: list[int] = []
    for span in trace:
        if span.kind == "leg":
            first = span.ranking.take(slice(CANDIDATES))
            rows = snapshot.rows(first.ids) if first.rows is None else first.rows
            found += [row for row in rows.tolist() if row >= 0]
    return np.array(list(dict.fromkeys(found)), np.int64)


def _find_unknown(
    query: Query, question: Question, seen: frozenset[str], snapshot: Snapshot
) -> tuple[QuestionWord, ...]:
    """The content words with a term that no visible chunk holds. The longest words that no candidate holds are
    looked up, the others count as known."""
    doubtful = [word for word in question.words if not word.terms <= seen]
    if "lexical" not in snapshot.capabilities:
        return tuple(doubtful)
    doubtful = sorted(dict.fromkeys(doubtful), key=lambda word: (not word.identifier, -len(word.text), word.text))
    unknown = {word for word in doubtful[:MOST_LOOKUPS] if not _is_held(query, word, seen, snapshot)}
    return tuple(dict.fromkeys(word for word in question.words if word in unknown))


def _unseen(word: QuestionWord, seen: frozenset[str]) -> frozenset[str]:
    return word.terms - seen


def _is_held(query: Query, word: QuestionWord, seen: frozenset[str], snapshot: Snapshot) -> bool:
    """Does some chunk that the query may see hold every term of a word?"""
    matches = snapshot.lexical(replace(query, text=word.text, vector=None), _LOOKUP_DEPTH)
    held = {part.name for part in matches.parts if bool((part.column > 0.0).any())}
    return _unseen(word, seen) <= held


def _cosines(query: Query, rows: Rows, snapshot: Snapshot) -> Floats | None:
    """The cosine of each row with the query; None where there is no vector, or no row has one."""
    own = rows[rows < FIRST_FOREIGN_ROW]
    if query.vector is None or not len(own) or "dense" not in snapshot.capabilities:
        return None
    vectors = snapshot.vectors(own)
    if vectors.shape[1] != len(query.vector) or not vectors.any():
        return None
    cosines = np.zeros(len(rows))
    cosines[rows < FIRST_FOREIGN_ROW] = vectors.astype(np.float64) @ query.vector.astype(np.float64)
    return cosines
