"""Encodes pgvector's `vector` in binary: two 16-bit numbers (length, unused), then big-endian float32."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.types import Vector

if TYPE_CHECKING:
    import psycopg


class VectorCodec:
    """A vector as a statement's parameter; psycopg asks for its bytes."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector

    def pack(self) -> bytes:
        return struct.pack(">HH", len(self.vector), 0) + np.asarray(self.vector, ">f4").tobytes()


def unpack_vector(raw: bytes) -> Vector:
    """A vector from what `vector_send` gives."""
    return np.frombuffer(raw, ">f4", offset=4).astype(np.float32)


def register(db: psycopg.Connection[Any]) -> None:
    """Register `VectorCodec` with a connection; the type's oid differs from database to database."""
    from psycopg.adapt import Dumper
    from psycopg.pq import Format
    from psycopg.types import TypeInfo

    kind = TypeInfo.fetch(db, "vector")
    if kind is None:
        return
    kind.register(db)
    number = kind.oid

    class _VectorDumper(Dumper):
        format = Format.BINARY
        oid = number

        def dump(self, obj: VectorCodec) -> bytes:
            return obj.pack()

    db.adapters.register_dumper(VectorCodec, _VectorDumper)
