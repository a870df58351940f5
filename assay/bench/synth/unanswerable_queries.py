"""Unanswerable queries: an identifier that does not occur, or two subjects that occur in no document together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.bench.synth.collection_index import CollectionIndex
from assay.bench.synth.identifier_queries import find_identifiers
from assay.bench.synth.plain_text import to_query_text
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.synthetic_query import RelevantDocument, SyntheticQuery, seeded_hash
from assay.text.normalisation import normalise

_NUMBERED = re.compile(r"(?:[A-Za-z][A-Za-z_]*[-_.]|v|\#)(?=.*\d.*\d)\d[\d.-]*")  # CVE-2024-1234  v4.2.0  #34524
_DIGIT = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\d")  # a year is kept
MAX_PARTNERS = 8
"""The number of second subjects tried for a subject."""
SUBJECT_WORDS = (2, 3)
"""The range of words of a subject."""


def make_unanswerable_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """Alternate identifiers and pairs. The documents they come from are judged with grade 0."""
    makers = [_make_absent_names(index, seed), _make_unrelated_pairs(index, seed)]
    while makers:
        for maker in [*makers]:
            query = next(maker, None)
            if query is None:
                makers.remove(maker)
            else:
                yield query


def _make_absent_names(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """An identifier with other digits, such as a release or an advisory that does not exist."""
    numbered = (name for name in find_identifiers(index) if _NUMBERED.fullmatch(name.text))
    for name in draw_round_robin(numbered, lambda n: (str(n.sentence.document), n.text), seed, "absent"):
        text = _renumber(name.text, seed)
        terms = index.analyser.query_terms(text)
        whole = normalise(text)
        if not index.documents_with(terms) and not any(
            whole in text_of_document for text_of_document in index.normalised_texts
        ):
            yield SyntheticQuery("unanswerable", text, (RelevantDocument(name.sentence.document, 0),))


def _renumber(name: str, seed: int) -> str:
    def other(found: re.Match[str]) -> str:
        return found[0] if len(found[0]) > 1 else str(seeded_hash(seed, "digit", name, found.start()) % 9 + 1)

    return _DIGIT.sub(other, name)


def _make_unrelated_pairs(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """The subjects of two documents: no document contains one subject and any term of the other."""
    subjects = [*draw_round_robin(_find_subjects(index), lambda one: (str(one[0]), one[1]), seed, "pair")]
    while len(subjects) > 1:
        one, subject = subjects.pop(0)
        for place, (other, other_subject) in enumerate(subjects[:MAX_PARTNERS]):
            if one != other and not _co_occur(index, subject, other_subject):
                del subjects[place]
                yield SyntheticQuery(
                    "unanswerable", f"{subject} {other_subject}", (RelevantDocument(one, 0), RelevantDocument(other, 0))
                )
                break


def _find_subjects(index: CollectionIndex) -> Iterator[tuple[int, str]]:
    """Titles and headings of two or three informative words and nothing else: "parental leave", "radio parser"."""
    for place, document in enumerate(index.documents):
        steps = [document.title, *(p.section.split(" > ")[-1] for p in document.passages)]
        for step in dict.fromkeys(steps):
            words = index.words(step)
            whole = " ".join(word.text for word in words) == step
            if whole and len(words) in SUBJECT_WORDS and all(word.is_informative for word in words):
                yield place, to_query_text(words)


def _co_occur(index: CollectionIndex, first: str, second: str) -> bool:
    first_terms, second_terms = index.analyser.query_terms(first), index.analyser.query_terms(second)
    return any(index.documents_with([*first_terms, term]) for term in second_terms) or any(
        index.documents_with([*second_terms, t]) for t in first_terms
    )
