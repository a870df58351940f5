"""Queries in other words than the text: descriptions from front matter, and expanded abbreviations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.bench.synth.collection_index import CollectionIndex
from assay.bench.synth.plain_text import Sentence, lower_word, strip_markup
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.sentence_queries import select_rarest
from assay.bench.synth.synthetic_query import RelevantDocument, SyntheticQuery

FIELDS = ("description", "summary", "abstract", "subtitle", "subject")
"""Metadata that describes a document. It is not indexed, so such a query is not copied text."""
DESCRIPTION = (4, 25)
"""The least number of content words and the largest number of words."""
MIN_SHARED = 0.5
_DEFINED = re.compile(r"((?:[A-Z][a-z]+[ -](?:(?:of|and|for|the|in|to|on) )*){1,5}[A-Z][a-z]+) \(([A-Z]{2,6})s?\)")
_SMALL = frozenset(("of", "and", "for", "the", "in", "to", "on"))


def make_description_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """A document's description from its metadata; no other document may contain all of its terms."""
    descriptions = [
        (place, strip_markup(str(document.metadata[field])).strip(" ."))
        for place, document in enumerate(index.documents)
        for field in FIELDS
        if isinstance(document.metadata.get(field), str)
    ]
    times: dict[str, int] = {}
    for _, text in descriptions:
        times[text] = times.get(text, 0) + 1
    for place, text in draw_round_robin(descriptions, lambda one: (str(one[0]), one[1]), seed, "description"):
        words = index.words(text)
        if sum(not w.stop for w in words) < DESCRIPTION[0] or len(words) > DESCRIPTION[1] or times[text] > 1:
            continue
        others = [other for other in index.documents_with(index.analyser.query_terms(text)) if other != place]
        if not others and index.copied_share(text, place) >= MIN_SHARED:
            yield SyntheticQuery("description", text, (RelevantDocument(place, 1),))


def make_abbreviation_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """Keywords of a sentence with an abbreviation, which the query expands.

    The collection defines the abbreviation in exactly one way; the sentence's document never expands it.
    """
    meaning = find_definitions(index)
    using = [(s, short) for s in index.original_sentences for short in _find_abbreviations(index, s, meaning)]
    for sentence, short in draw_round_robin(
        using, lambda one: (str(one[0].document), one[0].plain), seed, "abbreviation"
    ):
        long = meaning[short]
        terms = index.analyser.query_terms
        if index.document_terms[sentence.document].issuperset(terms(long)):
            continue
        words = [word for word in index.words(sentence.plain) if word.text != short]
        keywords = [lower_word(word.text) for word in select_rarest(index, words, 3)]
        relevant = index.judge_query(" ".join([short, *keywords]), sentence.document)
        text = " ".join([long, *keywords])
        if len(keywords) == 3 and relevant and not index.documents_with(terms(text)):
            yield SyntheticQuery("abbreviation", text, relevant, {"stands_for": [short]})


def find_definitions(index: CollectionIndex) -> dict[str, str]:
    """Short form → long form in lower case, if the collection has only one: "Service Level Objective (SLO)"."""
    found: dict[str, set[str]] = {}
    for document in index.documents:
        for defined in _DEFINED.finditer(document.text):
            long, short = defined[1], defined[2]
            words = [word for word in re.split(r"[ -]", long) if word and word not in _SMALL]
            for start in range(len(words)):  # "The Service Level …" starts one word too early
                if "".join(word[0] for word in words[start:]) == short:
                    begin = long.index(words[start])
                    found.setdefault(short, set()).add(long[begin:].lower().replace("-", " "))
                    break
    return {short: next(iter(longs)) for short, longs in sorted(found.items()) if len(longs) == 1}


def _find_abbreviations(index: CollectionIndex, sentence: Sentence, meaning: dict[str, str]) -> Iterator[str]:
    seen = {word.text for word in index.words(sentence.plain) if word.text in meaning}
    yield from sorted(seen)[:1]
