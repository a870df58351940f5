"""Queries by name: identifiers (SALT_PORT, CVE-2024-1234, --dry-run) that few documents hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.bench.synth.generated import Made, Relevant, drawn
from assay.bench.synth.library import MOST_RELEVANT, Library
from assay.bench.synth.plain import Sentence, lowered
from assay.bench.synth.quoting import rarest
from assay.bench.synth.round_robin import spread
from assay.text.analyse import identifiers, normal

LENGTH = (4, 40)
"""Characters of an identifier that somebody types."""

# Times, amounts, addresses, file names of pictures and pages: they look like names, but nobody searches by them.
_NOT_TYPED = re.compile(
    r"""\d | \.[a-z].* | .*[@\\]
      | .*\.(?:com|org|net|io|dev|co|html?|md|png|jpe?g|gif|svg|pdf)\b.* | .*//.* | (?:[a-z]\.)+[a-z]
      | [^\d_]*\d+(?:st|nd|rd|th|px|pt|min|h|d)  | .*['’]s | (?:Q|H|FY|W)\d.* | .*-\d{1,2}
      | (?:first|second|last|re|non|pre|post|self|sub)-.*""",
    re.VERBOSE | re.IGNORECASE,
)


# Keys, colours and hashes: letters and digits by turns, or nothing but hexadecimal digits.
_RANDOM = re.compile(r"[A-Za-z]\d+[A-Za-z]+\d|\d[A-Za-z]+\d+[A-Za-z]|\A#?[0-9a-fA-F]{6,}\Z")


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier as it is spelt in a sentence."""

    text: str
    sentence: Sentence


def names_in(library: Library) -> Iterator[Name]:
    """Every identifier worth asking for, once per document, where it first stands."""
    known: dict[str, bool] = {}
    for sentences in library.sentences:
        seen: set[str] = set()
        for sentence in sentences:
            if "{{" in sentence.plain:  # a template's, not the writer's
                continue
            for word in library.words(sentence.plain):
                if word.text not in known:
                    known[word.text] = is_typed(word.text)
                if known[word.text] and word.text not in seen:
                    seen.add(word.text)
                    yield Name(word.text, sentence)


def is_typed(word: str) -> bool:
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        return False
    return (
        not _RANDOM.search(word)
        and LENGTH[0] <= len(word) <= LENGTH[1]
        and not _NOT_TYPED.fullmatch(word)
        and not word[0].isdigit()
        and bool(identifiers(word))
    )


def identifier(library: Library, seed: int) -> Iterator[Made]:
    """A name alone, or with a word that stands beside it.

    Every document that has the name is relevant: grade 2 where one sentence holds the whole query, else 1.
    """
    for name in spread(names_in(library), lambda n: (str(n.sentence.document), n.text), seed, "identifier"):
        holders = [
            place
            for place in library.holders(library.analyser.query_terms(name.text))
            if _has(library, place, name.text)
        ]
        if not 0 < len(holders) <= MOST_RELEVANT:
            continue
        text = _asked(library, name, seed)
        terms = library.analyser.query_terms(text)
        relevant = [
            Relevant(place, 2 if whole else 1, whole or library.saying(place, library.analyser.query_terms(name.text)))
            for place in holders
            for whole in [library.saying(place, terms)]
        ]
        if all(one.spots for one in relevant):
            yield Made("identifier", text, tuple(relevant))


def _asked(library: Library, name: Name, seed: int) -> str:
    """The name, in two of three cases with the word of its sentence that says most."""
    words = [word for word in library.words(name.sentence.plain) if word.text.lower() not in name.text.lower()]
    beside = rarest(library, words, 1)
    if not beside or (not name.text.startswith("-") and drawn(seed, "beside", name.text) % 3 == 0):
        return name.text
    start = next((w.start for w in library.words(name.sentence.plain) if w.text == name.text), 0)
    word = lowered(beside[0].text)
    return f"{word} {name.text}" if beside[0].start < start else f"{name.text} {word}"


def _has(library: Library, place: int, name: str) -> bool:
    """Letter for letter, whatever the case."""
    return normal(name) in library.normal[place]
