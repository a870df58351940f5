"""Digests of queries and rankings: every bit that can change an answer."""

from __future__ import annotations

import hashlib
import math
from typing import Protocol, cast

import numpy as np

from assay.errors import QueryError
from assay.protocols import Snapshot
from assay.types import Query, Ranking, Vector


def normalise_vector(vector: Vector) -> Vector:
    """A caller's own query vector, checked and scaled to unit length."""
    array = np.asarray(vector, dtype=np.float64)
    norm = math.sqrt(array @ array) if array.ndim == 1 else 0.0
    if not 0.0 < norm < math.inf:
        raise QueryError("query.vector must be one-dimensional, finite and not all zero", "pass float32[d]")
    return (array / norm).astype(np.float32)


class _ContentsSnapshot(Protocol):
    def contents_digest(self, uses: frozenset[str]) -> str: ...


def contents_digest(snapshot: Snapshot, uses: frozenset[str]) -> str:
    """What an answer that uses these capabilities depends on: the contents of the store, and its index only where that
    may change the answer. A snapshot that makes no difference between them has one digest."""
    if hasattr(snapshot, "contents_digest"):
        return cast(_ContentsSnapshot, snapshot).contents_digest(uses)
    return snapshot.digest


def query_digest(query: Query) -> str:
    """The digest of a query, the bytes of its vector included."""
    vector = b"" if query.vector is None else np.asarray(query.vector, "<f4").tobytes()
    fields = repr((query.text, query.at, str(query.where), query.scope, sorted(query.extra.items())))
    return hashlib.sha256(fields.encode("utf-8", "surrogatepass") + b"\0" + vector).hexdigest()


def ranking_digest(ranking: Ranking) -> str:
    """The digest of a ranking: every id in order, with the bits of its score."""
    names = "\0".join(ranking.ids.tolist()).encode("utf-8", "surrogatepass")
    return hashlib.sha256(names + b"\0\0" + ranking.score.astype("<f8").tobytes()).hexdigest()
