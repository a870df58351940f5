"""The floor and the ceiling of a dataset: documents drawn by lot, and the judgements themselves as a ranking."""

from __future__ import annotations

import hashlib

import numpy as np

from assay.bench.types import Dataset, Piece, Retrieved
from assay.bench.workspace import Workspace
from assay.text.tokens import count_tokens
from assay.where import parse

PIECES = 50
"""Chunks of a context at most: the pool that every token budget draws from."""


def drawn(dataset: Dataset, topic: str, workspace: Workspace, depth: int, seed: int) -> Retrieved:
    """`random`: the documents this topic may find, in an order that only the seed and the topic decide."""
    where = dataset.topics[topic].where
    rows = workspace.snapshot.live_rows(parse(where) if where else None)
    names, first = np.unique(workspace.documents[rows], return_index=True)
    lot = hashlib.sha256(f"{seed}\0{topic}".encode("utf-8", "surrogatepass")).digest()
    order = np.random.Generator(np.random.PCG64(int.from_bytes(lot, "big"))).permutation(len(names))[:depth]
    pieces: tuple[Piece, ...] = ()
    if dataset.evidence.get(topic):
        chunks = workspace.snapshot.chunks(rows[first[order[:PIECES]]])
        pieces = tuple(Piece(chunk.doc_id, chunk.text, chunk.tokens) for chunk in chunks)
    return Retrieved(topic, tuple(names[order].tolist()), tuple(1.0 / (1.0 + np.arange(len(order)))), pieces)


def known(dataset: Dataset, topic: str, depth: int) -> Retrieved:
    """`oracle`: the relevant documents, best grade first; its context is one passage for each fact, shortest first."""
    judged = dataset.judgements[topic]
    best = sorted((d for d in judged if judged[d] > 0), key=lambda d: (-judged[d], d))[:depth]
    passages: dict[int, Piece] = {}
    for passage in dataset.evidence.get(topic, ()):
        piece = Piece(passage.doc_id, passage.text, count_tokens(passage.text))
        if passage.group not in passages or piece.tokens < passages[passage.group].tokens:
            passages[passage.group] = piece
    shortest = sorted(passages.values(), key=lambda piece: (piece.tokens, piece.doc_id, piece.text))
    return Retrieved(topic, tuple(best), tuple(float(judged[d]) for d in best), tuple(shortest))
