"""A column of strings in two files, offsets and one blob: memory-mapped, written as a stream."""

from __future__ import annotations

import contextlib
import weakref
from array import array
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from assay.types import Rows


class StringColumn:
    """A read-only column; strings are UTF-8, lone surrogates are preserved."""

    def __init__(self, path: Path) -> None:
        self._offsets = np.fromfile(path.with_suffix(".offsets"), "<i8")
        size = path.with_suffix(".blob").stat().st_size
        self._blob = np.memmap(path.with_suffix(".blob"), np.uint8, "r").data if size else memoryview(b"")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def bytes_at(self, row: int) -> bytes:
        return bytes(self._blob[self._offsets[row] : self._offsets[row + 1]])

    def at(self, row: int) -> str:
        return self.bytes_at(row).decode("utf-8", "surrogatepass")

    @cached_property
    def _fixed(self) -> NDArray[np.bytes_] | None:
        """The column as one array of equally long ASCII strings (ids usually are), else None."""
        width = int(self._offsets[1]) if len(self) else 0
        if not width or width * len(self) != len(self._blob) or (np.diff(self._offsets) != width).any():
            return None
        raw = np.frombuffer(self._blob, np.uint8)
        plain = bool(((raw > 0) & (raw < 128)).all())
        return raw.view(f"S{width}") if plain else None

    def array(self, rows: Rows) -> NDArray[np.str_]:
        """Return the strings of these rows as an array."""
        fixed = self._fixed
        return np.array(self.take(rows), np.str_) if fixed is None else fixed[rows].astype(np.str_)

    def take(self, rows: Rows) -> list[str]:
        starts, ends = self._offsets[rows].tolist(), self._offsets[rows + 1].tolist()
        blob = self._blob
        return [bytes(blob[a:b]).decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]

    def bisect(self, text: str, right: bool = False) -> int:
        """Return where a string is, or would be inserted, in a sorted column."""
        wanted = text.encode("utf-8", "surrogatepass")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            value = self.bytes_at(middle)
            if value < wanted or (right and value == wanted):
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, text: str) -> int:
        """Return the row of a string in a sorted column, or -1."""
        row = self.bisect(text)
        return row if row < len(self) and self.at(row) == text else -1


class StringColumnWriter:
    """Appends strings one by one; only the offsets are in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._blob = path.with_suffix(".blob").open("wb")
        self._offsets = array("q", [0])
        weakref.finalize(self, _close_quietly, self._blob)  # when the caller fails before close(), e.g. on a full disk

    def add(self, text: str) -> None:
        self.add_bytes(text.encode("utf-8", "surrogatepass"))

    def add_bytes(self, raw: bytes) -> None:
        self._blob.write(raw)
        self._offsets.append(self._offsets[-1] + len(raw))

    def close(self) -> None:
        self._blob.close()
        np.frombuffer(self._offsets, "<i8").tofile(self._path.with_suffix(".offsets"))


def _close_quietly(blob: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        blob.close()


def write_column(path: Path, texts: Iterable[str]) -> None:
    writer = StringColumnWriter(path)
    for text in texts:
        writer.add(text)
    writer.close()
