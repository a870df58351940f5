"""Newborn chunks on their way into the tables: analysed, counted, and sent with one COPY for each table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.backend.postgres.filters import folded_of, values_of
from assay.backend.postgres.terms import took_in
from assay.backend.postgres.vector_type import VectorCodec
from assay.engine.chunk_columns import kind_of
from assay.store.rows import Stored
from assay.store.validation import RefusedWrite, in_use
from assay.text.analyse import Analyser
from assay.types import Chunk, Vector

if TYPE_CHECKING:
    import psycopg

_COLUMNS = {
    "seq": "int8",
    "id": "text",
    "doc_id": "text",
    "origin": "text",
    "tokens": "int8",
    "chars": "int4",
    "created": "float8",
    "importance": "float8",
    "fields": "jsonb",
    "folded": "jsonb",
    "facts": "bytea",
    "born": "int8",
    "length": "int4",
    "terms": "int4[]",
    "counts": "int4[]",
}


LONGEST_NAME = 2_600
"""Bytes of an id, a path or a field's name: what the server's indexes hold, with some room."""


def check_name(what: str, name: str) -> None:
    """Refused when the server's indexes cannot hold a name; other stores can."""
    if len(name) * 4 > LONGEST_NAME and (size := len(name.encode("utf-8", "replace"))) > LONGEST_NAME:
        raise RefusedWrite(
            f"{what} {name[:40]!r}… has {size:,} bytes; PostgreSQL can index {LONGEST_NAME:,}", "give it a shorter name"
        )


@dataclass(frozen=True, slots=True)
class NewRow:
    """A chunk to be written, as its row holds it, and where it comes from."""

    row: Stored
    origin: str
    vector: Vector | None


def insert_chunks(
    db: psycopg.Connection[Any], births: Sequence[NewRow], version: int, vectors: str, analyser: Analyser
) -> int:
    """Write chunks, texts and vectors (into the table of that name); by how many terms the store grew."""
    chunks = [chunk_of(birth.row) for birth in births]
    counted = [Counter(analyser.terms(chunk.indexed_text)) for chunk in chunks]
    numbers = took_in(db, counted)
    seqs = [row[0] for row in db.execute("SELECT nextval('seq') FROM generate_series(1, %s)", (len(births),))]
    kinds: set[tuple[str, str]] = set()
    rows = []
    for seq, birth, chunk, counts in zip(seqs, births, chunks, counted, strict=True):
        values = values_of(chunk)
        for name in values:
            check_name("the metadata field", name)
        kinds.update((name, kind_of(value)) for name, held in values.items() for value in held)
        rows.append(_row(seq, birth, version, chunk, values, numbered(counts, numbers)))
    _insert(db, rows)
    _copy(
        db,
        "body",
        {"seq": "int8", "text": "text", "meta": "text"},
        [(seq, birth.row[2], birth.row[6]) for seq, birth in zip(seqs, births, strict=True)],
    )
    embedded = [(seq, VectorCodec(b.vector)) for seq, b in zip(seqs, births, strict=True) if b.vector is not None]
    if embedded:
        _copy(db, vectors, {"seq": "int8", "v": "vector"}, embedded)
    if kinds:
        names, held = zip(*sorted(kinds), strict=True)
        db.execute(
            "INSERT INTO field SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING",
            (list(names), list(held)),
        )
    return sum(counts.total() for counts in counted)


def numbered(counts: Mapping[str, int], numbers: Mapping[str, int]) -> list[tuple[int, int]]:
    """(number, count) of a chunk's terms, ascending."""
    return sorted((numbers[term], count) for term, count in counts.items())


def _row(
    seq: int, birth: NewRow, version: int, chunk: Chunk, values: Mapping[str, Any], words: list[tuple[int, int]]
) -> tuple[Any, ...]:
    from psycopg.types.json import Jsonb

    name, doc_id, text, tokens, created, importance, _, facts = birth.row
    said = (tokens, len(text), created, importance, Jsonb(values), Jsonb(folded_of(chunk, values)), facts, version)
    terms, counts = [number for number, _ in words], [count for _, count in words]
    return (seq, name, doc_id, birth.origin, *said, sum(counts), terms, counts)


def _insert(db: psycopg.Connection[Any], rows: Sequence[tuple[Any, ...]]) -> None:
    import psycopg

    try:
        _copy(db, "chunk", _COLUMNS, rows)
    except psycopg.errors.UniqueViolation as error:
        detail = error.diag.message_detail or ""  # Key (id)=(the id) already exists.
        raise in_use(detail.partition(")=(")[2].rpartition(")")[0]) from error


def _copy(db: psycopg.Connection[Any], table: str, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
    with db.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def chunk_of(row: Stored) -> Chunk:
    """A chunk from its row."""
    name, doc_id, text, tokens, created, importance, meta, _ = row
    moment = float("nan") if created is None else created
    return Chunk(name, doc_id, text, tokens, moment, importance, json.loads(meta))
