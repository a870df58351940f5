"""A RAPTOR-style collapsed tree: chunks and summaries ranked by cosine, appended until the budget is full.

Summaries are the extractive ones of the tree, so a summary consists of sentences of chunks, and evidence that it quotes
counts. Nothing is reranked or selected: what does not fit ends the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from assay.bench.types import Piece
from assay.protocols import Snapshot, TreeView
from assay.select.context.candidates import format_header
from assay.text.token_count import count_tokens
from assay.types import Query


@dataclass(frozen=True, slots=True)
class TreePassage:
    """A chunk, or the summary of a node: the pieces that are appended together, and their tokens."""

    pieces: tuple[Piece, ...]
    tokens: int
    is_summary: bool


def rank_passages(
    query: Query, snapshot: Snapshot, tree: TreeView, most: int, summaries: dict[int, TreePassage]
) -> list[TreePassage]:
    """The best `most` chunks and summaries by cosine with the query; ties go to summaries, then to the smaller row.

    `summaries` holds those that were read before, by node.
    """
    if query.vector is None:
        return []
    near = snapshot.nearest(query, most)
    vectors = tree.summary_vectors(np.arange(tree.size))
    cosines = np.vecdot(vectors.astype(np.float64), query.vector.astype(np.float64))
    nodes = np.lexsort((np.arange(tree.size), -cosines))[:most]
    ranked = [(-float(cosines[node]), 0, int(node)) for node in nodes]
    scores = near.parts[0].column
    ranked += [(-float(score), 1, int(row)) for score, row in zip(scores, near.rows, strict=True)]
    ranked.sort()
    passages = (
        _find_summary(tree, snapshot, place, summaries) if kind == 0 else _read_chunk(snapshot, place)
        for _, kind, place in ranked
    )
    return list(islice((passage for passage in passages if passage.pieces), most))


def append_passages(passages: Sequence[TreePassage], budget: int) -> tuple[Piece, ...]:
    """Passages in order, up to the first that does not fit."""
    pieces: list[Piece] = []
    used = 0
    for passage in passages:
        if used + passage.tokens > budget:
            break
        used += passage.tokens
        pieces += passage.pieces
    return tuple(pieces)


def _read_chunk(snapshot: Snapshot, row: int) -> TreePassage:
    (chunk,) = snapshot.chunks(np.array([row]))
    header = format_header(chunk)
    tokens = count_tokens(f"{header}\n{chunk.text}\n\n")
    return TreePassage((Piece(chunk.doc_id, chunk.text, tokens, header),), tokens, False)


def _find_summary(tree: TreeView, snapshot: Snapshot, node: int, known: dict[int, TreePassage]) -> TreePassage:
    if node not in known:
        known[node] = _read_summary(tree, snapshot, node)
    return known[node]


def _read_summary(tree: TreeView, snapshot: Snapshot, node: int) -> TreePassage:
    """The sentences of a summary, each with the document it quotes. They are written as one paragraph."""
    sentences = tree.payload(node).summary
    if not sentences:
        return TreePassage((), 0, True)
    chunks = snapshot.chunks(np.array([sentence.row for sentence in sentences]))
    pieces = tuple(
        Piece(chunk.doc_id, sentence.text, count_tokens(f"{sentence.text} "))
        for chunk, sentence in zip(chunks, sentences, strict=True)
    )
    return TreePassage(pieces, sum(piece.tokens for piece in pieces), True)
