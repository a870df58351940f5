"""Builds filter columns in bounded memory: entries are spilled to disk, and texts become numbers at the end."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.engine.chunk_columns import NUMBERS, fields_of, kind_of, numbers_of
from assay.index.external_sort import Numbering, merge_runs, write_run
from assay.index.strings import StringColumnWriter
from assay.types import Chunk
from assay.where import Value

MAX_ENTRIES = 512_000
"""Entries in memory before they are spilled to disk: some 100 MB if every one is a different text."""


class ColumnEntries(NamedTuple):
    """The filterable values of consecutive rows: (field, kind) → rows and values; and the dense NUMBERS, row by row."""

    fields: dict[tuple[str, str], tuple[array[int], list[Value]]]
    numbers: list[tuple[float, ...]]


def collect_entries(chunks: Sequence[Chunk], first: int) -> ColumnEntries:
    """Return the entries of consecutive chunks, the first of which is row `first`."""
    fields: dict[tuple[str, str], tuple[array[int], list[Value]]] = {}
    for row, chunk in enumerate(chunks, first):
        for field, value in fields_of(chunk):
            key = field, kind_of(value)
            if key not in fields:
                fields[key] = array("i"), []
            rows, values = fields[key]
            rows.append(row)
            values.append(value)
    return ColumnEntries(fields, list(map(numbers_of, chunks)))


class ColumnsBuilder:
    """Takes blocks of rows in order; `finish` writes the files that `FilterColumns` opens."""

    def __init__(self, folder: Path, max_entries: int = MAX_ENTRIES) -> None:
        self._folder = folder
        self._max_entries = max_entries
        self._buffered = 0
        self._columns: dict[tuple[str, str], _Column] = {}
        for name in NUMBERS:
            (folder / f"number.{name}").touch()

    def add(self, entries: ColumnEntries) -> None:
        for name, numbers in zip(NUMBERS, zip(*entries.numbers, strict=True), strict=False):
            _append(self._folder / f"number.{name}", array("d", numbers))
        for key, (rows, values) in entries.fields.items():
            if key not in self._columns:
                kind = _TextColumn if key[1] == "text" else _Column
                self._columns[key] = kind(self._folder / f"column-{len(self._columns)}", key[1])
            self._columns[key].extend(rows, values)
            self._buffered += len(rows)
        if self._buffered >= self._max_entries:
            self._spill()

    def _spill(self) -> None:
        for column in self._columns.values():
            column.spill()
        self._buffered = 0

    def finish(self) -> None:
        self._spill()
        directory: dict[str, dict[str, int]] = {}
        for place, (field, kind) in enumerate(sorted(self._columns)):
            directory.setdefault(field, {})[kind] = place
            self._columns[field, kind].finish(self._folder / str(place))
        (self._folder / "fields.json").write_text(json.dumps(directory, sort_keys=True), "utf-8")


class _Column:
    """The entries of one field and kind: rows and values in memory, appended to two files by `spill`."""

    def __init__(self, path: Path, kind: str) -> None:
        self._rows_file, self._values_file = path.with_suffix(".rows"), path.with_suffix(".values")
        self._rows = array("i")
        self._values: array[Any] = array({"text": "i", "number": "d", "flag": "b"}[kind])

    def extend(self, rows: Iterable[int], values: Iterable[Any]) -> None:
        self._rows.extend(rows)
        self._values.extend(values)

    def spill(self) -> None:
        if self._rows:
            _append(self._rows_file, self._rows)
            _append(self._values_file, self._values)
            del self._rows[:], self._values[:]

    def finish(self, stem: Path) -> None:
        self._rows_file.rename(f"{stem}.rows")
        self._values_file.rename(f"{stem}.values")


class _TextColumn(_Column):
    """A column of texts: each spill writes a run of its sorted texts, and the values are places in that run."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._path = path
        self._numbers = Numbering()
        self._runs: list[tuple[Path, int]] = []  # a run of texts, and the number of its entries

    def extend(self, rows: Iterable[int], values: Iterable[Any]) -> None:
        super().extend(rows, map(self._numbers.__getitem__, values))

    def spill(self) -> None:
        if self._rows:
            run = self._path.with_suffix(f".{len(self._runs)}")
            self._runs.append((run, len(self._rows)))
            words = sorted(self._numbers)
            write_run(run, words)
            rank = np.empty(len(words), np.int32)
            rank[[self._numbers[word] for word in words]] = np.arange(len(words), dtype=np.int32)
            self._values = array("i", rank[np.frombuffer(self._values, np.int32)].tobytes())
            self._numbers = Numbering()
            super().spill()

    def finish(self, stem: Path) -> None:
        """Write all texts once, sorted; each value becomes the place of its text."""
        words = StringColumnWriter(stem)
        last, count = None, 0
        places = [array("i") for _ in self._runs]  # the place of each run's texts among all
        for word, run, _ in merge_runs([path for path, _ in self._runs]):
            if word != last:
                words.add(word)
                last, count = word, count + 1
            places[run].append(count - 1)
        words.close()
        with self._values_file.open("rb") as ranks, Path(f"{stem}.values").open("wb") as values:
            for place, (_, entries) in zip(places, self._runs, strict=True):
                np.frombuffer(place, np.int32)[np.fromfile(ranks, np.int32, entries)].tofile(values)
        self._rows_file.rename(f"{stem}.rows")
        self._values_file.unlink()
        for path, _ in self._runs:
            path.unlink()


def _append(path: Path, numbers: array[Any]) -> None:
    with path.open("ab") as file:
        numbers.tofile(file)
