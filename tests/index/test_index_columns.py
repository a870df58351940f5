"""Filter columns against the plain meaning of a comparison, value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backend.shared.filters import SnapshotColumns
from assay.engine.chunk_columns import ChunkColumns, as_number, fields_of
from assay.index.columns import FilterColumns
from assay.index.columns_builder import ColumnsBuilder, collect_entries
from assay.index.strings import StringColumn, write_column
from assay.types import Chunk
from assay.where import COMPARISONS, Value, compare_values

FIELDS = ("a", "b", "id", "doc_id", "created", "lang")
words = st.one_of(
    st.sampled_from(["", "a", "A", "ä", "Straße", "STRASSE", "en", "zz", "\U0001f600", "a\0b"]), st.text(max_size=3)
)
texts = words.filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
numbers = st.one_of(
    st.integers(-3, 3),
    st.floats(-2, 2, allow_nan=False),
    st.sampled_from([0.0, -0.0, 1e308, 10**400, -(10**400), 2**53 + 1]),
)
values = st.one_of(texts, numbers, st.booleans())
metas = st.dictionaries(
    st.sampled_from(FIELDS),
    st.one_of(values, st.none(), st.lists(values, max_size=3), st.just({"deep": 1})),
    max_size=4,
)


def chunk_of(place: int, meta: dict[str, Any], created: float) -> Chunk:
    return Chunk(f"c{place:03d}", f"d{place % 3}", "text", 1, created, 0.5, meta)


def columns_of(folder: Path, chunks: list[Chunk], most: int) -> FilterColumns:
    builder = ColumnsBuilder(folder, most)
    for first in range(0, len(chunks), 3):
        builder.add(collect_entries(chunks[first : first + 3], first))
    builder.finish()
    write_column(folder / "ids", [chunk.id for chunk in chunks])
    return FilterColumns(folder, StringColumn(folder / "ids"))


def plain(chunk: Chunk, field: str) -> list[Value]:
    """What a filter sees of a chunk: its own facts, then metadata under other names; lists are several values."""
    own = {"id": chunk.id, "doc_id": chunk.doc_id, "created": chunk.created}
    value = own[field] if field in own else chunk.meta.get(field)
    members = value if isinstance(value, list) else [value]
    plain = [m for m in members if isinstance(m, str | bool | int | float) and m == m]
    return [m if isinstance(m, str | bool) else as_number(m) for m in plain]  # numbers are floats to a filter


def tail_of(chunks: list[Chunk]) -> tuple[ChunkColumns, int]:
    """A tail's columns that have grown by two rows since a snapshot knew of these."""
    columns = ChunkColumns()
    for place, chunk in enumerate([*chunks, *chunks[:2]]):
        columns.add(place, chunk)
    return columns, len(chunks)


def asked(value: Value) -> Value:
    """As the parser gives it: numbers are floats."""
    return value if isinstance(value, str | bool) else float(np.clip(value, -1e300, 1e300))


@settings(max_examples=150, deadline=None)
@given(
    given_metas=st.lists(st.tuples(metas, st.sampled_from([float("nan"), 0.0, 1.5])), max_size=9),
    field=st.sampled_from(FIELDS),
    op=st.sampled_from(COMPARISONS),
    value=values,
    most=st.integers(1, 20),
    split=st.integers(0, 9),
)
def test_comparing(
    tmp_path_factory: pytest.TempPathFactory,
    given_metas: list[tuple[dict[str, Any], float]],
    field: str,
    op: str,
    value: Value,
    most: int,
    split: int,
) -> None:
    """Columns on disk, the same rows in a tail, and both mixed, all agree with `compare_values`."""
    value = asked(value)
    chunks = [chunk_of(place, meta, created) for place, (meta, created) in enumerate(given_metas)]
    wanted = [any(compare_values(v, op, value) for v in plain(chunk, field)) for chunk in chunks]
    missing = [not plain(chunk, field) for chunk in chunks]
    columns = columns_of(tmp_path_factory.mktemp("columns"), chunks, most)
    assert columns.compare(field, op, value).tolist() == wanted
    assert columns.missing(field).tolist() == missing
    kind = bool if isinstance(value, bool) else str if isinstance(value, str) else float
    sorts = {type(v) if isinstance(v, bool | str) else float for c in chunks for v in plain(c, field)}
    if kind in sorts and (op != "~" or kind is str) and (kind is not bool or op in ("=", "!=")):
        part = columns_of(tmp_path_factory.mktemp("part"), chunks[:split], most)
        mixed = SnapshotColumns(part, *tail_of(chunks[split:]))
        assert mixed.compare(field, op, value).tolist() == wanted
        assert mixed.missing(field).tolist() == missing
        assert SnapshotColumns(None, *tail_of(chunks)).compare(field, op, value).tolist() == wanted


@settings(max_examples=60, deadline=None)
@given(st.lists(metas, max_size=6))
def test_the_first_number_counts(tmp_path_factory: pytest.TempPathFactory, given_metas: list[dict[str, Any]]) -> None:
    chunks = [chunk_of(place, meta, 0.0) for place, meta in enumerate(given_metas)]
    columns = columns_of(tmp_path_factory.mktemp("columns"), chunks, 4)
    for field in ("a", "b", "nobody"):
        firsts = [next((v for f, v in fields_of(c) if f == field and type(v) is float), np.nan) for c in chunks]
        assert np.array_equal(columns.number(field), np.array(firsts), equal_nan=True)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(texts, st.text(max_size=4)), max_size=30, unique=True), st.one_of(texts, st.text(max_size=4)))
def test_strings(tmp_path_factory: pytest.TempPathFactory, given_texts: list[str], wanted: str) -> None:
    """A sorted column of texts: every one is found in its place, and only those; lone surrogates included."""
    listed = sorted(given_texts, key=lambda text: text.encode("utf-8", "surrogatepass"))
    folder = tmp_path_factory.mktemp("strings")
    write_column(folder / "all", listed)
    column = StringColumn(folder / "all")
    assert len(column) == len(listed)
    assert [column.at(row) for row in range(len(listed))] == listed
    assert column.take(np.arange(len(listed))[::-1]) == listed[::-1]
    assert [column.find(text) for text in listed] == list(range(len(listed)))
    assert column.find(wanted) == (listed.index(wanted) if wanted in listed else -1)
    raw = wanted.encode("utf-8", "surrogatepass")
    assert column.bisect(wanted) == sum(text.encode("utf-8", "surrogatepass") < raw for text in listed)
    assert column.bisect(wanted, right=True) == sum(text.encode("utf-8", "surrogatepass") <= raw for text in listed)
