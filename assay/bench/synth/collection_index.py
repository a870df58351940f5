"""An inverted index over a collection that judges synthetic queries.

A query's terms are those of a search (the analyser's `query_terms`). A document matches if its title and text contain
all of them. Law of `judge_query`:

    every matching document has a sentence with all terms, and is relevant by that sentence;
    a matching document without such a sentence makes the query ambiguous, and it is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.bench.collection import CollectionDocument
from assay.bench.synth.plain_text import Sentence, Word, read_sentences, split_words
from assay.bench.synth.synthetic_query import EvidenceSpan, RelevantDocument
from assay.text.analyser import Analyser, load_stop_words
from assay.text.normalisation import normalise

MAX_RELEVANT = 3
"""The largest number of documents that may match a query."""
SHINGLE = 5
"""Consecutive terms per shingle, for comparing passages."""
MAX_COPIED_SHARE = 0.5
"""A passage with a larger share of shingles from other documents is boilerplate or a copy."""
_BASE = np.uint64(1_000_003)


@dataclass(frozen=True)
class CollectionIndex:
    """Documents with their postings. A document is named by its position in `documents`."""

    documents: Sequence[CollectionDocument]
    analyser: Analyser

    @cached_property
    def _terms(self) -> list[list[list[str]]]:
        """document → passage → terms; the title is the first passage."""
        analyse = self.analyser.terms
        return [[analyse(d.title), *(analyse(f"{p.section}\n{p.text}") for p in d.passages)] for d in self.documents]

    @cached_property
    def document_terms(self) -> list[frozenset[str]]:
        """document → its terms."""
        return [frozenset(term for passage in passages for term in passage) for passages in self._terms]

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, terms in enumerate(self.document_terms):
            for term in sorted(terms):
                found.setdefault(term, []).append(place)
        return found

    @cached_property
    def _stop(self) -> frozenset[str]:
        return load_stop_words(self.analyser.language)

    def frequency(self, text: str) -> int:
        """The document frequency of the rarest term of a word."""
        return min((len(self._postings.get(term, ())) for term in self.analyser.query_terms(text)), default=0)

    def documents_with(self, terms: Sequence[str]) -> list[int]:
        """The documents that contain all of the terms."""
        lists = sorted((self._postings.get(term, []) for term in terms), key=len)
        if not lists:
            return []
        return [place for place in lists[0] if self.document_terms[place].issuperset(terms)]

    def words(self, text: str) -> list[Word]:
        return split_words(text, self._stop)

    @cached_property
    def sentences(self) -> list[list[Sentence]]:
        """document → its sentences, in order."""
        return [[*read_sentences(place, document)] for place, document in enumerate(self.documents)]

    @cached_property
    def original_sentences(self) -> list[Sentence]:
        """Sentences of running text in passages that are neither boilerplate nor a copy."""
        is_original = self._is_original
        every = (sentence for sentences in self.sentences for sentence in sentences)
        return [s for s in every if is_original[s.document][s.passage] and s.is_running_text(self._stop)]

    @cached_property
    def normalised_texts(self) -> list[str]:
        """document → title and text, normalised so that a name is found letter by letter in any case."""
        return [normalise(f"{document.title}\n{document.text}") for document in self.documents]

    @cached_property
    def _is_original(self) -> list[list[bool]]:
        """document → passage → whether it is original, not copied from other documents."""
        numbers: dict[str, int] = {}
        coded = [
            (place, np.array([numbers.setdefault(t, len(numbers) + 1) for t in terms], np.uint64))
            for place, passages in enumerate(self._terms)
            for terms in passages[1:]
        ]
        shingles = [_shingles(codes) for _, codes in coded]
        shared = _shared(shingles, [place for place, _ in coded])
        found: list[list[bool]] = [[] for _ in self.documents]
        for (place, _), passage_shingles in zip(coded, shingles, strict=True):
            at = np.minimum(np.searchsorted(shared, passage_shingles), max(len(shared) - 1, 0))
            copies = (shared[at] == passage_shingles).mean() if len(passage_shingles) and len(shared) else 0.0
            found[place].append(bool(copies <= MAX_COPIED_SHARE))
        return found

    def judge_query(self, query: str, gold: int) -> tuple[RelevantDocument, ...]:
        """The relevant documents of a query made from `gold`, each with its sentences; none if it is ambiguous."""
        terms = self.analyser.query_terms(query)
        holders = self.documents_with(terms)
        if gold not in holders or len(holders) > MAX_RELEVANT:
            return ()
        found = [RelevantDocument(place, 1, self.spans_with(place, terms)) for place in holders]
        return tuple(found) if all(relevant.spans for relevant in found) else ()

    def spans_with(self, place: int, terms: Sequence[str]) -> tuple[EvidenceSpan, ...]:
        """The sentences of a document that contain all of the terms."""
        wanted = set(terms)
        text = self.documents[place].text
        return tuple(
            EvidenceSpan(s.start, s.end)
            for s in self.sentences[place]
            if wanted.issubset(self.analyser.terms(text[s.start : s.end]))
        )

    def copied_share(self, query: str, gold: int) -> float:
        """The share of a query's terms that occur in its document."""
        terms = self.analyser.query_terms(query)
        return sum(term in self.document_terms[gold] for term in terms) / len(terms) if terms else 0.0


def _shingles(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of every run of SHINGLE terms."""
    if len(codes) < SHINGLE:
        return np.empty(0, np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(codes, SHINGLE)
    powers = np.array([pow(int(_BASE), i, 1 << 64) for i in range(SHINGLE)], np.uint64)
    found: NDArray[np.uint64] = (windows * powers).sum(axis=1, dtype=np.uint64)
    return found


def _shared(shingles: Sequence[NDArray[np.uint64]], places: Sequence[int]) -> NDArray[np.uint64]:
    """The shingles that occur in more than one document, sorted."""
    if not shingles:
        return np.empty(0, np.uint64)
    keys = np.concatenate(shingles)
    owners = np.repeat(np.array(places, np.int64), [len(passage_shingles) for passage_shingles in shingles])
    order = np.lexsort((owners, keys))
    keys, owners = keys[order], owners[order]
    again = (keys[1:] == keys[:-1]) & (owners[1:] != owners[:-1])
    return np.unique(keys[1:][again])
