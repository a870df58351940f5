"""MinHash signatures of token lists: the share of equal entries estimates the Jaccard similarity of two texts.

All arithmetic is on unsigned integers modulo 2⁶⁴, and words are hashed with BLAKE2, so signatures depend on the text
and the seed only: not on Python's hash seed, the platform, threads or the order of the texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from assay.text.bounded_cache import BoundedCache

Signatures = NDArray[np.uint32]  # shape [texts, hashes]
Hashes = NDArray[np.uint64]

_MIX = np.uint64(0x9E3779B97F4A7C15)


class MinHasher:
    """Hashes the shingles of a text (runs of `shingle` tokens, as a set) with `hashes` functions and keeps the minima.

    A text shorter than a shingle has one, padded.
    """

    def __init__(self, hashes: int, shingle: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._factors: Hashes = rng.integers(0, 2**63, hashes, np.uint64) * np.uint64(2) + np.uint64(1)
        self._offsets: Hashes = rng.integers(0, 2**64, hashes, np.uint64, endpoint=False)
        self._shingle = shingle
        self._words: BoundedCache[str, int] = BoundedCache(_hash_word)

    def sign(self, texts: Sequence[Sequence[str]]) -> Signatures:
        """Return the signature of each token list."""
        signatures = np.empty((len(texts), len(self._factors)), np.uint32)
        if not texts:
            return signatures
        lengths = np.array([max(len(tokens), 1) for tokens in texts])
        words = self._words
        padded = chain.from_iterable(chain(map(words.__getitem__, tokens or ("",)), self._padding) for tokens in texts)
        hashes = np.fromiter(padded, np.uint64)
        shingles = np.zeros(len(hashes), np.uint64)
        for place in range(self._shingle):
            shingles = _mix(shingles + np.roll(hashes, -place))
        # A text of n tokens has n − shingle + 1 shingles, at least one; the others reach into the padding.
        counts = np.maximum(lengths - self._shingle + 1, 1)
        starts = np.concatenate([[0], np.cumsum(lengths + self._shingle - 1)[:-1]])
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        shingles = shingles[np.arange(counts.sum()) + np.repeat(starts - first, counts)]
        for column, (factor, offset) in enumerate(zip(self._factors, self._offsets, strict=True)):
            signatures[:, column] = np.minimum.reduceat((shingles * factor + offset) >> np.uint64(32), first)
        return signatures

    @property
    def _padding(self) -> tuple[int, ...]:
        return (0,) * (self._shingle - 1)


def hash_bands(signatures: Signatures) -> Hashes:
    """Return one hash for each row of a band of signatures: equal rows have equal hashes."""
    combined = np.zeros(len(signatures), np.uint64)
    for column in signatures.T:
        combined = _mix(combined + column)
    return combined


def _hash_word(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def _mix(values: Hashes) -> Hashes:
    """Scramble 64-bit values (the finaliser of SplitMix64)."""
    values = values + _MIX
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
