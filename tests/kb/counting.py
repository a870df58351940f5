"""A real, tiny embedder: words hashed into a few numbers. It counts what it is asked to do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from assay.types import Vector, Vectors


class Hashing:
    """Each word adds one to a place given by its hash; deterministic, of unit length."""

    name = "hashing"
    max_tokens = 256

    def __init__(self, dim: int = 16) -> None:
        self.dim = dim
        self.digest = f"hashing-{dim}"
        self.texts: list[str] = []
        self.queries: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.texts.extend(texts)
        return np.stack([self._vector(text) for text in texts]) if texts else np.empty((0, self.dim), np.float32)

    def encode_query(self, text: str) -> Vector:
        self.queries.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> Vector:
        out = np.zeros(self.dim)
        for word in text.lower().split():
            out[int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:4], "big") % self.dim] += 1.0
        out[0] += 0.5
        vector: Vector = (out / np.linalg.norm(out)).astype(np.float32)
        return vector
