"""Buffers the rows of one file until it is complete: a file is committed whole or not at all."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from assay.store.db_errors import translate_errors
from assay.store.rows import StoredRow
from assay.types import Vector

MAX_ROWS_IN_MEMORY = 16_384
"""Rows of one file held in memory; the rows of a larger file are spilled to disk."""
_BLOCK = 512


class Spool:
    """Rows of one file with their vectors, in memory up to a bound, then in a temporary file that vanishes with the
    process.

    `unembedded` are the positions in memory whose vectors are still to be computed, each with its text; that happens
    before anything is spilled.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.rows: list[StoredRow] = []
        self.vectors: dict[int, Vector] = {}
        self.unembedded: list[tuple[int, str]] = []
        self._file: IO[bytes] | None = None
        self.size = 0
        self.committed: list[str] = []
        """The ids of rows that are in the store already: those of the committed parts of a long file."""
        self.inserted = 0
        """How many of them were new to the store."""
        self._first_uncommitted = 0

    def count_uncommitted(self) -> int:
        return len(self.rows) - self._first_uncommitted

    def uncommitted(self) -> list[tuple[StoredRow, Vector | None]]:
        """The rows in memory that belong to no committed part, with their vectors."""
        return [(self.rows[i], self.vectors.get(i)) for i in range(self._first_uncommitted, len(self.rows))]

    def mark_committed(self) -> None:
        self._first_uncommitted = len(self.rows)

    @property
    def is_full(self) -> bool:
        return len(self.rows) > MAX_ROWS_IN_MEMORY

    def spill(self) -> None:
        """Move what is in memory to disk, once it is too much."""
        if not self.is_full:
            return
        with translate_errors(self._folder or Path(tempfile.gettempdir())):
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - lives as long as the spool
            for start in range(0, len(self.rows), _BLOCK):
                part = [(row, self.vectors.get(start + i)) for i, row in enumerate(self.rows[start : start + _BLOCK])]
                pickle.dump(part, self._file, pickle.HIGHEST_PROTOCOL)
            self._file.flush()
        self.rows, self.vectors, self._first_uncommitted = [], {}, 0

    def __iter__(self) -> Iterator[tuple[StoredRow, Vector | None]]:
        if self._file is not None:
            self._file.seek(0)
            while True:
                try:
                    yield from pickle.load(self._file)
                except EOFError:
                    break
        for position, row in enumerate(self.rows):
            yield row, self.vectors.get(position)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
