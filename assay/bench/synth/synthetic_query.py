"""A synthetic query: its text, its relevant documents, and the spans of the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """Characters [start, end) of a document's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RelevantDocument:
    """A document (by position) with a grade and its evidence sentences; grade 0 is a judgement too."""

    document: int
    grade: int
    spans: tuple[EvidenceSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class SyntheticQuery:
    """One synthetic query. Without a document graded above 0 it is unanswerable."""

    kind: str
    text: str
    relevant: tuple[RelevantDocument, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)


def seeded_hash(seed: int, *values: object) -> int:
    """A 64-bit hash of the seed and the values, used as a reproducible random draw."""
    return int.from_bytes(blake2b("\x1f".join(map(str, (seed, *values))).encode(), digest_size=8).digest())
