"""Ids of the rows of a local snapshot, and rows by id: the generation's in id order, then the tail's."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from assay.index.strings import StringColumn
from assay.index.tail import Tail
from assay.types import Ids, Rows
from assay.where import Mask


class RowNames:
    """`names` are the generation's ids, `start` their number, `dead` its dead rows, ascending."""

    def __init__(self, names: StringColumn | None, start: int, dead: Rows, tail: Tail, tail_live: Mask) -> None:
        self._names = names
        self._start = start
        self._dead = dead
        self._tail = tail
        self._tail_live = tail_live

    def row(self, name: str) -> int:
        """The live row with an id, or -1."""
        place = self._tail_places.get(name)
        if place is not None:
            return self._start + place
        row = self._names.find(name) if self._names is not None else -1
        if row >= 0 and len(self._dead):
            at = int(np.searchsorted(self._dead, row))
            if at < len(self._dead) and self._dead[at] == row:
                return -1
        return row

    @cached_property
    def _tail_places(self) -> dict[str, int]:
        return {self._tail.chunks[i].id: i for i in np.flatnonzero(self._tail_live).tolist()}

    def ids(self, rows: Rows) -> Ids:
        if self._names is not None and (not len(self._tail_live) or not (rows >= self._start).any()):
            return self._names.array(rows)
        return np.array([self._id(row) for row in rows.tolist()], np.str_)

    def _id(self, row: int) -> str:
        if row >= self._start or self._names is None:
            return self._tail.chunks[row - self._start].id
        return self._names.at(row)

    def with_prefix(self, prefix: str, most: int) -> list[str]:
        """Ids of live rows with this prefix, in order, at most `most`."""
        ids = [name for name in self._tail_places if name.startswith(prefix)]
        if self._names is not None:
            row = self._names.bisect(prefix)
            while row < self._start and len(ids) < most:
                name = self._names.at(row)
                if not name.startswith(prefix):
                    break
                if self.row(name) == row:
                    ids.append(name)
                row += 1
        return sorted(ids)[:most]

    def insert_tail(self, known: Rows, new: Mask) -> Rows:
        """Rows of the generation together with rows of the tail, in id order."""
        fresh = sorted(np.flatnonzero(new).tolist(), key=lambda place: self._tail.chunks[place].id)
        if self._names is None or not fresh:
            return np.array(fresh, np.int64) if self._names is None else known
        among = np.searchsorted(known, [self._names.bisect(self._tail.chunks[place].id) for place in fresh])
        return np.insert(known, among, np.array(fresh, np.int64) + self._start)
