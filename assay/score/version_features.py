"""Which candidates state the fact that a question asks about: a logistic formula over what both say.

The subject of a question is its names that a candidate has (no titles, no abbreviations); without such names, its
noun phrases ("the ticket system"). The lead is the candidate about it that answers best by words and vectors. A version
has the names of the lead, or half of the weight (idf) of its noun phrases; of a question with neither, every candidate
may be one. A candidate about another number of what the question numbers ("pole 27" for "pole 3") is about another
subject.

    likeness        cos(i, lead)                    change     it says that something changed: "moved", "no longer"
    relevance       cos(query, i) / cos(query, lead)  hint     it has "now", "new", "not", …
    score           score(i) / score(lead)          mention    it tells that something was talked about
    likeness_gap,   cos(i, lead), cos(query, i)     tentative  it may be a plan, a wish or an exception
    relevance_gap   minus the best of the others    new_name   it has a capitalised word that neither the question
    neighbour       cos(i, nearest of the others)              nor the lead has
    kinds           share of the lead's kinds of    length     log(characters)
                    values (number, date, name)
    subject         share (idf) of the lead's terms of the question's noun phrases; 1 for a question with a name
    terms           share (idf) of the lead's query terms
    shared          share (idf) of the lead's terms that the question does not have

The others: candidates about the subject without the lead and without i. Whether a statement is nearer to the lead than
the subject's other statements says more than how near it is.

`WEIGHTS` come from benchmarks/train_currency.py, fitted on the dev split of changing_facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.engine.facts import chunks_of, numbers_of, vectors_of
from assay.protocols import Snapshot
from assay.text.numbered_things import find_asked_things, names_another
from assay.text.questions import cut_time_clause, find_subject_names, find_subject_words
from assay.text.statements import (
    find_names,
    find_turns,
    find_value_kinds,
    hints_at_change,
    is_mention,
    is_tentative,
    states_change,
)
from assay.types import Floats, Query, Ranking

WEIGHTS: Mapping[str, float] = {
    "likeness": 10.32,
    "relevance": 5.08,
    "score": 4.23,
    "likeness_gap": 6.56,
    "relevance_gap": 8.82,
    "neighbour": -5.43,
    "kinds": 1.96,
    "change": 2.37,
    "hint": 1.24,
    "mention": -5.38,
    "tentative": -2.48,
    "subject": 1.95,
    "terms": -0.94,
    "shared": 3.68,
    "new_name": 1.67,
    "length": 1.49,
}
BIAS = -17.91
MOST = 0.97
"""The highest probability that a candidate states the fact, and that of the lead."""
PHRASE_SHARE = 0.5
"""The share of the lead's weight in noun phrases that makes a candidate one about its subject."""
LEAD_COSINE, LEAD_MENTION, LEAD_SUBJECT = 0.5, -0.1, 0.2
"""What counts for the lead beside its score: cos(query, i), `mention`, and its share of the noun phrases."""


@dataclass(frozen=True, slots=True)
class VersionCandidates:
    """`chance`: the probability that each candidate states the fact; 0 for one about another subject. `created`: when
    each was created. `lead`: the place of the lead. `features`: a column for each name of `WEIGHTS`."""

    chance: Floats
    created: Floats
    lead: int
    features: Floats


def find_versions(query: Query, top: Ranking, snapshot: Snapshot, max_characters: int) -> VersionCandidates | None:
    """Judge the candidates of a query with a vector; None when fewer than two can be versions.

    One is enough when the question has a name or numbers a thing, and no candidate is a turn: it is the only one about
    that name or number.
    """
    chunks = chunks_of(top, snapshot)
    texts = [chunk.text if chunk is not None else "" for chunk in chunks]
    created = numbers_of(top, snapshot, "created")
    turns = np.array(find_turns(texts))
    eligible = np.array([0 < len(text) <= max_characters for text in texts]) & ~turns & np.isfinite(created)
    asked = find_asked_things(cut_time_clause(query.text))
    eligible &= ~np.array([names_another(asked, text) for text in texts])
    if not eligible.any():
        return None
    pool = _Pool.read(query, top, texts, snapshot)
    names = pool.find_names(eligible)
    lead = pool.find_lead(eligible, names)
    about = eligible & np.array([names & pool.terms[lead] <= held for held in pool.terms])
    if pool.has_phrase and not names:
        about &= pool.find_subject_shares(lead) >= PHRASE_SHARE
    if about.sum() < (1 if (names or asked) and not turns.any() else 2) or not top.score[lead] > 0.0:
        return None
    features = compute_features(pool, about, lead, names)
    chance = compute_chance(features, np.array(list(WEIGHTS.values())), BIAS, lead)
    return VersionCandidates(np.where(about, chance, 0.0), created, lead, features)


def compute_chance(features: Floats, weights: Floats, bias: float, lead: int) -> Floats:
    """The probability of every candidate, at most `MOST`; that of the lead is fixed."""
    chance = np.minimum(1.0 / (1.0 + np.exp(-(features @ weights + bias))), MOST)
    chance[lead] = MOST
    return chance


@dataclass(frozen=True, slots=True, eq=False)
class _Pool:
    """A question and the texts that may answer it: terms, scores, and cosines with the query and with each other.

    `phrase`: the terms of the question's noun phrases, all its terms when no text has any (`has_phrase`). `idf`: of its
    terms.
    """

    question: str
    texts: Sequence[str]
    terms: Sequence[set[str]]
    score: Floats
    to_query: Floats
    cosine: Floats
    phrase: set[str]
    has_phrase: bool
    idf: Mapping[str, float]
    snapshot: Snapshot

    @classmethod
    def read(cls, query: Query, top: Ranking, texts: Sequence[str], snapshot: Snapshot) -> _Pool:
        terms = [set(snapshot.terms(text)) for text in texts]
        vectors = vectors_of(top, snapshot).astype(np.float64)
        to_query = np.einsum("ij,j->i", vectors, np.asarray(query.vector, np.float64))
        idf = snapshot.term_weights(query.text)
        clause = cut_time_clause(query.text)
        phrase = {term for word in find_subject_words(clause) for term in snapshot.terms(word)} & idf.keys()
        has_phrase = any(phrase & held for held in terms)
        phrase = phrase if has_phrase else set(idf)
        cosine = np.einsum("ik,jk->ij", vectors, vectors)
        return cls(query.text, texts, terms, top.score, to_query, cosine, phrase, has_phrase, idf, snapshot)

    def find_names(self, eligible: NDArray[np.bool_]) -> set[str]:
        """The terms of the question's names; empty when no statement has any."""
        names = {term for name in find_subject_names(self.question) for term in self.snapshot.terms(name)}
        return (
            names if any(names & held for held, is_one in zip(self.terms, eligible, strict=True) if is_one) else set()
        )

    def find_lead(self, eligible: NDArray[np.bool_], names: set[str]) -> int:
        """The place of the statement that answers best, among those with the most of the names."""
        named = np.where(eligible, [len(names & held) for held in self.terms], -1)
        fit = self.score + LEAD_COSINE * self.to_query + LEAD_MENTION * np.array([is_mention(t) for t in self.texts])
        if not names:
            mass = _weigh(self.phrase, self.terms, self.idf)
            fit = fit + LEAD_SUBJECT * mass / max(float(mass.max()), 1e-9)
        return int(np.argmax(np.where(named == named.max(), fit, -np.inf)))

    def find_subject_shares(self, lead: int) -> Floats:
        """The share of the lead's weight in noun phrases that each text has."""
        return _share(self.phrase & self.terms[lead], self.terms, self.idf)


def compute_features(pool: _Pool, about: NDArray[np.bool_], lead: int, names: set[str]) -> Floats:
    """One row per candidate, one column per name of `WEIGHTS`."""
    texts, terms, likeness = pool.texts, pool.terms, pool.cosine[lead]
    known = {name.lower() for name in find_names(pool.question)}
    value_kinds = [find_value_kinds(text, known) for text in texts]
    capitals = [{name.lower() for name in find_names(f"– {text}")} for text in texts]
    lead_idf = pool.snapshot.term_weights(texts[lead])
    columns = {
        "likeness": likeness,
        "relevance": np.clip(pool.to_query / max(float(pool.to_query[lead]), 1e-6), 0.0, 2.0),
        "score": pool.score / pool.score[lead],
        "likeness_gap": _gap(likeness, about, lead),
        "relevance_gap": _gap(pool.to_query, about, lead),
        "neighbour": _nearest(pool.cosine, about, lead),
        "kinds": [len(kinds & value_kinds[lead]) / max(len(value_kinds[lead]), 1) for kinds in value_kinds],
        "change": [states_change(text) for text in texts],
        "hint": [hints_at_change(text) for text in texts],
        "mention": [is_mention(text) for text in texts],
        "tentative": [is_tentative(text) for text in texts],
        "subject": np.ones(len(texts)) if names else pool.find_subject_shares(lead),
        "terms": _share(pool.idf.keys() & terms[lead], terms, pool.idf),
        "shared": _share((terms[lead] & lead_idf.keys()) - pool.idf.keys() - names, terms, lead_idf),
        "new_name": [bool(held - known - capitals[lead]) for held in capitals],
        "length": [np.log(max(len(text), 1)) for text in texts],
    }
    return np.stack([np.asarray(columns[name], np.float64) for name in WEIGHTS], axis=1)


def _gap(values: Floats, about: NDArray[np.bool_], lead: int) -> Floats:
    """Each value minus the best of the others; 0 without others."""
    gap = np.zeros(len(values))
    for i in range(len(values)):
        others = about.copy()
        others[[i, lead]] = False
        if others.any():
            gap[i] = values[i] - values[others].max()
    return gap


def _nearest(cosine: Floats, about: NDArray[np.bool_], lead: int) -> Floats:
    """The cosine of each candidate with the nearest of the others, at least 0."""
    others = about.copy()
    others[lead] = False
    others_of = others & ~np.eye(len(cosine), dtype=np.bool_)
    return np.asarray(np.where(others_of, cosine, 0.0).max(axis=1))


def _share(wanted: set[str], terms: Sequence[set[str]], weights: Mapping[str, float]) -> Floats:
    """The share of the wanted terms that each text has, by weight; 0 when none is wanted."""
    return _weigh(wanted, terms, weights) / max(sum(weights[term] for term in sorted(wanted)), 1e-9)


def _weigh(wanted: set[str], terms: Sequence[set[str]], weights: Mapping[str, float]) -> Floats:
    """The weight of the wanted terms that each text has, added in the order of the terms."""
    return np.array([sum(weights[term] for term in sorted(wanted & held)) for held in terms], np.float64)
