"""A small journal beside a database: the newest version that was acknowledged, and a checksum of the closed file.

SQLite ends its write-ahead log at the first damaged frame and says nothing: commits are gone. The journal lies outside
of the database, so the loss shows when the store is opened. Each line has a checksum of its own:

    assay-commits 1 STORE              whose journal it is
    v VERSION                          a commit was acknowledged
    o VERSION                          opened: the checksum before is void
    c VERSION SIZE CRC32               closed, nobody else had it open, and this is the database file

A line is written after the commit and before the caller hears of it, and not synced: when the power fails, the newest
lines may be missing, which hides a loss, but never makes one up.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.errors import StoreError
from assay.store.database_checksum import crc_of_database
from assay.store.locks import lock_file

SUFFIX = "-commits"
MOST_CHECKED = 16_000_000
"""Bytes of the largest database that is compared with its checksum whenever it is opened: a few milliseconds."""
_MOST_BYTES = 4_096
"""Bytes from which the journal is written anew: every opening reads it."""
ACCEPT = "restore a backup (assay restore BACKUP --store NEW), or go on with what is there: assay doctor --accept"


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str
    version: int
    size: int = 0
    crc: int = 0


class CommitJournal:
    """The journal of one store; `owner` is the store's own number, so that a journal left by another one is ignored."""

    def __init__(self, database: Path, owner: str, readonly: bool) -> None:
        self._database = database
        self.path = database.with_name(database.name + SUFFIX)
        self._owner = owner
        self._readonly = readonly
        self._version = 0
        """The newest version that this process knows of."""

    def check(self, read_version: Callable[[], int]) -> None:
        """StoreError when acknowledged commits are gone, or the file is not the one that was closed."""
        entries = self._read()
        version = self._version = read_version()  # after the journal: another process may commit between
        newest = max((entry.version for entry in entries), default=0)
        if newest > version:
            lost = newest - version
            raise StoreError(
                f"{self._database} has lost {lost:,} acknowledged commit{'' if lost == 1 else 's'}: it is at "
                f"v{version}, and v{newest} was written",
                ACCEPT,
            )
        if entries and entries[-1].kind == "c" and entries[-1].version == version and not self._has_log():
            self._compare(entries)
        self._append(_Entry("o", version))

    def _compare(self, entries: list[_Entry]) -> None:
        closed = entries[-1]
        if self._database.stat().st_size != closed.size:
            damage = f"it had {closed.size:,} bytes when it was closed"
        else:
            crc = crc_of_database(self._database) if closed.size <= MOST_CHECKED else closed.crc
            if crc == closed.crc:
                return
            damage = "it cannot be read" if crc is None else "it was changed since it was closed"
        if self._read() == entries and not self._has_log():  # else another process wrote to it while we compared
            raise StoreError(f"{self._database} is damaged: {damage}", ACCEPT)

    def add_commit(self, version: int) -> None:
        """Write down a commit; its caller has not heard of it yet."""
        self._version = max(version, self._version)
        self._append(_Entry("v", version))

    def close(self) -> None:
        """Write the checksum of the file, if nobody has commits in its log."""
        with contextlib.suppress(OSError):
            if not self._readonly and not self._has_log():
                entries = self._read()
                size = self._database.stat().st_size
                crc = crc_of_database(self._database) if size <= MOST_CHECKED else 0
                if crc is not None:
                    self._append(_Entry("c", self._version, size, crc), if_still=entries)

    def accept(self, version: int) -> None:
        """Start anew with the present state."""
        self.path.unlink(missing_ok=True)
        self.add_commit(version)

    def _has_log(self) -> bool:
        log = self._database.with_name(self._database.name + "-wal")
        return log.is_file() and log.stat().st_size > 0

    def _append(self, entry: _Entry, if_still: list[_Entry] | None = None) -> None:
        """Add a line; with `if_still`, only if nobody else added one since these were read."""
        if self._readonly:
            return
        with contextlib.suppress(OSError), lock_file(self.path):  # a full disk must not undo a commit that is there
            if if_still is not None and (self._read() != if_still or self._has_log()):
                return
            size = self.path.stat().st_size
            if size > _MOST_BYTES:
                newest = max((old.version for old in self._read()), default=0)
                self._write(os.O_TRUNC, [f"assay-commits 1 {self._owner}", f"v {newest}", _spell(entry)])
            elif not size or not self._is_own():
                self._write(os.O_TRUNC, [f"assay-commits 1 {self._owner}", _spell(entry)])
            else:
                self._write(os.O_APPEND, [_spell(entry)])

    def _write(self, mode: int, lines: list[str]) -> None:
        handle = os.open(self.path, os.O_WRONLY | mode)
        try:
            os.write(handle, "".join(f"{line} {zlib.crc32(line.encode()):08x}\n" for line in lines).encode())
        finally:
            os.close(handle)

    def _is_own(self) -> bool:
        with self.path.open("rb") as file:
            return file.readline().split(b" ")[:3] == [b"assay-commits", b"1", self._owner.encode()]

    def _read(self) -> list[_Entry]:
        """Every line whose checksum is right; nothing from a journal of another store."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except OSError:
            return []
        entries: list[_Entry] = []
        for place, line in enumerate(lines):
            content, _, crc = line.rpartition(b" ")
            if not content or f"{zlib.crc32(content):08x}".encode() != crc:
                continue
            parts = content.decode().split(" ")
            if place == 0:
                if parts[2] != self._owner:
                    return []
            else:
                entries.append(_Entry(parts[0], *map(int, parts[1:])))
        return entries


def _spell(entry: _Entry) -> str:
    closed = f" {entry.size} {entry.crc}" if entry.kind == "c" else ""
    return f"{entry.kind} {entry.version}{closed}"
