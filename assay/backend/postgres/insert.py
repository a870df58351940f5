"""Bulk-inserts chunks with COPY: analyses them, counts their terms, and sends one COPY per table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.backend.postgres.filters import field_values, folded_values
from assay.backend.postgres.terms import add_terms
from assay.backend.postgres.vector_type import VectorCodec
from assay.engine.chunk_columns import kind_of
from assay.store.rows import StoredRow
from assay.store.validation import RefusedWrite, id_in_use_error
from assay.text.analyser import Analyser
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


MAX_NAME_BYTES = 2_600
"""Bytes of an id, a path or a field's name: what the server's indexes hold, with some margin."""


def check_name(what: str, name: str) -> None:
    """RefusedWrite when a name is too long for the server's indexes; other stores accept it."""
    if len(name) * 4 > MAX_NAME_BYTES and (size := len(name.encode("utf-8", "replace"))) > MAX_NAME_BYTES:
        raise RefusedWrite(
            f"{what} {name[:40]!r}… has {size:,} bytes; PostgreSQL can index {MAX_NAME_BYTES:,}",
            "give it a shorter name",
        )


@dataclass(frozen=True, slots=True)
class NewRow:
    """A chunk to insert: its encoded row, its origin and its vector."""

    row: StoredRow
    origin: str
    vector: Vector | None


def insert_chunks(
    db: psycopg.Connection[Any], new_rows: Sequence[NewRow], version: int, vectors: str, analyser: Analyser
) -> int:
    """Insert chunks, texts and vectors (into the table of that name); returns how many terms were added."""
    chunks = [decode_chunk(new.row) for new in new_rows]
    counted = [Counter(analyser.terms(chunk.indexed_text)) for chunk in chunks]
    numbers = add_terms(db, counted)
    seqs = [row[0] for row in db.execute("SELECT nextval('seq') FROM generate_series(1, %s)", (len(new_rows),))]
    kinds: set[tuple[str, str]] = set()
    rows = []
    for seq, new, chunk, counts in zip(seqs, new_rows, chunks, counted, strict=True):
        values = field_values(chunk)
        for name in values:
            check_name("the metadata field", name)
        kinds.update((name, kind_of(value)) for name, members in values.items() for value in members)
        rows.append(_row(seq, new, version, chunk, values, number_terms(counts, numbers)))
    _copy_chunks(db, rows)
    _copy(
        db,
        "body",
        {"seq": "int8", "text": "text", "meta": "text"},
        [(seq, new.row[2], new.row[6]) for seq, new in zip(seqs, new_rows, strict=True)],
    )
    embedded = [(seq, VectorCodec(b.vector)) for seq, b in zip(seqs, new_rows, strict=True) if b.vector is not None]
    if embedded:
        _copy(db, vectors, {"seq": "int8", "v": "vector"}, embedded)
    if kinds:
        names, types = zip(*sorted(kinds), strict=True)
        db.execute(
            "INSERT INTO field SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING",
            (list(names), list(types)),
        )
    return sum(counts.total() for counts in counted)


def number_terms(counts: Mapping[str, int], numbers: Mapping[str, int]) -> list[tuple[int, int]]:
    """(number, count) of a chunk's terms, ascending."""
    return sorted((numbers[term], count) for term, count in counts.items())


def _row(
    seq: int, new: NewRow, version: int, chunk: Chunk, values: Mapping[str, Any], words: list[tuple[int, int]]
) -> tuple[Any, ...]:
    from psycopg.types.json import Jsonb

    name, doc_id, text, tokens, created, importance, _, facts = new.row
    facts_columns = (
        tokens,
        len(text),
        created,
        importance,
        Jsonb(values),
        Jsonb(folded_values(chunk, values)),
        facts,
        version,
    )
    terms, counts = [number for number, _ in words], [count for _, count in words]
    return (seq, name, doc_id, new.origin, *facts_columns, sum(counts), terms, counts)


def _copy_chunks(db: psycopg.Connection[Any], rows: Sequence[tuple[Any, ...]]) -> None:
    import psycopg

    try:
        _copy(db, "chunk", _COLUMNS, rows)
    except psycopg.errors.UniqueViolation as error:
        detail = error.diag.message_detail or ""  # Key (id)=(the id) already exists.
        raise id_in_use_error(detail.partition(")=(")[2].rpartition(")")[0]) from error


def _copy(db: psycopg.Connection[Any], table: str, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
    with db.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def decode_chunk(row: StoredRow) -> Chunk:
    """The chunk of an encoded row."""
    name, doc_id, text, tokens, created, importance, meta, _ = row
    moment = float("nan") if created is None else created
    return Chunk(name, doc_id, text, tokens, moment, importance, json.loads(meta))
