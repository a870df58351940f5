"""The digest of a set of live rows: the same whatever their history, their order of arrival, and their index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.types import Vector

MARK = 16
"""Bytes of a row's mark."""
_HALF = (1 << 64) - 1


def mark_row(facts: bytes, vector: Vector | None) -> bytes:
    """The mark of a row: a digest of its facts and of its vector, if it has one that is not zero."""
    digest = hashlib.blake2b(facts, digest_size=MARK)
    if vector is not None and vector.any():
        digest.update(np.asarray(vector, "<f4").tobytes())
    return digest.digest()


def sum_marks(marks: bytes | NDArray[np.uint8]) -> tuple[int, int]:
    """The sum of marks, of each half for itself: no order can change it, and rows can be taken away."""
    halves = np.frombuffer(marks, "<u8").reshape(-1, 2).sum(axis=0, dtype=np.uint64)
    return int(halves[0]), int(halves[1])


def add_sums(sums: Iterable[Sequence[int]], less: Sequence[int] = (0, 0)) -> list[int]:
    listed = list(sums)
    return [(sum(one[half] for one in listed) - less[half]) & _HALF for half in (0, 1)]


def digest_contents(sums: Sequence[int], size: int, all_first: bool, settings: str) -> str:
    """The digest of live rows, by the sum of their marks and their number, with the settings that score them."""
    return hashlib.sha256(f"{list(sums)}|{size}|{all_first}|{settings}".encode()).hexdigest()
