"""What a maker of queries gives: a text, what is relevant, and where the answer stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any


@dataclass(frozen=True, slots=True)
class Spot:
    """Characters [start, end) of a document's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Relevant:
    """A document (by its place) with a grade and the sentences that say it; grade 0 is a judgement too."""

    document: int
    grade: int
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """One synthetic query. Without a document of grade above 0 it has no answer in the collection."""

    kind: str
    text: str
    relevant: tuple[Relevant, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)


def drawn(seed: int, *said: object) -> int:
    """A number of 64 bits that depends on the seed and on what is said, and on nothing else."""
    return int.from_bytes(blake2b("\x1f".join(map(str, (seed, *said))).encode(), digest_size=8).digest())
