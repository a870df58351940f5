"""Deterministic random streams: one per key, derived from (seed, key), so that growth changes nothing earlier."""

from __future__ import annotations

import hashlib
from functools import cache
from math import gcd
from random import Random


def open_stream(seed: int, *key: object) -> Random:
    """Open the random stream of a key. Equal seeds and keys give equal streams in every process."""
    return Random(_hash_key(seed, key))


def derive_id(seed: int, *key: object, digits: int = 12) -> str:
    """Derive an opaque hexadecimal id from a key."""
    return f"{_hash_key(seed, key):016x}"[:digits]


def permute(index: int, size: int, seed: int, key: str) -> int:
    """Map 0..size-1 onto itself: a bijection that scatters neighbours."""
    factor, offset = _choose_permutation(size, seed, key)
    return (index * factor + offset) % size


@cache
def _choose_permutation(size: int, seed: int, key: str) -> tuple[int, int]:
    stream = open_stream(seed, "permute", key, size)
    factor = stream.randrange(size // 3, size) | 1
    while gcd(factor, size) != 1:
        factor += 2
    return factor, stream.randrange(size)


def _hash_key(seed: int, key: tuple[object, ...]) -> int:
    text = "\x1f".join(str(part) for part in (seed, *key))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
