"""Queries without an answer: a name that nobody has, or two subjects that no document speaks of together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.bench.synth.generated import Made, Relevant, drawn
from assay.bench.synth.library import Library
from assay.bench.synth.names import names_in
from assay.bench.synth.plain import typed
from assay.bench.synth.round_robin import spread
from assay.text.analyse import normal

_NUMBERED = re.compile(r"(?:[A-Za-z][A-Za-z_]*[-_.]|v|\#)(?=.*\d.*\d)\d[\d.-]*")  # CVE-2024-1234  v4.2.0  #34524
_DIGIT = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\d")  # a year stays as it is
TRIES = 8
"""Partners tried for a subject."""
SUBJECT = (2, 3)
"""Words of a subject."""


def unanswerable(library: Library, seed: int) -> Iterator[Made]:
    """Names and pairs in turns. The documents they were made from are judged: grade 0."""
    makers = [_absent_names(library, seed), _strange_pairs(library, seed)]
    while makers:
        for maker in [*makers]:
            made = next(maker, None)
            if made is None:
                makers.remove(maker)
            else:
                yield made


def _absent_names(library: Library, seed: int) -> Iterator[Made]:
    """A real name with other digits, such as a release or an advisory that does not exist."""
    numbered = (name for name in names_in(library) if _NUMBERED.fullmatch(name.text))
    for name in spread(numbered, lambda n: (str(n.sentence.document), n.text), seed, "absent"):
        text = _renumbered(name.text, seed)
        terms = library.analyser.query_terms(text)
        whole = normal(text)
        if not library.holders(terms) and not any(whole in said for said in library.normal):
            yield Made("unanswerable", text, (Relevant(name.sentence.document, 0),))


def _renumbered(name: str, seed: int) -> str:
    def other(found: re.Match[str]) -> str:
        return found[0] if len(found[0]) > 1 else str(drawn(seed, "digit", name, found.start()) % 9 + 1)

    return _DIGIT.sub(other, name)


def _strange_pairs(library: Library, seed: int) -> Iterator[Made]:
    """What two documents are about, put together: none that speaks of one says a telling word of the other."""
    subjects = [*spread(_subjects(library), lambda one: (str(one[0]), one[1]), seed, "pair")]
    while len(subjects) > 1:
        one, mine = subjects.pop(0)
        for place, (other, yours) in enumerate(subjects[:TRIES]):
            if one != other and not _meet(library, mine, yours):
                del subjects[place]
                yield Made("unanswerable", f"{mine} {yours}", (Relevant(one, 0), Relevant(other, 0)))
                break


def _subjects(library: Library) -> Iterator[tuple[int, str]]:
    """Titles and headings of two or three telling words and nothing else: "parental leave", "radio parser"."""
    for place, document in enumerate(library.documents):
        steps = [document.title, *(p.section.split(" > ")[-1] for p in document.passages)]
        for step in dict.fromkeys(steps):
            words = library.words(step)
            whole = " ".join(word.text for word in words) == step
            if whole and len(words) in SUBJECT and all(word.telling for word in words):
                yield place, typed(words)


def _meet(library: Library, mine: str, yours: str) -> bool:
    ours, theirs = library.analyser.query_terms(mine), library.analyser.query_terms(yours)
    return any(library.holders([*ours, term]) for term in theirs) or any(library.holders([*theirs, t]) for t in ours)
