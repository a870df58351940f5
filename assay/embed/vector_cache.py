"""Caches vectors by (model digest, hash of the text) in a file shared by processes.

The cache never fails an embedding (see `util/disk_cache.py`); it returns the float32 bytes that were stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assay.embed.cache_home import cache_home
from assay.protocols import Embedder
from assay.types import Vector, Vectors
from assay.util.disk_cache import DiskCache


class CachedEmbedder:
    """Wraps the embedder `inner`, which embeds only texts that are not cached; equal texts of one call once.

    `hits` and `misses` count distinct texts per call, `bypassed` counts failed uses of the file, `trouble` is the
    last error. Safe to share between threads; after a fork the child opens the file anew.
    """

    def __init__(self, inner: Embedder, path: Path | None = None, max_bytes: int = 1 << 30) -> None:
        self.inner = inner
        self.hits = self.misses = 0
        self._disk_cache = DiskCache(cache_home() / "vectors.sqlite" if path is None else path, max_bytes)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def digest(self) -> str:
        return self.inner.digest

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    @property
    def path(self) -> Path:
        return self._disk_cache.path

    @property
    def bypassed(self) -> int:
        return self._disk_cache.bypassed

    @property
    def trouble(self) -> str:
        return self._disk_cache.trouble

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return self.inner.encode(texts)
        return self._cached(texts, b"document", self.inner.encode)

    def encode_query(self, text: str) -> Vector:
        # A model may embed a query otherwise than a document, so the two have different keys.
        rows = self._cached([text], b"query", lambda texts: self.inner.encode_query(texts[0])[np.newaxis])
        return rows.reshape(-1)

    def close(self) -> None:
        self._disk_cache.close()

    def _cached(self, texts: Sequence[str], kind: bytes, embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        keys = [hash_text(kind, text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        known = {key: _vector(raw) for key, raw in self._disk_cache.get(self.digest, list(distinct)).items()}
        missing = {key: text for key, text in distinct.items() if key not in known}
        fresh = dict(zip(missing, embed(list(missing.values())), strict=True)) if missing else {}
        self.hits += len(known)
        self.misses += len(fresh)
        self._disk_cache.put(self.digest, {key: vector.astype("<f4").tobytes() for key, vector in fresh.items()})
        return np.stack([fresh[key] if key in fresh else known[key] for key in keys])


def hash_text(kind: bytes, text: str) -> bytes:
    """Return the cache key of a text; `kind` separates the things computed from it."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20, person=kind).digest()


def _vector(raw: bytes) -> Vector:
    return np.frombuffer(raw, "<f4").astype(np.float32, copy=False)
