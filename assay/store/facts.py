"""What the store keeps of a chunk and of a file, and the digest by which it sees that nothing changed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from assay.types import Chunk


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What identifies the state of one file."""

    origin: str
    source: str
    hash: str
    size: int


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk as stored: its position in time and the digest of its facts."""

    seq: int
    chunk: Chunk
    facts: bytes
    born: int
    died: int | None


_WRITTEN = json.JSONEncoder(sort_keys=True, ensure_ascii=True, allow_nan=False).encode  # made once: it runs per chunk


def facts_of(chunk: Chunk) -> bytes:
    """A digest of all that a chunk says except its vector. TypeError or ValueError for what JSON cannot hold."""
    created = None if chunk.created != chunk.created else chunk.created + 0.0  # SQLite keeps no negative zero
    said = _WRITTEN([chunk.id, chunk.doc_id, chunk.text, chunk.tokens, created, chunk.importance, chunk.meta])
    return hashlib.blake2b(said.encode(), digest_size=16).digest()
