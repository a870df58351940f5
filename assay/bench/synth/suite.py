"""Builds a suite of synthetic queries of several kinds, each with its share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.bench.collection import Collection, CollectionError
from assay.bench.synth.collection_index import CollectionIndex
from assay.bench.synth.heading_queries import make_heading_queries
from assay.bench.synth.identifier_queries import make_identifier_queries
from assay.bench.synth.link_queries import make_anchor_queries
from assay.bench.synth.paraphrase_queries import make_abbreviation_queries, make_description_queries
from assay.bench.synth.sentence_queries import make_keyword_queries, make_masked_queries, make_phrase_queries
from assay.bench.synth.synthetic_query import SyntheticQuery
from assay.bench.synth.unanswerable_queries import make_unanswerable_queries
from assay.text.analyser import Analyser

QueryMaker = Callable[[CollectionIndex, int], Iterator[SyntheticQuery]]


@dataclass(frozen=True, slots=True)
class QueryKind:
    """A kind of query: its share of the suite, its generator, and a short description."""

    share: int
    make: QueryMaker
    about: str


KINDS: Mapping[str, QueryKind] = MappingProxyType(
    {
        "keywords": QueryKind(4, make_keyword_queries, "the rarest words of a sentence"),
        "heading": QueryKind(3, make_heading_queries, "what a section is called"),
        "identifier": QueryKind(3, make_identifier_queries, "a name few documents hold"),
        "masked": QueryKind(3, make_masked_queries, "a sentence without its two rarest words"),
        "anchor": QueryKind(3, make_anchor_queries, "what another page calls the page"),
        "description": QueryKind(2, make_description_queries, "what a document's metadata says of it"),
        "phrase": QueryKind(2, make_phrase_queries, "some words in a row"),
        "abbreviation": QueryKind(1, make_abbreviation_queries, "keywords, an abbreviation spelt out"),
        "unanswerable": QueryKind(2, make_unanswerable_queries, "nothing here answers it"),
    }
)


@dataclass(frozen=True, slots=True)
class Suite:
    """The queries by kind, in the order they were drawn. `requested` is the number asked for."""

    index: CollectionIndex
    queries: Mapping[str, tuple[SyntheticQuery, ...]]
    requested: int

    @property
    def size(self) -> int:
        return sum(map(len, self.queries.values()))

    def copied_share(self, kind: str) -> float:
        """The mean share of a kind's query terms that occur in the relevant document: 1 favours lexical search."""
        shares = [self.index.copied_share(m.text, r.document) for m in self.queries[kind] for r in m.relevant[:1]]
        return sum(shares) / len(shares) if shares else 0.0


def build_suite(
    collection: Collection,
    count: int,
    seed: int = 0,
    *,
    analyser: Analyser | None = None,
    kinds: Mapping[str, QueryKind] = KINDS,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Suite:
    """Generate at most `count` queries. An exhausted kind leaves its share to the others; texts are unique."""
    if not collection.documents:
        raise CollectionError(
            "there is nothing to make queries of: no document has any text", "name a folder with documents"
        )
    index = CollectionIndex(collection.documents, analyser or Analyser())
    for step, attribute in enumerate(("document_terms", "original_sentences")):  # these take most of the time
        progress("looking words up", step, 2)
        getattr(index, attribute)
    progress("looking words up", 2, 2)
    makers = {name: kind.make(index, seed) for name, kind in kinds.items()}
    queries: dict[str, list[SyntheticQuery]] = {name: [] for name in kinds}
    seen: set[str] = set()
    while makers and sum(map(len, queries.values())) < count:
        # The kind furthest below its share is next; the order of the table breaks ties.
        name = min(makers, key=lambda kind: len(queries[kind]) / kinds[kind].share)
        query = next((m for m in makers[name] if m.text.casefold() not in seen), None)
        if query is None:
            del makers[name]
            continue
        seen.add(query.text.casefold())
        queries[name].append(query)
        progress("making queries", len(seen), count)
    if not any(queries.values()):
        what = f"no query could be made of {len(collection.documents)} documents that only one of them answers"
        raise CollectionError(what, "give documents with more running text, or more of them")
    return Suite(index, {name: tuple(query) for name, query in queries.items() if query}, count)
