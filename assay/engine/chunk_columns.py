"""What a filter sees of chunks held in memory: the fields of a chunk, and their values as columns.

Used for the tail of an index and for chunks from other sources. Columns grow while snapshots look at their first rows,
so everything here is append-only and is asked for a size.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.types import Chunk, Rows
from assay.where import Mask, Value, compare_values

NUMBERS = ("created", "importance", "tokens", "chars")
"""Facts that every chunk has, dense; `created` is NaN where undated."""
_OWN = frozenset({"id", "doc_id", *NUMBERS})
"""A chunk's own facts win over metadata of the same name."""


def fields_of(chunk: Chunk) -> Iterator[tuple[str, Value]]:
    """Every (field, value) a filter can see of a chunk, but its id; lists give several, nested tables none."""
    yield "doc_id", chunk.doc_id
    for key, value in chunk.meta.items():
        if key in _OWN:
            continue
        for member in value if isinstance(value, list | tuple) else (value,):
            if isinstance(member, str | bool):
                yield key, member
            elif isinstance(member, int | float):
                yield key, as_number(member)


def as_number(value: float) -> float:
    """A whole number beyond every float is infinite to a filter."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def numbers_of(chunk: Chunk) -> tuple[float, float, float, float]:
    """The facts named in NUMBERS."""
    return chunk.created, chunk.importance, float(chunk.tokens), float(len(chunk.text))


def number_of(chunk: Chunk, name: str) -> float:
    """A numeric fact of a chunk, of a list the first; NaN where it has none."""
    if name in NUMBERS:
        return numbers_of(chunk)[NUMBERS.index(name)]
    value = chunk.meta.get(name)
    for member in value if isinstance(value, list | tuple) else (value,):
        if isinstance(member, int | float) and not isinstance(member, bool):
            return as_number(member)
    return float("nan")


def kind_of(value: Value) -> str:
    return "flag" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


@dataclass
class _Field:
    """Entries of one field: the row and the number of the value; a list is several entries of one row."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    codes: array[int] = field(default_factory=lambda: array("q"))
    values: list[Value] = field(default_factory=list)
    numbers: dict[tuple[str, Value], int] = field(default_factory=dict)
    """(kind, value) → its number: 1 and true are equal in Python, and two values here."""
    first: dict[str, int] = field(default_factory=dict)
    """kind → the first row that has it."""

    def add(self, row: int, value: Value) -> None:
        kind = kind_of(value)
        code = self.numbers.setdefault((kind, value), len(self.values))
        if code == len(self.values):
            self.values.append(value)
        self.first.setdefault(kind, row)
        self.codes.append(code)
        self.rows.append(row)  # last: who sees the row sees its code and value


class ChunkColumns:
    """The fields of a tail's rows. One writer, any number of readers."""

    def __init__(self) -> None:
        self._fields: dict[str, _Field] = {}

    def add(self, row: int, chunk: Chunk, numbers: Sequence[float] | None = None) -> None:
        """Take in one row; `numbers` are its NUMBERS where the chunk comes without its text."""
        facts: list[tuple[str, Value]] = [("id", chunk.id), *fields_of(chunk)]
        facts += [pair for pair in zip(NUMBERS, numbers or numbers_of(chunk), strict=True) if pair[1] == pair[1]]
        for name, value in facts:
            self._fields.setdefault(name, _Field()).add(row, value)

    def kinds(self, size: int) -> dict[str, set[str]]:
        """field → the types its values have among the first rows."""
        found = {
            name: {kind for kind, first in list(column.first.items()) if first < size}
            for name, column in list(self._fields.items())
        }
        return {name: kinds for name, kinds in found.items() if kinds}

    def compare(self, name: str, op: str, value: Value, size: int) -> Mask:
        out = np.zeros(size, np.bool_)
        column = self._fields.get(name)
        if column is not None:
            rows, codes = _entries(column, size)
            if op == "=":  # the number of an equal value, instead of a comparison with each
                out[rows[codes == column.numbers.get((kind_of(value), value), -1)]] = True
                return out
            distinct = column.values[: int(codes.max(initial=-1)) + 1]
            matched = np.array([compare_values(known, op, value) for known in distinct], np.bool_)
            out[rows[matched[codes]]] = True
        return out

    def missing(self, name: str, size: int) -> Mask:
        out = np.ones(size, np.bool_)
        column = self._fields.get(name)
        if column is not None:
            out[_entries(column, size)[0]] = False
        return out


def _entries(column: _Field, size: int) -> tuple[Rows, Rows]:
    """Rows below a size with the numbers of their values."""
    # Slices are copies: another thread may append meanwhile, and an array that numpy looks into cannot grow.
    rows = np.array(column.rows[:], np.int64)
    known = int(np.searchsorted(rows, size))
    return rows[:known], np.array(column.codes[:known], np.int64)
