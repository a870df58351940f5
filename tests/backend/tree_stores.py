"""Small stores with a tree, for the tests of trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.backend.local.backend import LocalBackend
from assay.index.tree.layout import TreeSettings
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Vectors

DIM = 16
TOPICS = ("harbour", "orchard", "turbine", "library", "glacier", "market")
SMALL = TreeSettings(branching=4, levels=3, leaf_min=4, leaf_cap=8)


def make_chunk(number: int) -> Chunk:
    """A chunk of one of six topics with a word of its own and a name of its topic."""
    topic = TOPICS[number % len(TOPICS)]
    item = f"Item {topic}-{number} costs {number} euros in the {topic} office with {secret_word(number)}."
    meta = {"title": f"About {topic}", "section": "", "version": f"{number % 3}.0", "kind": ("even", "odd")[number % 2]}
    text = f"The {topic} report names Anna {topic.title()}. {item}"
    return Chunk(f"c{number:04d}", f"d{number}", text, 20 + number % 7, created=1e9 + number, meta=meta)


def secret_word(number: int) -> str:
    """A word that only one chunk holds."""
    return f"zk{chr(97 + number // 26)}{chr(97 + number % 26)}zk"


def make_vectors(numbers: list[int]) -> Vectors:
    """A direction for each topic, with noise that depends on the number alone."""
    vectors = np.zeros((len(numbers), DIM), np.float32)
    for place, number in enumerate(numbers):
        vectors[place] = np.random.default_rng(number).normal(0, 0.15, DIM)
        vectors[place, number % len(TOPICS)] += 1.0
    return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)


def make_backend(folder: Path, dim: int = DIM) -> LocalBackend:
    settings = {"embedder": "x", "model": "m" if dim else "", "dim": dim, "language": "english", "profile": "default"}
    return open_backend(SqliteStore.create(folder, settings))


def open_backend(store: SqliteStore) -> LocalBackend:
    return LocalBackend(store, Analyser(), store.settings["model"], store.settings["dim"])


def add(backend: LocalBackend, numbers: range | list[int]) -> None:
    """Add the chunks of these numbers, with vectors where the store holds some."""
    numbers = list(numbers)
    vectors = make_vectors(numbers) if backend.store.settings["dim"] else [None] * len(numbers)
    backend.put([(make_chunk(number), vector) for number, vector in zip(numbers, vectors, strict=True)])


def remove(backend: LocalBackend, numbers: range | list[int]) -> None:
    backend.remove([f"c{number:04d}" for number in numbers])
