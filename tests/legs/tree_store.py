"""A small store with a tree of several levels, for the tests of the legs that search it."""

from pathlib import Path

import numpy as np

from assay.backend.local.backend import LocalBackend
from assay.index.tree.layout import TreeSettings
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Query, Vectors

DIM = 16
TOPICS = ("harbour", "orchard", "turbine", "library", "glacier", "market")
SMALL = TreeSettings(branching=4, levels=3, leaf_min=4, leaf_cap=8)


def make_chunk(number: int) -> Chunk:
    topic = TOPICS[number % len(TOPICS)]
    text = (
        f"The {topic} report of Anna {topic.title()} counts item {topic}-{number} in room {number % 7} of the office."
    )
    meta = {
        "title": f"About {topic}",
        "section": "",
        "kind": "even" if number % 2 == 0 else "odd",
        "scope": f"s{number % 3}",
    }
    return Chunk(f"c{number:04d}", f"d{number}", text, 20, created=1e9 + number, meta=meta)


def make_vectors(chunks: list[Chunk]) -> Vectors:
    """A direction for each topic, and noise that depends on the chunk alone."""
    vectors = np.zeros((len(chunks), DIM), np.float32)
    for place, chunk in enumerate(chunks):
        number = int(chunk.id[1:])
        vectors[place] = np.random.default_rng(number).normal(0, 0.15, DIM)
        vectors[place, number % len(TOPICS)] += 1.0
    return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)


def make_backend(folder: Path, chunks: list[Chunk], vectors: Vectors | None = None) -> LocalBackend:
    """A compacted store of these chunks with a small tree; `vectors` None makes a store without a model."""
    dim = 0 if vectors is None else vectors.shape[1]
    settings = {
        "embedder": "x" if dim else "none",
        "model": "m" if dim else "",
        "dim": dim,
        "language": "english",
        "profile": "default",
    }
    backend = LocalBackend(SqliteStore.create(folder, settings), Analyser(), settings["model"], dim)
    if chunks:
        backend.put(list(zip(chunks, [None] * len(chunks) if vectors is None else vectors, strict=True)))
        backend.compact()
    backend.build_tree(SMALL)
    return backend


def make_query(number: int, **settings: object) -> Query:
    """The words and the direction of a chunk."""
    chunk = make_chunk(number)
    topic = TOPICS[number % len(TOPICS)]
    return Query(
        f"Which room has {topic}-{number} of Anna {topic.title()}?", vector=make_vectors([chunk])[0], **settings
    )  # type: ignore[arg-type]
