"""What PostgreSQL knows about its index: which collection, which rows are in it, how it was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

KEY = "index"
"""The setting that holds it."""
FORMAT = 1


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """Written in one transaction after the collection has acknowledged everything it claims."""

    collection: str
    seq: int
    """Every row up to this number is in the collection."""
    version: int
    """Rows that died up to this version are marked there."""
    points: int
    average: float
    """The mean length of a chunk that the weights of its words were computed with."""
    model: str
    analyser: str
    layout: Mapping[str, Any] = field(default_factory=dict)
    vectors: Mapping[str, Any] = field(default_factory=dict)
    """What was measured of an approximate search (`index.recall`); empty where it is exact, or not measured yet."""
    database: str = ""
    """The database that the collection belongs to: not that of a store whose copy this one is."""
    format: int = FORMAT

    def write(self, db: psycopg.Connection[Any]) -> None:
        db.execute(
            "INSERT INTO setting VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (KEY, json.dumps(asdict(self))),
        )

    @staticmethod
    def delete(db: psycopg.Connection[Any]) -> None:
        db.execute("DELETE FROM setting WHERE key = %s", (KEY,))

    @staticmethod
    def decode(value: str | None, database: str) -> IndexManifest | None:
        """None where there is no index, one of another format, or that of another database."""
        found = json.loads(value) if value else {}
        fits = found.get("format") == FORMAT and found.get("database") == database
        return IndexManifest(**found) if fits else None
