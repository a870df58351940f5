"""Caches the scores of (query, text) pairs in a file shared by processes.

A score is stored as it was computed, so a cold and a warm cache give the same ranking. The file holds hashes and
numbers, never a text.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from assay.embed.cache_home import cache_home
from assay.rerank.pair_reader import PairReader, load_pair_reader
from assay.types import Floats
from assay.util.disk_cache import DiskCache

_LOGIT = struct.Struct("<d")


class CachedPairs:
    """Scores pairs; `reader` scores only those that the file lacks, each equal pair of one call once.

    `max_bytes` bounds the file; the least recently used scores are dropped first. `hits` and `misses` count distinct
    pairs per call.
    """

    def __init__(self, reader: PairReader, path: Path | None = None, max_bytes: int = 512 << 20) -> None:
        self.reader = reader
        self.disk_cache = DiskCache(cache_home() / "pairs.sqlite" if path is None else path, max_bytes)
        self.hits = self.misses = 0

    def logits(self, query: str, texts: Sequence[str]) -> Floats:
        """Return what `reader.logits(query, texts)` returns."""
        keys = [hash_pair(query, text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        found = self.disk_cache.get(self.reader.digest, list(distinct))
        known = {key: _LOGIT.unpack(raw)[0] for key, raw in found.items() if len(raw) == _LOGIT.size}
        missing = {key: text for key, text in distinct.items() if key not in known}
        if missing:
            fresh = dict(zip(missing, self.reader.logits(query, list(missing.values())).tolist(), strict=True))
            self.disk_cache.put(self.reader.digest, {key: _LOGIT.pack(logit) for key, logit in fresh.items()})
            known |= fresh
        self.hits += len(distinct) - len(missing)
        self.misses += len(missing)
        return np.array([known[key] for key in keys], np.float64)

    def close(self) -> None:
        self.disk_cache.close()


def hash_pair(query: str, text: str) -> bytes:
    """The cache key of a pair: the hash of both hashes, so that no text can pass for another division of the two."""
    parts = (hashlib.blake2b(one.encode("utf-8", "surrogatepass"), digest_size=32).digest() for one in (query, text))
    return hashlib.blake2b(b"".join(parts), digest_size=20, person=b"pair").digest()


@lru_cache(maxsize=2)
def open_pair_cache(folder: str, sha256: str, max_tokens: int) -> CachedPairs:
    """Open a model with its cache once per process."""
    return CachedPairs(load_pair_reader(folder, sha256, max_tokens))
