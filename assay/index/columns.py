"""Filter columns of a generation: every metadata field as sparse typed entries, so a filter is one vectorised pass.

A field may hold text in one chunk, a number in the next and a list in a third; entries of each type are kept
apart, and a list is simply several entries of one row.
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
from assay.index.strings import Strings
from assay.types import Floats
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

    def __init__(self, folder: Path, ids: Strings) -> None:
        self._folder = folder
        self._ids = ids  # rows stand in id order, so the ids themselves are their sorted column
        self.size = len(ids)
        self.numbers: dict[str, Floats] = {name: np.fromfile(folder / f"number.{name}", "<f8") for name in NUMBERS}
        self._directory: dict[str, dict[str, int]] = json.loads((folder / "fields.json").read_text("utf-8"))
        self._opened: dict[str, Any] = {}

    @cached_property
    def newest(self) -> float:
        """The moment at which the last row was created; -inf when none is dated."""
        return float(np.fmax.reduce(self.numbers["created"], initial=-np.inf))

    def kinds(self) -> dict[str, set[str]]:
        """field → the types its values have."""
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
        """A numeric field as a dense column; the first entry of a row counts."""
        out = np.full(self.size, np.nan)
        if "number" in self._directory.get(field, {}):
            rows, values = self._entries(field, "number")
            out[rows[::-1]] = values[::-1]
        return out

    def _words(self, field: str) -> Strings:
        key = f"{field}/words"
        if key not in self._opened:
            self._opened[key] = Strings(self._folder / str(self._directory[field]["text"]))
        return self._opened[key]  # type: ignore[no-any-return]

    def _entries(self, field: str, kind: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        key = f"{field}/{kind}"
        if key not in self._opened:
            stem = self._folder / str(self._directory[field][kind])
            dtype = {"text": "<i4", "number": "<f8", "flag": "?"}[kind]
            self._opened[key] = (np.fromfile(f"{stem}.rows", "<i4"), np.fromfile(f"{stem}.values", dtype))
        return self._opened[key]  # type: ignore[no-any-return]


def _text_match(words: Strings, codes: NDArray[Any], op: str, value: str) -> Mask:
    """Which entries' texts compare so. Words stand in sorted order, so comparing text is comparing codes."""
    if op == "~":
        wanted = value.casefold()
        holding = np.array([wanted in words.at(i).casefold() for i in range(len(words))], np.bool_)
        matched: Mask = holding[codes]
        return matched
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
