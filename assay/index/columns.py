"""Filter columns of a generation: every metadata field as sparse typed entries, so a filter is one vectorised pass.

A field may hold text in one chunk, a number in the next and a list in a third; entries of each type are stored
separately, and a list is several entries of one row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.engine.chunk_columns import NUMBERS, kind_of
from assay.index.checksums import FolderChecks
from assay.index.strings import StringColumn
from assay.types import Floats, Rows
from assay.where import Mask, Value

_OPS: Mapping[str, Any] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class FilterColumns:
    """Read-only filter columns in a generation's folder."""

    def __init__(self, folder: Path, ids: StringColumn, checks: FolderChecks | None = None) -> None:
        self._folder = folder
        self._checks = checks
        self._verify(*(f"number.{name}" for name in NUMBERS), "fields.json")
        self._ids = ids  # rows are in id order, so the ids are a sorted column
        self.size = len(ids)
        self.numbers: dict[str, Floats] = {name: np.fromfile(folder / f"number.{name}", "<f8") for name in NUMBERS}
        self._directory: dict[str, dict[str, int]] = json.loads((folder / "fields.json").read_text("utf-8"))
        self._open_columns: dict[str, Any] = {}

    def _verify(self, *names: str) -> None:
        if self._checks is not None:
            self._checks.verify(*names)

    @cached_property
    def newest(self) -> float:
        """The latest creation time of a row; -inf when no row has one."""
        return float(np.fmax.reduce(self.numbers["created"], initial=-np.inf))

    def kinds(self) -> dict[str, set[str]]:
        """Return field → the types of its values."""
        return {"id": {"text"}, **{n: {"number"} for n in NUMBERS}, **{f: set(k) for f, k in self._directory.items()}}

    def missing(self, field: str) -> Mask:
        if field in self.numbers:
            return np.isnan(self.numbers[field])
        if field == "id":
            return np.zeros(self.size, np.bool_)
        out = np.ones(self.size, np.bool_)
        for kind in self._directory.get(field, {}):
            out[self._entries(field, kind)[0]] = False
        return out

    def compare(self, field: str, op: str, value: Value) -> Mask:
        if field in self.numbers:
            if isinstance(value, bool | str):
                return np.zeros(self.size, np.bool_)
            if op == "~":
                return np.zeros(self.size, np.bool_)
            known: Mask = ~np.isnan(self.numbers[field])
            known &= _OPS[op](self.numbers[field], value)
            return known
        if field == "id":
            if not isinstance(value, str):
                return np.zeros(self.size, np.bool_)
            return _text_match(self._ids, np.arange(self.size), op, value)
        out = np.zeros(self.size, np.bool_)
        kind = kind_of(value)
        if kind not in self._directory.get(field, {}):
            return out
        rows, values = self._entries(field, kind)
        if kind == "text":
            out[rows[_text_match(self._words(field), values, op, str(value))]] = True
        elif op != "~" and (kind == "number" or op in ("=", "!=")):
            out[rows[_OPS[op](values, value)]] = True
        return out

    def number(self, field: str) -> Floats:
        """Return a numeric field as a dense column with the first entry of each row."""
        out = np.full(self.size, np.nan)
        if "number" in self._directory.get(field, {}):
            rows, values = self._entries(field, "number")
            out[rows[::-1]] = values[::-1]
        return out

    @cached_property
    def documents(self) -> NDArray[np.int32]:
        """The number of the document of every row, which `document_number` gives for its id."""
        rows, numbers = self._entries("doc_id", "text") if self.size else (np.empty(0, np.int32), np.empty(0, np.int32))
        out = np.empty(self.size, np.int32)
        out[rows] = numbers
        return out

    def document_number(self, doc_id: str) -> int:
        """Return the number of a document, or -1."""
        return self._words("doc_id").find(doc_id) if self.size else -1

    def texts(self, field: str, rows: Rows) -> set[str]:
        """Return the text values that a field has in these rows."""
        if "text" not in self._directory.get(field, {}):
            return set()
        holding, codes = self._entries(field, "text")
        among = np.zeros(self.size, np.bool_)
        among[rows] = True
        return {self._words(field).at(code) for code in np.unique(codes[among[holding]]).tolist()}

    def _words(self, field: str) -> StringColumn:
        key = f"{field}/words"
        if key not in self._open_columns:
            stem = str(self._directory[field]["text"])
            self._verify(f"{stem}.blob", f"{stem}.offsets")
            self._open_columns[key] = StringColumn(self._folder / stem)
        return self._open_columns[key]  # type: ignore[no-any-return]

    def _entries(self, field: str, kind: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        key = f"{field}/{kind}"
        if key not in self._open_columns:
            name = str(self._directory[field][kind])
            self._verify(f"{name}.rows", f"{name}.values")
            stem = self._folder / name
            dtype = {"text": "<i4", "number": "<f8", "flag": "?"}[kind]
            self._open_columns[key] = (np.fromfile(f"{stem}.rows", "<i4"), np.fromfile(f"{stem}.values", dtype))
        return self._open_columns[key]  # type: ignore[no-any-return]


def _text_match(words: StringColumn, codes: NDArray[Any], op: str, value: str) -> Mask:
    """Compare the texts of entries with a value. Words are sorted, so comparing texts is comparing codes."""
    if op == "~":
        wanted = value.casefold()
        matching = np.array([wanted in words.at(i).casefold() for i in range(len(words))], np.bool_)
        mask: Mask = matching[codes]
        return mask
    low, high = words.bisect(value), words.bisect(value, right=True)
    inside: Mask = (codes >= low) & (codes < high)
    return {
        "=": inside,
        "!=": ~inside,
        "<": codes < low,
        "<=": codes < high,
        ">": codes >= high,
        ">=": codes >= low,
    }[op]
