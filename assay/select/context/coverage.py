"""The coverage packer: sentences by relevance and by what they cover of the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_choice, check_number, check_whole
from assay.engine.context import PackCandidate, PackedContext
from assay.errors import AssayError
from assay.protocols import Snapshot
from assay.select.context.candidates import SentencePool, make_pool
from assay.select.context.finish import Packing
from assay.select.context.greedy import choose_greedily
from assay.select.context.hop_paths import HopBonus, score_hops
from assay.select.context.scorers import NONE, SENTENCE_SCORERS
from assay.select.context.slots import QuerySlots
from assay.types import Floats, Note, Query

MOST_SCORED = 64
SHOWN_BONUS = 0.25
"""The bonus on a path from which on an explanation names it."""
_LEAST_GAIN = 0.01  # of the least relevant sentence: it still fills what is left of a budget


@dataclass(frozen=True, slots=True)
class Coverage:
    """Packs the sentences that are most relevant and cover most of the query, per token.

        next      = argmax gain(s) / cost(s)^power       of the sentences that fit
        gain(s)   = relevance(s) + terms · idf share of the query's terms that s covers first
                  + names · (s is the first of a document the query names)
                  + facets · facets of the query that s covers first
                  + hops · (a chosen sentence of another document names the document of s)
                  + paths · bonus of s on a path from the query's names over another name (hop_paths.py)
        relevance = z(score of its chunk) + words · z(idf share of the query's terms in s) + sentence · z(scorer)
                  + names / 4 · (the query names its document), shifted so that the lowest is 0.01

    z(x) = (x − mean) / standard deviation over the sentences of the pool; terms in the header count for every sentence
    under it. cost(s) is in tokens, with citation and header where s is the first to need them. The result is compared
    with the best single sentence.

    `paths` is off by default: it finds evidence behind a hop in structured corpora and loses some in prose.

    `tokens` is the budget, `pool` how many candidates are read at least, `headers` whether titles, sections, versions
    and dates are written above the sentences. `scorer` names the sentence scorer ("embedding": the cosine with vectors
    of `model`; "none": words only). If the model is missing or the query has no text, words alone decide, and a note
    says so. The text and its tokens: emission.py.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tokens: int = 400
    pool: int = 20
    headers: bool = True
    scorer: str = "embedding"
    model: str = "minilm"
    words: float = 0.5
    sentence: float = 0.5
    terms: float = 8.0
    names: float = 2.0
    facets: float = 0.5
    hops: float = 2.5
    paths: float = 0.0
    power: float = 0.25

    def __post_init__(self) -> None:
        check_whole("coverage.tokens", self.tokens, 1)
        check_whole("coverage.pool", self.pool, 1)
        check_choice("coverage.scorer", self.scorer, (NONE, *SENTENCE_SCORERS))
        for name in ("words", "sentence", "terms", "names", "facets", "hops", "paths"):
            check_number(f"coverage.{name}", getattr(self, name), 0.0, 100.0)
        check_number("coverage.power", self.power, 0.0, 1.0)

    def pack(self, query: Query, candidates: Sequence[PackCandidate], snapshot: Snapshot) -> PackedContext:
        pool = make_pool(candidates, headers=self.headers)
        if not len(pool):  # a snapshot without texts may have no terms either
            return Packing("coverage", self.tokens, candidates, pool).finish([])
        slots = QuerySlots(query, pool, snapshot)
        scores, notes = self.score_sentences(query, pool, slots)
        return self.choose(candidates, pool, slots, scores, notes)

    def score_sentences(
        self, query: Query, pool: SentencePool, slots: QuerySlots
    ) -> tuple[SentenceScores, tuple[Note, ...]]:
        """Return the scorer's number of each sentence, and its bonus on hop paths; zeros and a note if it cannot run.

        Of a large pool the MOST_SCORED sentences are scored that are best by chunk and words; the others get the lowest
        number. That bounds the time of a search that sees its sentences for the first time.
        """
        if self.scorer == NONE or not self.sentence:
            return SentenceScores(np.zeros(len(pool))), ()
        if not query.text.strip():
            note = Note("info", "the query has no text: sentences are chosen by their chunks")
            return SentenceScores(np.zeros(len(pool))), (note,)
        try:
            promise = standardise(pool.scores) + self.words * standardise(slots.overlap)
            places = np.argsort(-promise, kind="stable")[:MOST_SCORED]
            texts = [pool.sentences[place].text for place in places.tolist()]
            found = self._score([query.text], texts)[0]
            scores = np.full(len(pool), found.min())
            scores[places] = found
            return SentenceScores(scores, score_hops(query.text, pool, scores, self._score) if self.paths else None), ()
        except AssayError as error:
            text = f"sentences are scored by words alone: {error.message}"
            return SentenceScores(np.zeros(len(pool))), (Note("degraded", text, cure=error.cure),)

    def _score(self, queries: Sequence[str], sentences: Sequence[str]) -> Floats:
        return SENTENCE_SCORERS[self.scorer](queries, sentences, self.model)

    def choose(
        self,
        candidates: Sequence[PackCandidate],
        pool: SentencePool,
        slots: QuerySlots,
        scores: SentenceScores,
        notes: tuple[Note, ...] = (),
    ) -> PackedContext:
        """Pack sentences with these slots and scores."""
        relevance = standardise(pool.scores) + self.words * standardise(slots.overlap)
        relevance = relevance + self.sentence * standardise(scores.values)
        relevance = relevance + self.names / 4.0 * slots.named.any(axis=1)
        objective = SlotCoverage(self, pool, slots, relevance - relevance.min() + _LEAST_GAIN, scores.hops)
        choices = choose_greedily(pool, objective, self.tokens, self.power)
        return Packing("coverage", self.tokens, candidates, pool, notes).finish(choices)


@dataclass(frozen=True, slots=True, eq=False)
class SentenceScores:
    """What a scorer says of the sentences of a pool: a number each, and their bonus on hop paths, if there are any."""

    values: Floats
    hops: HopBonus | None = None


@dataclass
class SlotCoverage:
    """The objective of the coverage packer, and what is covered so far."""

    weights: Coverage
    pool: SentencePool
    slots: QuerySlots
    relevance: Floats
    paths: HopBonus | None = None
    _terms: np.ndarray = field(init=False)
    _names: np.ndarray = field(init=False)
    _facets: np.ndarray = field(init=False)
    _hops: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._terms = np.ones(self.slots.terms.shape[1], np.bool_)  # not covered yet
        self._names = np.ones(self.slots.named.shape[1], np.bool_)
        self._facets = np.ones(self.slots.faceted.shape[1], np.bool_)
        self._hops = np.full(len(self.pool), -1)  # the chosen sentence that names its document

    def gains(self) -> Floats:
        slots, weights = self.slots, self.weights
        gains: Floats = (
            self.relevance
            + weights.terms * ((slots.terms & self._terms).astype(np.float64) @ slots.term_weights)
            + weights.names * (slots.named & self._names).any(axis=1)
            + weights.facets * (slots.faceted & self._facets).sum(axis=1)
            + weights.hops * (self._hops >= 0)
        )
        if self.paths is not None:
            gains = gains + weights.paths * self.paths.values
        return gains

    def take(self, place: int) -> tuple[str, ...]:
        slots = self.slots
        terms, names = slots.terms[place] & self._terms, slots.named[place] & self._names
        facets, hop = slots.faceted[place] & self._facets, int(self._hops[place])
        self._terms &= ~terms
        self._names &= ~names
        self._facets &= ~facets
        self._hops[(self._hops < 0) & slots.mentions[place]] = place
        covered = [slots.term_names[i] for i in np.flatnonzero(terms)]
        covered += [f"the document {slots.names[i]!r}" for i in np.flatnonzero(names)]
        covered += [f"the facet {slots.facets[i]!r}" for i in np.flatnonzero(facets)]
        if hop >= 0:
            candidate = self.pool.candidates[self.pool.sentences[hop].candidate]
            covered.append(f"a document that [{candidate.citation}] names")
        if self.paths is not None and self.paths.values[place] > SHOWN_BONUS:
            covered.append(f"a path over {self.paths.names[place]!r}")
        return tuple(covered)


def standardise(values: Floats) -> Floats:
    """Standard scores; 0 where all values are equal."""
    deviation = float(values.std()) if len(values) and values.max() > values.min() else 0.0
    if deviation == 0.0:
        return np.zeros(len(values))
    scaled: Floats = (values - float(values.mean())) / deviation
    return scaled
