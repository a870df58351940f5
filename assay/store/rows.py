"""The rows of a store: chunks, the state of a file, and the digest that shows whether a chunk changed."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _text
from math import isfinite

import numpy as np

from assay.errors import StoreError
from assay.types import Chunk, Vector

FACTS = 16
"""Bytes of the digest of a chunk's facts."""
StoredRow = tuple[str, str, str, int, float | None, float, str, bytes]
"""A chunk as its row holds it: id, doc_id, text, tokens, created, importance, metadata as JSON, facts."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What identifies the state of one file."""

    origin: str
    folder: str
    hash: str
    size: int


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as stored: its position in time and the digest of its facts."""

    seq: int
    chunk: Chunk
    facts: bytes
    inserted_in: int
    deleted_in: int | None


# As JSON spells it; an escaped backslash before u0000 is another thing.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
# Built once: they run per chunk.
_ENCODE_ALL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, allow_nan=False).encode
_ENCODE_META = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False).encode


def digest_chunk(chunk: Chunk) -> bytes:
    """The digest of a chunk without its vector. TypeError or ValueError for what JSON cannot hold."""
    created = None if chunk.created != chunk.created else chunk.created + 0.0  # SQLite keeps no negative zero
    return _digest(
        _ENCODE_ALL([chunk.id, chunk.doc_id, chunk.text, chunk.tokens, created, chunk.importance, chunk.meta])
    )


def encode_row(chunk: Chunk) -> StoredRow:
    """A chunk as its row holds it; StoreError for one that could not be read back."""
    _check(chunk)
    created = None if chunk.created != chunk.created else chunk.created
    try:
        meta = _ENCODE_META(chunk.meta)
        facts = _digest_ascii(chunk, created, meta)
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"chunk {chunk.id!r} cannot be stored: {error}",
            "its numbers must be finite, its metadata text, numbers, true or false, and lists and tables of them",
        ) from error
    if "\\u0000" in meta and _NUL.search(meta):
        raise _nul_error(chunk, "its metadata")
    return chunk.id, chunk.doc_id, chunk.text, chunk.tokens, created, chunk.importance, meta, facts


def _digest_ascii(chunk: Chunk, created: float | None, meta: str) -> bytes:
    """`digest_chunk` without encoding the metadata a second time, where both encodings agree: in ASCII."""
    plain = type(chunk.tokens) is int and type(chunk.importance) is float and meta.isascii() and "\x7f" not in meta
    if not plain or not (created is None or (type(created) is float and isfinite(created))):
        return digest_chunk(chunk)
    names = f"{_text(chunk.id)}, {_text(chunk.doc_id)}, {_text(chunk.text)}"
    moment = "null" if created is None else repr(created + 0.0)
    return _digest(f"[{names}, {chunk.tokens}, {moment}, {chunk.importance!r}, {meta}]")


def verify_row(chunk: Chunk, created: float | None, meta: str, facts: bytes) -> None:
    """ValueError for a chunk that is not what was written; `meta` is its metadata as stored."""
    if _digest_ascii(chunk, created, meta) != facts:
        raise ValueError(f"chunk {chunk.id!r} is not what was written")


def encode_vector(vector: Vector) -> bytes:
    """A vector as its row holds it: the numbers, then their CRC-32."""
    raw = vector.tobytes()
    return raw + zlib.crc32(raw).to_bytes(4, "little")


def decode_vector(seq: int, raw: bytes, dim: int) -> Vector:
    """A vector from its row; ValueError when it is not what was written. Rows of older releases have no checksum."""
    numbers, crc = raw[: 4 * dim], raw[4 * dim :]
    if len(numbers) != 4 * dim or (crc and zlib.crc32(numbers).to_bytes(4, "little") != crc):
        raise ValueError(f"the vector of row {seq} is not what was written")
    return np.frombuffer(numbers, "<f4")


def _digest(content: str) -> bytes:
    return hashlib.blake2b(content.encode(), digest_size=FACTS).digest()


def _check(chunk: Chunk) -> None:
    if not chunk.id or "\0" in chunk.id:
        raise StoreError(f"{chunk.id!r} cannot be a chunk's id", "use a text without NUL")
    if "\0" in chunk.text or "\0" in chunk.doc_id:
        raise _nul_error(chunk, "its text" if "\0" in chunk.text else "its document's id")
    if not 0.0 <= chunk.importance <= 1.0:
        raise StoreError(f"chunk {chunk.id!r}: importance {chunk.importance} is not in [0, 1]", "give 0 to 1")
    if not 0 <= chunk.tokens < 1 << 63:
        raise StoreError(f"chunk {chunk.id!r}: {chunk.tokens} tokens", "count the tokens of its text")


def _nul_error(chunk: Chunk, where: str) -> StoreError:
    """SQLite's JSON ends a text at a NUL, so a scope "a\\0b" would pass for "a"; PostgreSQL holds none at all."""
    return StoreError(f"chunk {chunk.id!r}: {where} holds a NUL, which no store keeps", "replace it, e.g. by U+FFFD")
