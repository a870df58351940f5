"""The lower and upper bound of a dataset: documents in random order, and the judgements themselves as a ranking."""

from __future__ import annotations

import hashlib

import numpy as np

from assay.bench.types import Dataset, Piece, TopicResult
from assay.bench.workspace import Workspace
from assay.text.token_count import count_tokens
from assay.where import parse

PIECES = 50
"""Most chunks of a context, from which every token budget is filled."""


def draw_random(dataset: Dataset, topic: str, workspace: Workspace, depth: int, seed: int) -> TopicResult:
    """`random`: the documents that this topic may find, in an order that depends on the seed and the topic only."""
    where = dataset.topics[topic].where
    rows = workspace.snapshot.live_rows(parse(where) if where else None)
    names, first = np.unique(workspace.documents[rows], return_index=True)
    seeded = hashlib.sha256(f"{seed}\0{topic}".encode("utf-8", "surrogatepass")).digest()
    order = np.random.Generator(np.random.PCG64(int.from_bytes(seeded, "big"))).permutation(len(names))[:depth]
    pieces: tuple[Piece, ...] = ()
    if dataset.evidence.get(topic):
        chunks = workspace.snapshot.chunks(rows[first[order[:PIECES]]])
        pieces = tuple(Piece(chunk.doc_id, chunk.text, chunk.tokens) for chunk in chunks)
    return TopicResult(topic, tuple(names[order].tolist()), tuple(1.0 / (1.0 + np.arange(len(order)))), pieces)


def rank_judged(dataset: Dataset, topic: str, depth: int) -> TopicResult:
    """`oracle`: the relevant documents, best grade first. Its context is one passage for each fact, shortest first."""
    judged = dataset.judgements[topic]
    best = sorted((d for d in judged if judged[d] > 0), key=lambda d: (-judged[d], d))[:depth]
    passages: dict[int, Piece] = {}
    for passage in dataset.evidence.get(topic, ()):
        piece = Piece(passage.doc_id, passage.text, count_tokens(passage.text))
        if passage.group not in passages or piece.tokens < passages[passage.group].tokens:
            passages[passage.group] = piece
    shortest = sorted(passages.values(), key=lambda piece: (piece.tokens, piece.doc_id, piece.text))
    return TopicResult(topic, tuple(best), tuple(float(judged[d]) for d in best), tuple(shortest))
