"""Queries from headings: what a section is called, with the document's title where the heading says too little."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from assay.bench.synth.generated import Made, Relevant, Spot
from assay.bench.synth.library import MOST_RELEVANT, Library
from assay.bench.synth.plain import lowered, plain
from assay.bench.synth.round_robin import spread

FEWEST_WORDS, MOST_WORDS = 2, 10
"""Telling words at least, words at most."""
_NUMBERED = re.compile(r"\A\s*(?:(?:step|chapter|section|part)\s+)?\d+(?:\.\d+)*[.):]?\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"\A(?:the|a|an|our)\s+", re.IGNORECASE)
_PAGE = re.compile(r"(?:page|slide|sheet|part|row)\s+\d+", re.IGNORECASE)


def heading(library: Library, seed: int) -> Iterator[Made]:
    """A heading, or title and heading, that no other document answers to."""
    places = [
        (place, title, step)
        for place, document in enumerate(library.documents)
        for title, step in _steps([(document.title, passage.section) for passage in document.passages])
    ]
    shared = Counter(step for _, _, step in places)
    places = [one for one in places if shared[one[2]] <= MOST_RELEVANT]  # "References" says nothing
    for place, title, step in spread(places, lambda one: (str(one[0]), one[2]), seed, "heading"):
        for text in _spellings(title, step):
            words = library.words(text)
            if sum(not word.stop for word in words) < FEWEST_WORDS or len(words) > MOST_WORDS:
                continue
            if relevant := _judged(library, text, place):
                yield Made("heading", text, relevant)
                break


def _steps(sections: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """(title, innermost heading) of every section, each once."""
    return list(dict.fromkeys((title, section.split(" > ")[-1]) for title, section in sections if section))


def _spellings(title: str, step: str) -> Iterator[str]:
    """As somebody would type it: the heading alone, then under the name of its document."""
    said = _typed(step)
    about = _typed(title)
    if "…" in said or "…" in about or not said or _PAGE.fullmatch(said):
        return
    yield said
    if about and said.casefold() not in about.casefold():
        yield f"{about} {said}"


def _typed(text: str) -> str:
    line = _ARTICLE.sub("", _NUMBERED.sub("", plain(text), count=1), count=1)
    words = " ".join(lowered(word) for word in re.sub(r"[^\w\s'’/&+#.?-]", " ", line).split())
    return words.strip(" -–.")


def _judged(library: Library, text: str, gold: int) -> tuple[Relevant, ...]:
    """Documents with a section that stands under all of the words; nobody else may hold them."""
    terms = library.analyser.query_terms(text)
    holders = library.holders(terms)
    if gold not in holders or len(holders) > MOST_RELEVANT:
        return ()
    found = [Relevant(place, 1, _first_sentence(library, place, set(terms))) for place in holders]
    return tuple(found) if all(relevant.spots for relevant in found) else ()


def _first_sentence(library: Library, place: int, terms: set[str]) -> tuple[Spot, ...]:
    """Where the section under these words begins."""
    document = library.documents[place]
    for number, passage in enumerate(document.passages):
        if terms.issubset(library.analyser.terms(f"{document.title}\n{passage.section}")):
            said = [s for s in library.sentences[place] if s.passage == number]
            return tuple(Spot(s.start, s.end) for s in said[:1])
    return ()
