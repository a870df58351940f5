"""Reads tables (.csv, .tsv): one document per row, `name#<id>`, by the rules of `records.parse_record`.

With a column `text`, `content` or `body` the rows are records; otherwise a row's text is its cells as lines
`column: value`. The other cells are metadata; a column of numbers only is numbers. The delimiter is the one of
, ; tab | that occurs most in the header. As with JSON lines, the whole table is checked before any row is used.
The id of a row without one is its number, counted from 1 below the header.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import BadFile, BadRecord
from assay.ingest.files import TextFile, bad_file, inspect_text_file
from assay.ingest.records import IDS, METAS, TEXTS, parse_record
from assay.ingest.unique_ids import UniqueIds
from assay.types import Document

MOST_CHARACTERS = 16 << 20  # of one cell
LONGEST_META = 1000  # characters; longer cells are part of the text only
DELIMITERS = (",", ";", "\t", "|")

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?")
_RECORD = frozenset({*IDS, *TEXTS, "title", "section"})  # columns with a fixed meaning, never numbers
_TITLES = ("title", "name", "subject")


def read(path: Path, name: str) -> Iterator[Document]:
    """The rows of a table, in order."""
    text_file = inspect_text_file(path)
    with text_file.open() as file:
        header = file.readline(1 << 20)
    if path.suffix.lower() == ".tsv":
        # Many programs write tabs without quoting, so a quote at the start of a cell may be plain text.
        dialects = [_Dialect("\t", csv.QUOTE_MINIMAL), _Dialect("\t", csv.QUOTE_NONE)]
    else:
        dialects = [_Dialect(_delimiter(header), csv.QUOTE_MINIMAL)]
    dialect, numeric = _choose_dialect(text_file, name, dialects)
    for number, cells in _rows(text_file, dialect):
        yield _document(text_file, number, cells, name, numeric)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The delimiter and quoting of a table."""

    delimiter: str
    quoting: Any


def _delimiter(header: str) -> str:
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=unquoted.count)  # the first of equals


def _choose_dialect(text_file: TextFile, name: str, dialects: list[_Dialect]) -> tuple[_Dialect, frozenset[str]]:
    """Return the first dialect that reads the whole table, and the columns that hold numbers only."""
    errors: list[BadFile] = []
    for dialect in dialects:
        ids = UniqueIds()
        columns: set[str] = set()
        words: set[str] = set()
        try:
            for number, cells in _rows(text_file, dialect):
                ids.add(_document(text_file, number, cells, name).id, number)
                columns.update(cells)
                words.update(column for column, cell in cells.items() if column not in words and not _is_number(cell))
            ids.check(text_file.path, "row")
        except BadFile as error:
            errors.append(error)
        else:
            return dialect, frozenset(columns - words - _RECORD)
    raise errors[0]


def _rows(text_file: TextFile, dialect: _Dialect) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (row number from 1, column → cell), without blank rows and blank cells (a blank text stays)."""
    csv.field_size_limit(MOST_CHARACTERS)  # the module has one limit for all its readers
    with text_file.open(newline="") as file:
        rows = csv.reader(file, delimiter=dialect.delimiter, quoting=dialect.quoting, strict=True)
        try:
            columns = _columns(next(rows, []))
            for number, row in enumerate(rows, 1):
                if len(row) > len(columns):
                    reason = f"line {rows.line_num} has {len(row)} cells under {len(columns)} columns"
                    raise bad_file(text_file.path, reason, "quote cells that contain the delimiter")
                if any(cell.strip() for cell in row):
                    pairs = zip(columns, row, strict=False)  # a short row has blank cells at its end
                    yield number, {column: cell for column, cell in pairs if column in TEXTS or cell.strip()}
        except csv.Error as error:
            reason = f"line {rows.line_num} is not a row of the table: {error}"
            raise bad_file(
                text_file.path, reason, 'close every quote, and double a quote inside quotes ("")'
            ) from error


def _columns(header: list[str]) -> list[str]:
    """Return a name for every column: special ones in lower case, unnamed ones by place, repeated ones numbered."""
    columns: dict[str, None] = {}  # in order, and found in constant time
    for place, cell in enumerate(header, 1):
        name = " ".join(cell.split()) or f"column_{place}"
        name = name.lower() if name.lower() in _RECORD else f"field_{name}" if name in METAS else name
        while name in columns:
            name = f"{name}_{place}"
        columns[name] = None
    return list(columns)


def _document(
    text_file: TextFile, number: int, cells: dict[str, str], name: str, numeric: frozenset[str] = frozenset()
) -> Document:
    record: dict[str, Any] = {
        column: (float(cell) if "." in cell else int(cell)) if column in numeric else cell
        for column, cell in cells.items()
        if column in _RECORD or len(cell) <= LONGEST_META
    }
    if not any(column in cells for column in TEXTS):
        record["text"] = "\n".join(f"{column}: {cell.strip()}" for column, cell in cells.items())
        record.setdefault("title", next((cell for column, cell in cells.items() if column.lower() in _TITLES), None))
    try:
        return parse_record(record, prefix=f"{name}#", fallback_id=str(number), notes=text_file.notes)
    except BadRecord as error:
        raise bad_file(text_file.path, f"row {number}: {error.message}", error.cure) from error


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None
