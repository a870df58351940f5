"""Which candidates state the fact that a question asks about: a logistic formula over what both say.

The lead is the first candidate about the subject of the question; a version is a candidate about the same subject.

    subject   it has the names of the question that the lead has; of a question without names, half of the weight (idf)
              of its noun phrases that the lead has; without either, a share of the lead's query terms

    likeness  cos(i, lead)                          change   it says that something changed: "moved", "no longer"
    relevance cos(query, i) / cos(query, lead)      hint     it has "now", "new", "not", …
    score     score(i) / score(lead)                mention  it tells that something was talked about
    kinds     share of the lead's kinds of values   answer   it has what is asked for (a name for "who");
              (number, date, name)                           ½ if that is unknown

`WEIGHTS` come from benchmarks/train_currency.py, fitted on the dev split of changing_facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.engine.facts import chunks_of, numbers_of, vectors_of
from assay.protocols import Snapshot
from assay.text.questions import find_answer_kinds, find_subject_words, may_answer
from assay.text.statements import (
    find_names,
    find_speaker,
    find_value_kinds,
    hints_at_change,
    is_mention,
    states_change,
)
from assay.types import Floats, Query, Ranking, Vectors

WEIGHTS: Mapping[str, float] = {
    "likeness": 11.99,
    "relevance": 8.73,
    "score": 4.28,
    "kinds": 3.11,
    "answer": 2.63,
    "change": 3.66,
    "hint": 2.41,
    "mention": -3.47,
}
BIAS = -20.19
MOST = 0.97
"""The highest probability that a candidate states the fact, and that of the lead."""
PHRASE_SHARE, TERM_SHARE = 0.5, 0.3
"""The shares of the lead's weight in noun phrases and in query terms that make a candidate one about its subject."""


@dataclass(frozen=True, slots=True)
class VersionCandidates:
    """`chance`: the probability that each candidate states the fact; 0 for one about another subject. `created`: when
    each was created. `lead`: the place of the lead. `features`: a column for each name of `WEIGHTS`."""

    chance: Floats
    created: Floats
    lead: int
    features: Floats


def find_versions(query: Query, top: Ranking, snapshot: Snapshot, max_characters: int) -> VersionCandidates | None:
    """Judge the candidates of a query with a vector; None when fewer than two can be versions."""
    chunks = chunks_of(top, snapshot)
    texts = [chunk.text if chunk is not None else "" for chunk in chunks]
    statement = np.array([0 < len(text) <= max_characters and find_speaker(text) is None for text in texts])
    created = numbers_of(top, snapshot, "created")
    eligible = statement & np.isfinite(created)
    if eligible.sum() < 2:
        return None
    subject = _Subject.find(query.text, [set(snapshot.terms(text)) for text in texts], snapshot)
    about = eligible & subject.about
    if not about[subject.lead] or about.sum() < 2 or not top.score[subject.lead] > 0.0:
        return None
    features = compute_features(query, top, texts, vectors_of(top, snapshot), subject.lead)
    chance = compute_chance(features, np.array(list(WEIGHTS.values())), BIAS, subject.lead)
    return VersionCandidates(np.where(about, chance, 0.0), created, subject.lead, features)


def compute_chance(features: Floats, weights: Floats, bias: float, lead: int) -> Floats:
    """The probability of every candidate, at most `MOST`; that of the lead is fixed."""
    chance = np.minimum(1.0 / (1.0 + np.exp(-(features @ weights + bias))), MOST)
    chance[lead] = MOST
    return chance


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a question is about. `lead`: the place of the first text about it; `about`: which texts are."""

    lead: int
    about: NDArray[np.bool_]

    @classmethod
    def find(cls, question: str, terms: Sequence[set[str]], snapshot: Snapshot) -> _Subject:
        names = {term for name in find_names(question) for term in snapshot.terms(name)}
        named = [len(names & held) for held in terms]
        if max(named) > 0:
            lead = named.index(max(named))
            return cls(lead, np.array([names & terms[lead] <= held for held in terms]))
        weights = snapshot.term_weights(question)
        phrase = {term for word in find_subject_words(question) for term in snapshot.terms(word)} & weights.keys()
        mass = _weigh(phrase, terms, weights)
        if mass.max() > 0.0:
            lead = int(np.argmax(mass >= mass.max() - 1e-9))
            shares = _weigh(phrase & terms[lead], terms, weights) / mass[lead]
            return cls(lead, shares >= PHRASE_SHARE)
        matched = terms[0] & weights.keys()
        total = float(_weigh(matched, terms[:1], weights)[0])
        shares = _weigh(matched, terms, weights) / total if total > 0.0 else np.zeros(len(terms))
        return cls(0, shares >= TERM_SHARE)


def compute_features(query: Query, top: Ranking, texts: Sequence[str], vectors: Vectors, lead: int) -> Floats:
    """One row per candidate, one column per name of `WEIGHTS`."""
    vectors = vectors.astype(np.float64)
    to_query = np.einsum("ij,j->i", vectors, np.asarray(query.vector, np.float64))
    known = {name.lower() for name in find_names(query.text)}
    value_kinds = [find_value_kinds(text, known) for text in texts]
    answer_kinds = find_answer_kinds(query.text)
    columns = {
        "likeness": np.einsum("ij,j->i", vectors, vectors[lead]),
        "relevance": np.clip(to_query / max(float(to_query[lead]), 1e-6), 0.0, 2.0),
        "score": top.score / top.score[lead],
        "kinds": [len(kinds & value_kinds[lead]) / max(len(value_kinds[lead]), 1) for kinds in value_kinds],
        "answer": [
            any(may_answer(kind, text, known) for kind in answer_kinds) if answer_kinds else 0.5 for text in texts
        ],
        "change": [states_change(text) for text in texts],
        "hint": [hints_at_change(text) for text in texts],
        "mention": [is_mention(text) for text in texts],
    }
    return np.stack([np.asarray(columns[name], np.float64) for name in WEIGHTS], axis=1)


def _weigh(wanted: set[str], terms: Sequence[set[str]], weights: Mapping[str, float]) -> Floats:
    """The weight of the wanted terms that each text has, added in the order of the terms."""
    return np.array([sum(weights[term] for term in sorted(wanted & held)) for held in terms], np.float64)
