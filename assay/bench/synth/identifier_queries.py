"""Queries by identifier (SALT_PORT, CVE-2024-1234, --dry-run) that few documents contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.bench.synth.collection_index import MAX_RELEVANT, CollectionIndex
from assay.bench.synth.plain_text import Sentence, lower_word
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.sentence_queries import select_rarest
from assay.bench.synth.synthetic_query import RelevantDocument, SyntheticQuery, seeded_hash
from assay.text.identifiers import extract_identifiers
from assay.text.normalisation import normalise

IDENTIFIER_LENGTH = (4, 40)
"""The range of lengths of an identifier, in characters."""

# Times, amounts, addresses, file names of pictures and pages look like identifiers, but nobody searches for them.
_NOT_SEARCHED = re.compile(
    r"""\d | \.[a-z].* | .*[@\\]
      | .*\.(?:com|org|net|io|dev|co|html?|md|png|jpe?g|gif|svg|pdf)\b.* | .*//.* | (?:[a-z]\.)+[a-z]
      | [^\d_]*\d+(?:st|nd|rd|th|px|pt|min|h|d)  | .*['’]s | (?:Q|H|FY|W)\d.* | .*-\d{1,2}
      | (?:first|second|last|re|non|pre|post|self|sub)-.*""",
    re.VERBOSE | re.IGNORECASE,
)


# Keys, colours and hashes: alternating letters and digits, or hexadecimal digits only.
_RANDOM = re.compile(r"[A-Za-z]\d+[A-Za-z]+\d|\d[A-Za-z]+\d+[A-Za-z]|\A#?[0-9a-fA-F]{6,}\Z")


@dataclass(frozen=True, slots=True)
class IdentifierUse:
    """An identifier as it is spelt in a sentence."""

    text: str
    sentence: Sentence


def find_identifiers(index: CollectionIndex) -> Iterator[IdentifierUse]:
    """Yield every searchable identifier, once per document, at its first occurrence."""
    searchable: dict[str, bool] = {}
    for sentences in index.sentences:
        seen: set[str] = set()
        for sentence in sentences:
            if "{{" in sentence.plain:  # a template
                continue
            for word in index.words(sentence.plain):
                if word.text not in searchable:
                    searchable[word.text] = is_searchable(word.text)
                if searchable[word.text] and word.text not in seen:
                    seen.add(word.text)
                    yield IdentifierUse(word.text, sentence)


def is_searchable(word: str) -> bool:
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        return False
    return (
        not _RANDOM.search(word)
        and IDENTIFIER_LENGTH[0] <= len(word) <= IDENTIFIER_LENGTH[1]
        and not _NOT_SEARCHED.fullmatch(word)
        and not word[0].isdigit()
        and bool(extract_identifiers(word))
    )


def make_identifier_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """An identifier alone, or with another word of its sentence.

    Every document with the identifier is relevant: grade 2 if one sentence contains the whole query, else 1.
    """
    for name in draw_round_robin(
        find_identifiers(index), lambda n: (str(n.sentence.document), n.text), seed, "identifier"
    ):
        holders = [
            place
            for place in index.documents_with(index.analyser.query_terms(name.text))
            if _contains_name(index, place, name.text)
        ]
        if not 0 < len(holders) <= MAX_RELEVANT:
            continue
        text = _build_text(index, name, seed)
        terms = index.analyser.query_terms(text)
        relevant = [
            RelevantDocument(
                place, 2 if whole else 1, whole or index.spans_with(place, index.analyser.query_terms(name.text))
            )
            for place in holders
            for whole in [index.spans_with(place, terms)]
        ]
        if all(one.spans for one in relevant):
            yield SyntheticQuery("identifier", text, tuple(relevant))


def _build_text(index: CollectionIndex, name: IdentifierUse, seed: int) -> str:
    """The identifier, in two of three cases with the rarest word of its sentence."""
    words = [word for word in index.words(name.sentence.plain) if word.text.lower() not in name.text.lower()]
    context_words = select_rarest(index, words, 1)
    if not context_words or (not name.text.startswith("-") and seeded_hash(seed, "beside", name.text) % 3 == 0):
        return name.text
    start = next((w.start for w in index.words(name.sentence.plain) if w.text == name.text), 0)
    word = lower_word(context_words[0].text)
    return f"{word} {name.text}" if context_words[0].start < start else f"{name.text} {word}"


def _contains_name(index: CollectionIndex, place: int, name: str) -> bool:
    """Whether a document contains the name, letter by letter, in any case."""
    return normalise(name) in index.normalised_texts[place]
