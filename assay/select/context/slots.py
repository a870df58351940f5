"""What a query asks a context to cover: its terms, the documents it names, its facets, and hops from document to
document.

    term    an analysed term of the query; weight: its share of the idf of all terms; covered by a sentence that has it,
            or whose header has it
    name    the title of a candidate's document that stands in the query; covered by any sentence of that document
    facet   one of several things a query asks about; covered when a sentence with its header has FACET_SHARE of the idf
            of the terms that only this facet has
    hop     a sentence whose document's title, which the query does not have, stands in a chosen sentence of another one

A title counts when it has at least LEAST_TITLE characters; what stands in parentheses at its end is left out. In a
sentence it must be spelt as it is, between word boundaries; a title in more than HOP_SHARE of the sentences is a common
word.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.errors import QueryError
from assay.protocols import Snapshot
from assay.select.context.candidates import SentencePool
from assay.text.query.parse import parse_query
from assay.types import Floats, Query

FACET_SHARE = 0.6
HOP_SHARE = 0.3
LEAST_HOPS = 3  # sentences that may mention a title however few there are
LEAST_TITLE = 4
_JOINS = re.compile(r"\b(?:and|or|vs|versus|against|with|to|from|over|than|through)\b", re.IGNORECASE)
"""Words without one of which a query has one facet."""
_PARENTHESES = re.compile(r"\s*\([^)]*\)\s*$")

Flags = NDArray[np.bool_]


class QuerySlots:
    """The slots of a query over a pool: which sentence covers which, as columns of flags with a label each.

    `terms` has a weight per column. `mentions[i, j]`: sentence i mentions the title of sentence j's document.
    """

    def __init__(self, query: Query, pool: SentencePool, snapshot: Snapshot) -> None:
        weights = {term: weight for term, weight in snapshot.term_weights(query.text).items() if weight > 0.0}
        total = sum(weights.values())
        found = _find_terms(pool, snapshot)
        self.term_names = tuple(weights)
        self.term_weights: Floats = np.array([weight / total for weight in weights.values()], np.float64)
        self.terms = _flags([[term in terms for term in weights] for terms in found], len(weights))
        self.overlap: Floats = self.terms.astype(np.float64) @ self.term_weights
        titles = [_PARENTHESES.sub("", candidate.chunk.title).strip() for candidate in pool.candidates]
        titles = [title if len(title) >= LEAST_TITLE else "" for title in titles]
        named = [title for title in dict.fromkeys(titles) if title and _mentions(title.lower(), query.text.lower())]
        self.names = tuple(named)
        self.named = _flags([[titles[s.candidate] == name for name in named] for s in pool.sentences], len(named))
        self.mentions = _find_mentions(pool, [title if title not in named else "" for title in titles])
        self.facets, self.faceted = _find_facets(query, weights, found, snapshot)


def _flags(rows: Sequence[Sequence[bool]], columns: int) -> Flags:
    return np.array(rows, np.bool_).reshape(len(rows), columns)


def _find_terms(pool: SentencePool, snapshot: Snapshot) -> list[frozenset[str]]:
    """The analysed terms of each sentence and its header."""
    headings = [frozenset(snapshot.terms(heading)) for heading in pool.headings]
    return [headings[sentence.candidate].union(snapshot.terms(sentence.text)) for sentence in pool.sentences]


def _find_mentions(pool: SentencePool, titles: Sequence[str]) -> Flags:
    """Which sentence mentions the title of which other sentence's document."""
    size = len(pool.sentences)
    documents = [candidate.chunk.doc_id for candidate in pool.candidates]
    mentions = np.zeros((size, size), np.bool_)
    for title in dict.fromkeys(filter(None, titles)):
        places = [i for i, sentence in enumerate(pool.sentences) if _mentions(title, sentence.text)]
        if len(places) > max(LEAST_HOPS, HOP_SHARE * size):
            continue
        for candidate, own in enumerate(pool.ranges):
            if titles[candidate] == title and len(own):
                others = [i for i in places if documents[pool.sentences[i].candidate] != documents[candidate]]
                mentions[others, own.start : own.stop] = True
    return mentions


def _mentions(title: str, text: str) -> bool:
    """Does a title stand in a text, between word boundaries?"""
    place = text.find(title)
    while place >= 0:
        end = place + len(title)
        if not (text[place - 1 : place].isalnum() or text[end : end + 1].isalnum()):
            return True
        place = text.find(title, place + 1)
    return False


def _find_facets(
    query: Query, weights: Mapping[str, float], found: Sequence[frozenset[str]], snapshot: Snapshot
) -> tuple[tuple[str, ...], Flags]:
    """The facets of a query that asks about several things, and which sentence covers which."""
    facets: tuple[str, ...] = ()
    if _JOINS.search(query.text):  # parsing takes longer than all other slots together
        with contextlib.suppress(QueryError):  # a range of dates that ends before it begins says nothing about facets
            facets = parse_query(query.text, query.at).facets
    if len(facets) < 2:
        return (), np.zeros((len(found), 0), np.bool_)
    terms = [frozenset(snapshot.terms(facet)) & weights.keys() for facet in facets]
    columns: dict[str, list[bool]] = {}
    for place, facet in enumerate(facets):
        own = terms[place].difference(*(other for i, other in enumerate(terms) if i != place))
        least = FACET_SHARE * sum(weights[term] for term in own)
        if own:
            columns[facet] = [sum(weights[term] for term in sorted(own & have)) >= least for have in found]
    return tuple(columns), np.array(list(columns.values()), np.bool_).reshape(len(columns), len(found)).T
