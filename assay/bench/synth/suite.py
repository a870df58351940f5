"""So many queries of so many kinds: the draw, its shares, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.bench.collection import Collection, CollectionError
from assay.bench.synth.generated import Made
from assay.bench.synth.headings import heading
from assay.bench.synth.library import Library
from assay.bench.synth.links import anchor
from assay.bench.synth.names import identifier
from assay.bench.synth.paraphrase import abbreviation, description
from assay.bench.synth.quoting import keywords, masked, phrase
from assay.bench.synth.unanswerable import unanswerable
from assay.text.analyse import Analyser

Maker = Callable[[Library, int], Iterator[Made]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A way of making queries: its share of the suite, and what it is in a few words."""

    share: int
    make: Maker
    about: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "keywords": Kind(4, keywords, "the rarest words of a sentence"),
        "heading": Kind(3, heading, "what a section is called"),
        "identifier": Kind(3, identifier, "a name few documents hold"),
        "masked": Kind(3, masked, "a sentence without its two rarest words"),
        "anchor": Kind(3, anchor, "what another page calls the page"),
        "description": Kind(2, description, "what a document's metadata says of it"),
        "phrase": Kind(2, phrase, "some words in a row"),
        "abbreviation": Kind(1, abbreviation, "keywords, an abbreviation spelt out"),
        "unanswerable": Kind(2, unanswerable, "nothing here answers it"),
    }
)


@dataclass(frozen=True, slots=True)
class Suite:
    """The queries by kind, in the order of the draw, and how many of their terms their documents hold."""

    library: Library
    queries: Mapping[str, tuple[Made, ...]]
    asked: int

    @property
    def size(self) -> int:
        return sum(map(len, self.queries.values()))

    def copied(self, kind: str) -> float:
        """The mean share of a kind's query terms that stand in the relevant document: 1 favours looking words up."""
        shares = [self.library.copied(m.text, r.document) for m in self.queries[kind] for r in m.relevant[:1]]
        return sum(shares) / len(shares) if shares else 0.0


def make(
    collection: Collection,
    count: int,
    seed: int = 0,
    *,
    analyser: Analyser | None = None,
    kinds: Mapping[str, Kind] = KINDS,
    heard: Callable[[str, int, int], None] = lambda *_: None,
) -> Suite:
    """At most `count` queries. A kind that runs dry leaves its share to the others; no text is asked twice."""
    if not collection.documents:
        raise CollectionError(
            "there is nothing to make queries of: no document has any text", "name a folder with documents"
        )
    library = Library(collection.documents, analyser or Analyser())
    for step, looked_up in enumerate(("held", "own_sentences")):  # most of the time goes into these
        heard("looking words up", step, 2)
        getattr(library, looked_up)
    heard("looking words up", 2, 2)
    makers = {name: kind.make(library, seed) for name, kind in kinds.items()}
    found: dict[str, list[Made]] = {name: [] for name in kinds}
    seen: set[str] = set()
    while makers and sum(map(len, found.values())) < count:
        # Whoever is furthest behind its share is next; the order of the table breaks ties.
        name = min(makers, key=lambda kind: len(found[kind]) / kinds[kind].share)
        made = next((m for m in makers[name] if m.text.casefold() not in seen), None)
        if made is None:
            del makers[name]
            continue
        seen.add(made.text.casefold())
        found[name].append(made)
        heard("making queries", len(seen), count)
    if not any(found.values()):
        what = f"no query could be made of {len(collection.documents)} documents that only one of them answers"
        raise CollectionError(what, "give documents with more running text, or more of them")
    return Suite(library, {name: tuple(made) for name, made in found.items() if made}, count)
