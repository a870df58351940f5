"""What the collection says, looked up by word: who holds these terms, in which sentence, and is it said elsewhere too?

A query is judged here and nowhere else. Its terms are those that a search would look for (the analyser's
`query_terms`); a document *holds* a query when its title and text have all of them. Law of `judged`:

    every document that holds the query has a sentence that holds it, and is relevant by that sentence;
    a document that holds its terms only scattered makes the query ambiguous, and it is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.bench.collection import CollectionDocument
from assay.bench.synth.generated import Relevant, Spot
from assay.bench.synth.plain import Sentence, Word, sentences_of, words_of
from assay.text.analyse import Analyser, normal, stop_words

MOST_RELEVANT = 3
"""Documents that may hold one query; what more of them say identifies none."""
SHINGLE = 5
"""Terms in a row by which passages are compared."""
COPIED = 0.5
"""A passage of which more than this share of shingles stands in other documents is boilerplate or a copy."""
_BASE = np.uint64(1_000_003)


@dataclass(frozen=True)
class Library:
    """Documents with their words looked up. Places of documents are positions in `documents`."""

    documents: Sequence[CollectionDocument]
    analyser: Analyser

    @cached_property
    def _terms(self) -> list[list[list[str]]]:
        """document → passage → terms, the title as a passage of its own before them."""
        said = self.analyser.terms
        return [[said(d.title), *(said(f"{p.section}\n{p.text}") for p in d.passages)] for d in self.documents]

    @cached_property
    def held(self) -> list[frozenset[str]]:
        """document → its terms."""
        return [frozenset(term for passage in passages for term in passage) for passages in self._terms]

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, terms in enumerate(self.held):
            for term in sorted(terms):
                found.setdefault(term, []).append(place)
        return found

    @cached_property
    def _stop(self) -> frozenset[str]:
        return stop_words(self.analyser.language)

    def frequency(self, text: str) -> int:
        """In how many documents the rarest term of a word stands."""
        return min((len(self._postings.get(term, ())) for term in self.analyser.query_terms(text)), default=0)

    def holders(self, terms: Sequence[str]) -> list[int]:
        """The documents that hold all of some terms."""
        lists = sorted((self._postings.get(term, []) for term in terms), key=len)
        if not lists:
            return []
        return [place for place in lists[0] if self.held[place].issuperset(terms)]

    def words(self, text: str) -> list[Word]:
        return words_of(text, self._stop)

    @cached_property
    def sentences(self) -> list[list[Sentence]]:
        """document → its sentences, in order."""
        return [[*sentences_of(place, document)] for place, document in enumerate(self.documents)]

    @cached_property
    def own_sentences(self) -> list[Sentence]:
        """Sentences that tell something, in passages that are neither boilerplate nor a copy."""
        fresh = self._fresh
        every = (sentence for sentences in self.sentences for sentence in sentences)
        return [s for s in every if fresh[s.document][s.passage] and s.tells(self._stop)]

    @cached_property
    def normal(self) -> list[str]:
        """document → title and text, folded so that a name is found letter for letter whatever its case."""
        return [normal(f"{document.title}\n{document.text}") for document in self.documents]

    @cached_property
    def _fresh(self) -> list[list[bool]]:
        """document → passage → is it the document's own, and no copy of what others say?"""
        numbers: dict[str, int] = {}
        coded = [
            (place, np.array([numbers.setdefault(t, len(numbers) + 1) for t in terms], np.uint64))
            for place, passages in enumerate(self._terms)
            for terms in passages[1:]
        ]
        shingles = [_shingles(codes) for _, codes in coded]
        shared = _shared(shingles, [place for place, _ in coded])
        found: list[list[bool]] = [[] for _ in self.documents]
        for (place, _), mine in zip(coded, shingles, strict=True):
            at = np.minimum(np.searchsorted(shared, mine), max(len(shared) - 1, 0))
            copies = (shared[at] == mine).mean() if len(mine) and len(shared) else 0.0
            found[place].append(bool(copies <= COPIED))
        return found

    def judged(self, query: str, gold: int) -> tuple[Relevant, ...]:
        """The relevant documents of a query made from `gold`, each with its sentence; none when it is ambiguous."""
        terms = self.analyser.query_terms(query)
        holders = self.holders(terms)
        if gold not in holders or len(holders) > MOST_RELEVANT:
            return ()
        found = [Relevant(place, 1, self.saying(place, terms)) for place in holders]
        return tuple(found) if all(relevant.spots for relevant in found) else ()

    def saying(self, place: int, terms: Sequence[str]) -> tuple[Spot, ...]:
        """The sentences of a document that hold all of some terms."""
        wanted = set(terms)
        text = self.documents[place].text
        return tuple(
            Spot(s.start, s.end)
            for s in self.sentences[place]
            if wanted.issubset(self.analyser.terms(text[s.start : s.end]))
        )

    def copied(self, query: str, gold: int) -> float:
        """The share of a query's terms that its document holds: 1 means every word can be looked up."""
        terms = self.analyser.query_terms(query)
        return sum(term in self.held[gold] for term in terms) / len(terms) if terms else 0.0


def _shingles(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for every run of SHINGLE terms."""
    if len(codes) < SHINGLE:
        return np.empty(0, np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(codes, SHINGLE)
    powers = np.array([pow(int(_BASE), i, 1 << 64) for i in range(SHINGLE)], np.uint64)
    found: NDArray[np.uint64] = (windows * powers).sum(axis=1, dtype=np.uint64)
    return found


def _shared(shingles: Sequence[NDArray[np.uint64]], places: Sequence[int]) -> NDArray[np.uint64]:
    """The shingles that stand in more than one document, in order."""
    if not shingles:
        return np.empty(0, np.uint64)
    keys = np.concatenate(shingles)
    owners = np.repeat(np.array(places, np.int64), [len(mine) for mine in shingles])
    order = np.lexsort((owners, keys))
    keys, owners = keys[order], owners[order]
    again = (keys[1:] == keys[:-1]) & (owners[1:] != owners[:-1])
    return np.unique(keys[1:][again])
