"""Chooses the sentences of nodes: extractive summaries of everything below a node, as references to rows.

A sentence gains the weights of the node's keywords that it holds and that no sentence before it holds, divided by the
square root of its length in terms; the sentence with the largest gain is next. A leaf chooses among all sentences of
its rows, an inner node among those that its children chose, so every leaf below can contribute. Ties go to the smaller
row. Only (row, start, end) is stored, never a text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assay.index.tree.keywords import Keywords
from assay.index.tree.layout import TreeLayout
from assay.index.words import WordIndex
from assay.text.analyser import Analyser
from assay.text.sentences import split_sentences
from assay.types import Chunk, Rows

MOST_SENTENCES = 12
"""Sentences that a node keeps: fewer are shown, the others replace those of deleted chunks."""
SHORTEST = 6
"""Terms that a sentence counts as having at least, so that a single word is no summary."""
LONGEST = 80
"""Terms above which a sentence (a table, a listing) is no candidate, unless there is no other."""


class NodeSentence(NamedTuple):
    """A sentence of a row: its place in the chunk's text, the number of its terms, and the keywords among them."""

    row: int
    start: int
    end: int
    length: int
    terms: frozenset[int]


class NodeKeywords:
    """The weights of the keywords of each node, by the number of the term."""

    def __init__(self, keywords: Keywords) -> None:
        self._keywords = keywords

    def weights(self, node: int) -> dict[int, float]:
        span = slice(int(self._keywords.start[node]), int(self._keywords.start[node + 1]))
        terms, weights = self._keywords.terms[span], self._keywords.weights[span]
        return dict(zip(terms.tolist(), weights.tolist(), strict=True))


def split_rows(
    rows: Sequence[int], chunks: Sequence[Chunk], analyser: Analyser, words: WordIndex, wanted: frozenset[str]
) -> list[NodeSentence]:
    """Return every sentence of these rows, with the numbers of its terms that are in `wanted`."""
    sentences = []
    for row, chunk in zip(rows, chunks, strict=True):
        for start, end in split_sentences(chunk.text):
            terms = analyser.terms(chunk.text[start:end])
            if terms:
                numbers = frozenset(map(words.term, wanted.intersection(terms)))
                sentences.append(NodeSentence(row, start, end, len(terms), numbers))
    return sentences


def choose_sentences(candidates: Sequence[NodeSentence], weights: Mapping[int, float]) -> list[NodeSentence]:
    """Return at most `MOST_SENTENCES` sentences, best first; none without a keyword."""
    short = [one for one in candidates if one.length <= LONGEST] or list(candidates)
    open_sentences = [one for one in short if not one.terms.isdisjoint(weights)]
    left = dict(weights)
    chosen: list[NodeSentence] = []
    while open_sentences and len(chosen) < MOST_SENTENCES:
        gains = [_gain(one, left) for one in open_sentences]
        best = max(range(len(gains)), key=lambda place: (gains[place], -place))
        if gains[best] <= 0.0:
            break
        one = open_sentences.pop(best)
        chosen.append(one)
        for term in one.terms:
            left.pop(term, None)
    return chosen


def _gain(sentence: NodeSentence, weights: Mapping[int, float]) -> float:
    # fsum, because the order of a set is not fixed.
    return math.fsum(weights.get(term, 0.0) for term in sentence.terms) / math.sqrt(max(sentence.length, SHORTEST))


def summarise_leaf(
    rows: Rows,
    read: Callable[[Sequence[int]], list[Chunk]],
    lines: Sequence[Mapping[int, float]],
    analyser: Analyser,
    words: WordIndex,
) -> list[NodeSentence]:
    """Return the sentences of a leaf. `lines` are the keyword weights of the leaf and of all nodes above it: the chosen
    sentences keep the numbers of all these keywords, by which those nodes choose."""
    numbers = frozenset(term for weights in lines for term in weights)
    wanted = frozenset(map(words.text, sorted(numbers)))
    listed = rows.tolist()
    return choose_sentences(split_rows(listed, read(listed), analyser, words, wanted), lines[0])


def list_ancestors(layout: TreeLayout, node: int) -> list[int]:
    """Return a node and all nodes above it, up to the root."""
    line = [node]
    while layout.parent[line[-1]] >= 0:
        line.append(int(layout.parent[line[-1]]))
    return line


def summarise_inner(
    layout: TreeLayout, keywords: NodeKeywords, leaf_sentences: Mapping[int, list[NodeSentence]]
) -> Iterator[tuple[int, list[NodeSentence]]]:
    """Yield every node with its sentences, from the last to the root."""
    chosen = dict(leaf_sentences)
    for node in range(len(layout.parent) - 1, -1, -1):
        children = layout.children(node)
        if len(children):
            candidates = [one for child in children for one in chosen.pop(child)]
            candidates.sort(key=lambda one: (one.row, one.start))
            chosen[node] = choose_sentences(_unique(candidates), keywords.weights(node))
        yield node, chosen[node]


def _unique(candidates: list[NodeSentence]) -> list[NodeSentence]:
    """Leave out the second occurrence of a sentence whose row has two leaves."""
    return list({(one.row, one.start): one for one in candidates}.values())


def pack_sentences(chosen: Mapping[int, list[NodeSentence]], nodes: int) -> tuple[Rows, Rows]:
    """Return where the sentences of each node begin, and (row, start, end) of each."""
    start = np.concatenate([[0], np.cumsum([len(chosen[node]) for node in range(nodes)])]).astype(np.int64)
    places = [(one.row, one.start, one.end) for node in range(nodes) for one in chosen[node]]
    return start, np.array(places, np.int64).reshape(-1, 3)
