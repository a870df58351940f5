"""Queries from headings, with the document's title if the heading alone is too short."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from assay.bench.synth.collection_index import MAX_RELEVANT, CollectionIndex
from assay.bench.synth.plain_text import lower_word, strip_markup
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.synthetic_query import EvidenceSpan, RelevantDocument, SyntheticQuery

MIN_WORDS, MAX_WORDS = 2, 10
"""The least number of content words and the largest number of words."""
_NUMBERED = re.compile(r"\A\s*(?:(?:step|chapter|section|part)\s+)?\d+(?:\.\d+)*[.):]?\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"\A(?:the|a|an|our)\s+", re.IGNORECASE)
_PAGE = re.compile(r"(?:page|slide|sheet|part|row)\s+\d+", re.IGNORECASE)


def make_heading_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """A heading, or title and heading, that identifies its document."""
    places = [
        (place, title, step)
        for place, document in enumerate(index.documents)
        for title, step in _list_headings([(document.title, passage.section) for passage in document.passages])
    ]
    shared = Counter(step for _, _, step in places)
    places = [one for one in places if shared[one[2]] <= MAX_RELEVANT]  # "References" identifies nothing
    for place, title, step in draw_round_robin(places, lambda one: (str(one[0]), one[2]), seed, "heading"):
        for text in _spellings(title, step):
            words = index.words(text)
            if sum(not word.stop for word in words) < MIN_WORDS or len(words) > MAX_WORDS:
                continue
            if relevant := _judge_heading(index, text, place):
                yield SyntheticQuery("heading", text, relevant)
                break


def _list_headings(sections: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """(title, innermost heading) of every section, each once."""
    return list(dict.fromkeys((title, section.split(" > ")[-1]) for title, section in sections if section))


def _spellings(title: str, section: str) -> Iterator[str]:
    """The query texts to try: the heading alone, then title and heading."""
    heading = _clean_heading(section)
    title_text = _clean_heading(title)
    if "…" in heading or "…" in title_text or not heading or _PAGE.fullmatch(heading):
        return
    yield heading
    if title_text and heading.casefold() not in title_text.casefold():
        yield f"{title_text} {heading}"


def _clean_heading(text: str) -> str:
    line = _ARTICLE.sub("", _NUMBERED.sub("", strip_markup(text), count=1), count=1)
    words = " ".join(lower_word(word) for word in re.sub(r"[^\w\s'’/&+#.?-]", " ", line).split())
    return words.strip(" -–.")


def _judge_heading(index: CollectionIndex, text: str, gold: int) -> tuple[RelevantDocument, ...]:
    """The documents with a section whose headings contain all terms; () if other documents contain them as well."""
    terms = index.analyser.query_terms(text)
    holders = index.documents_with(terms)
    if gold not in holders or len(holders) > MAX_RELEVANT:
        return ()
    found = [RelevantDocument(place, 1, _first_sentence(index, place, set(terms))) for place in holders]
    return tuple(found) if all(relevant.spans for relevant in found) else ()


def _first_sentence(index: CollectionIndex, place: int, terms: set[str]) -> tuple[EvidenceSpan, ...]:
    """The first sentence of the section whose headings contain these terms."""
    document = index.documents[place]
    for number, passage in enumerate(document.passages):
        if terms.issubset(index.analyser.terms(f"{document.title}\n{passage.section}")):
            sentences = [s for s in index.sentences[place] if s.passage == number]
            return tuple(EvidenceSpan(s.start, s.end) for s in sentences[:1])
    return ()
