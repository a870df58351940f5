"""Queries in other words than the text's own: descriptions from front matter, and abbreviations spelt out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.bench.synth.generated import Made, Relevant
from assay.bench.synth.library import Library
from assay.bench.synth.plain import Sentence, lowered, plain
from assay.bench.synth.quoting import rarest
from assay.bench.synth.round_robin import spread

FIELDS = ("description", "summary", "abstract", "subtitle", "subject")
"""Metadata that tells what a document is about. It is not indexed, so a query made of it is not copied text."""
DESCRIPTION = (4, 25)
"""Telling words at least, words at most."""
LEAST_SHARED = 0.5
_DEFINED = re.compile(r"((?:[A-Z][a-z]+[ -](?:(?:of|and|for|the|in|to|on) )*){1,5}[A-Z][a-z]+) \(([A-Z]{2,6})s?\)")
_SMALL = frozenset(("of", "and", "for", "the", "in", "to", "on"))


def description(library: Library, seed: int) -> Iterator[Made]:
    """What a document says of itself in its metadata; nobody else may hold all of its terms."""
    told = [
        (place, plain(str(document.metadata[field])).strip(" ."))
        for place, document in enumerate(library.documents)
        for field in FIELDS
        if isinstance(document.metadata.get(field), str)
    ]
    times: dict[str, int] = {}
    for _, text in told:
        times[text] = times.get(text, 0) + 1
    for place, text in spread(told, lambda one: (str(one[0]), one[1]), seed, "description"):
        words = library.words(text)
        if sum(not w.stop for w in words) < DESCRIPTION[0] or len(words) > DESCRIPTION[1] or times[text] > 1:
            continue
        others = [other for other in library.holders(library.analyser.query_terms(text)) if other != place]
        if not others and library.copied(text, place) >= LEAST_SHARED:
            yield Made("description", text, (Relevant(place, 1),))


def abbreviation(library: Library, seed: int) -> Iterator[Made]:
    """Keywords of a sentence that uses an abbreviation, with the abbreviation spelt out.

    The collection itself says what it stands for, in one way only; the sentence's document never spells it out.
    """
    meaning = definitions(library)
    using = [(s, short) for s in library.own_sentences for short in _shorts(library, s, meaning)]
    for sentence, short in spread(using, lambda one: (str(one[0].document), one[0].plain), seed, "abbreviation"):
        long = meaning[short]
        terms = library.analyser.query_terms
        if library.held[sentence.document].issuperset(terms(long)):
            continue
        words = [word for word in library.words(sentence.plain) if word.text != short]
        beside = [lowered(word.text) for word in rarest(library, words, 3)]
        relevant = library.judged(" ".join([short, *beside]), sentence.document)
        text = " ".join([long, *beside])
        if len(beside) == 3 and relevant and not library.holders(terms(text)):
            yield Made("abbreviation", text, relevant, {"stands_for": [short]})


def definitions(library: Library) -> dict[str, str]:
    """Short form → long form in small letters, where the collection agrees on one: "Service Level Objective (SLO)"."""
    found: dict[str, set[str]] = {}
    for document in library.documents:
        for defined in _DEFINED.finditer(document.text):
            long, short = defined[1], defined[2]
            words = [word for word in re.split(r"[ -]", long) if word and word not in _SMALL]
            for start in range(len(words)):  # "The Service Level …" begins a word too early
                if "".join(word[0] for word in words[start:]) == short:
                    begin = long.index(words[start])
                    found.setdefault(short, set()).add(long[begin:].lower().replace("-", " "))
                    break
    return {short: next(iter(longs)) for short, longs in sorted(found.items()) if len(longs) == 1}


def _shorts(library: Library, sentence: Sentence, meaning: dict[str, str]) -> Iterator[str]:
    seen = {word.text for word in library.words(sentence.plain) if word.text in meaning}
    yield from sorted(seen)[:1]
