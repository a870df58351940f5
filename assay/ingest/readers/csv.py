"""Tables (.csv, .tsv): one document per row, `name#<id>`, by the rules of `records.document_from`.

With a column `text`, `content` or `body` the rows are records; otherwise a row's text is its cells as lines
`column: value`. The other cells are metadata; a column of numbers only is numbers. The delimiter is the one of
, ; tab | that the header has most. As with JSON lines, the whole table is checked before any of it is taken.
A row without id is called by its number, counted from 1 below the header.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import BadFile, BadRecord
from assay.ingest.files import TextFile, bad_file, text_file
from assay.ingest.records import IDS, METAS, TEXTS, document_from
from assay.ingest.unique import UniqueNames
from assay.types import Document

MOST_CHARACTERS = 16 << 20  # of one cell
LONGEST_META = 1000  # characters; longer cells are read in the text, not filtered by
DELIMITERS = (",", ";", "\t", "|")

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?")
_RECORD = frozenset({*IDS, *TEXTS, "title", "section"})  # columns with a meaning of their own, never numbers
_TITLES = ("title", "name", "subject")


def read(path: Path, name: str) -> Iterator[Document]:
    """The rows of a table, in order."""
    source = text_file(path)
    with source.open() as file:
        header = file.readline(1 << 20)
    if path.suffix.lower() == ".tsv":
        # Many write tabs and know no quotes, so a quote at the start of a cell need not be one.
        ways = [_Way("\t", csv.QUOTE_MINIMAL), _Way("\t", csv.QUOTE_NONE)]
    else:
        ways = [_Way(_delimiter(header), csv.QUOTE_MINIMAL)]
    way, numeric = _checked(source, name, ways)
    for number, cells in _rows(source, way):
        yield _document(source, number, cells, name, numeric)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a table is written."""

    delimiter: str
    quoting: Any


def _delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=bare.count)  # the first of equals


def _checked(source: TextFile, name: str, ways: list[_Way]) -> tuple[_Way, frozenset[str]]:
    """The first way in which the whole table can be read, and which of its columns are numbers."""
    refused: list[BadFile] = []
    for way in ways:
        names = UniqueNames()
        columns: set[str] = set()
        words: set[str] = set()
        try:
            for number, cells in _rows(source, way):
                names.add(_document(source, number, cells, name).id, number)
                columns.update(cells)
                words.update(column for column, cell in cells.items() if column not in words and not _is_number(cell))
            names.check(source.path, "row")
        except BadFile as error:
            refused.append(error)
        else:
            return way, frozenset(columns - words - _RECORD)
    raise refused[0]


def _rows(source: TextFile, way: _Way) -> Iterator[tuple[int, dict[str, str]]]:
    """(row number from 1, column → cell) of every row; blank rows and blank cells (but a blank text) are left out."""
    csv.field_size_limit(MOST_CHARACTERS)  # the module knows only one limit for all its readers
    with source.open(newline="") as file:
        rows = csv.reader(file, delimiter=way.delimiter, quoting=way.quoting, strict=True)
        try:
            columns = _columns(next(rows, []))
            for number, row in enumerate(rows, 1):
                if len(row) > len(columns):
                    reason = f"line {rows.line_num} has {len(row)} cells under {len(columns)} columns"
                    raise bad_file(source.path, reason, "quote cells that contain the delimiter")
                if any(cell.strip() for cell in row):
                    pairs = zip(columns, row, strict=False)  # a short row has blank cells at its end
                    yield number, {column: cell for column, cell in pairs if column in TEXTS or cell.strip()}
        except csv.Error as error:
            reason = f"line {rows.line_num} is not a row of the table: {error}"
            raise bad_file(source.path, reason, 'close every quote, and double a quote inside quotes ("")') from error


def _columns(header: list[str]) -> list[str]:
    """A name for every column: special ones in small letters, unnamed ones by place, repeated ones numbered."""
    columns: list[str] = []
    for place, cell in enumerate(header, 1):
        name = " ".join(cell.split()) or f"column_{place}"
        name = name.lower() if name.lower() in _RECORD else f"field_{name}" if name in METAS else name
        while name in columns:
            name = f"{name}_{place}"
        columns.append(name)
    return columns


def _document(
    source: TextFile, number: int, cells: dict[str, str], name: str, numeric: frozenset[str] = frozenset()
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
        return document_from(record, prefix=f"{name}#", fallback_id=str(number), notes=source.notes)
    except BadRecord as error:
        raise bad_file(source.path, f"row {number}: {error.message}", error.cure) from error


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None
