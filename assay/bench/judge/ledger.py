"""The ledger of judgements: an append-only file, one line per keystroke, synced to disk before it is acknowledged.

    {"query_id", "query", "doc_id", "chunk_id", "judge", "grade", "at"}     grade 0 … 3, or null for skipped
    {"query_id", "doc_id", "judge", "undone": true, "at"}                   takes the last one back

The last line about (query, document, judge) counts. A line that a killed process left unfinished was never
acknowledged; it is skipped, and the next one begins on its own line. Two people may write at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.bench.judge.pool import PoolItem
from assay.errors import AssayError

GRADES = (0, 1, 2, 3)
Key = tuple[str, str, str]
"""Query, document, judge."""


class LedgerError(AssayError):
    """The file of judgements cannot be used."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One judge's grade of one document for one query. `grade` is None if it was skipped."""

    query_id: str
    query: str
    doc_id: str
    chunk_id: str
    judge: str
    grade: int | None

    @property
    def key(self) -> Key:
        return self.query_id, self.doc_id, self.judge


@dataclass
class Ledger:
    """The judgements of a file. `torn` names the lines that were skipped."""

    path: Path
    judgements: dict[Key, LedgerEntry] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)

    @staticmethod
    def open(path: Path) -> Ledger:
        """Read the ledger; a missing file is empty."""
        ledger = Ledger(path)
        try:
            lines = path.read_bytes().split(b"\n") if path.exists() else []
        except OSError as error:
            raise LedgerError(f"{path} cannot be read: {error.strerror or error}", "check its permissions") from error
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    ledger._apply(json.loads(line))
                except (ValueError, KeyError, TypeError):
                    ledger.torn.append(f"{path}:{number}")
        return ledger

    def judged_pairs(self, judge: str) -> set[tuple[str, str]]:
        """The (query, document) pairs that this judge graded or skipped."""
        return {(one.query_id, one.doc_id) for one in self.judgements.values() if one.judge == judge}

    def grade(self, item: PoolItem, judge: str, grade: int | None, at: str, shown_rank: int | None = None) -> None:
        """Grade an item; the grade is on disk when this returns. `shown_rank` is the rank that the judge saw, which may
        have swayed the grade."""
        entry = LedgerEntry(item.query.id, item.query.text, item.chunk.doc_id, item.chunk.id, judge, grade)
        fields = {name: getattr(entry, name) for name in ("query_id", "query", "doc_id", "chunk_id", "judge", "grade")}
        self._append({**fields, "at": at, **({} if shown_rank is None else {"shown_rank": shown_rank})})
        self.judgements[entry.key] = entry

    def undo(self, item: PoolItem, judge: str, at: str) -> None:
        """Undo a judgement; the item is open again."""
        self._append({"query_id": item.query.id, "doc_id": item.chunk.doc_id, "judge": judge, "undone": True, "at": at})
        self.judgements.pop((*item.key, judge), None)

    def _apply(self, row: Mapping[str, Any]) -> None:
        key = (str(row["query_id"]), str(row["doc_id"]), str(row["judge"]))
        if row.get("undone"):
            self.judgements.pop(key, None)
            return
        grade = row["grade"]
        if grade is not None and grade not in GRADES:
            raise ValueError(f"grade {grade!r}")
        self.judgements[key] = LedgerEntry(key[0], str(row["query"]), key[1], str(row["chunk_id"]), key[2], grade)

    def _append(self, row: Mapping[str, Any]) -> None:
        """Append one line with one write, then fsync. An unfinished line before it is terminated first."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = f"{json.dumps(row, ensure_ascii=False)}\n".encode()
        new = not self.path.exists()
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            data = b"\n" + line if torn else line
            if os.write(handle, data) != len(data):
                raise LedgerError(f"{self.path} took only a part of the line", "make room on the disk")
            os.fsync(handle)
        finally:
            os.close(handle)
        if new:
            _sync_folder(self.path.parent)


def _sync_folder(folder: Path) -> None:
    """Sync the folder: a new file's name is durable only after its folder is synced."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def graded_entries(ledger: Ledger) -> Iterator[LedgerEntry]:
    """Judgements with a grade, by query, document and judge."""
    for key in sorted(ledger.judgements):
        if ledger.judgements[key].grade is not None:
            yield ledger.judgements[key]
