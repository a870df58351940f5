"""The in-memory catalogue of a Lance store: every row without its text, and every setting, tag, source and file.

`refresh` reads what was committed since; some 500 bytes a row.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from assay.backend.lance.tables import FORMAT, KEYS, Tables
from assay.errors import StoreError, install_hint

FACTS = ("setting", "tag", "source", "file")


class Catalogue:
    """Rows in the order of their numbers. One writer, which holds the store's lock, and any number of readers."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._seen = -1
        self._clear()

    def _clear(self) -> None:
        self.version = -1
        self.last_seq = 0
        self.notes: dict[int, tuple[str, int]] = {}
        """version → (note, the newest row then)"""
        self.seqs, self.tokens, self.lengths, self.inserted_in = (array("q") for _ in range(4))
        self.ids: list[str] = []
        self.docs: list[str] = []
        self.origins: list[str] = []
        self.facts: list[bytes] = []
        self.marks = bytearray()
        self.deleted_in: dict[int, int] = {}
        self.live_id: dict[str, int] = {}
        """id → position of its live row"""
        self.by_origin: dict[str, list[int]] = {}
        self.by_doc: dict[str, list[int]] = {}
        self.fact_rows = 0
        self.entries: dict[str, dict[str, Any]] = {kind: {} for kind in FACTS}

    def refresh(self) -> None:
        """Read what was committed since the last refresh, by this process or another."""
        known = int(self._tables["version"].version)
        if known == self._seen:
            return
        self._tables.verify()
        table = self._tables.read("version", ("number", "note", "last_seq"))
        versions = sorted(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
        if not versions:
            raise StoreError(f"{self._tables.folder} has no version", "restore the folder from a copy")
        epoch = self._epoch()
        if self.version >= 0 and epoch != self.entries["setting"].get("epoch"):
            self._clear()  # rows were erased that the catalogue may name
        new = [row for row in versions if row[0] > self.version]
        self.notes = {number: (note, last) for number, note, last in versions}
        if new:
            self._read_versions(self.version, new[-1][0], self.last_seq, new[-1][2])
        self._seen = known

    def _epoch(self) -> Any:
        table = self._tables.read("fact", ("value", "version"), "kind = 'setting' AND key = 'epoch'")
        newest = max(zip(table["version"].to_pylist(), table["value"].to_pylist(), strict=True), default=(0, "null"))
        return json.loads(newest[1])

    def _read_versions(self, since: int, version: int, seq: int, last: int) -> None:
        rows = self._tables.read("chunk", KEYS, f"seq > {seq} AND seq <= {last}").sort_by("seq")
        for row in zip(*(rows[name].to_pylist() for name in KEYS), strict=True):
            self._add(*row)
        deletions = self._tables.read("death", ("seq", "died"), f"died > {since} AND died <= {version}")
        for row, when in zip(deletions["seq"].to_pylist(), deletions["died"].to_pylist(), strict=True):
            self._delete(row, when)
        facts = self._tables.read(
            "fact", ("version", "kind", "key", "value"), f"version > {since} AND version <= {version}"
        )
        self.fact_rows += facts.num_rows
        for _, kind, key, value in sorted(zip(*(facts[name].to_pylist() for name in facts.column_names), strict=True)):
            if value == "null":
                self.entries[kind].pop(key, None)
            else:
                self.entries[kind][key] = json.loads(value)
        found = self.entries["setting"].get("format", FORMAT)
        if found > FORMAT:
            raise StoreError(
                f"this store has format {found}; this Assay reads up to {FORMAT}", f"upgrade: {install_hint()}"
            )
        self.version, self.last_seq = version, last

    def _add(
        self,
        seq: int,
        name: str,
        doc_id: str,
        origin: str,
        tokens: int,
        length: int,
        facts: bytes,
        mark: bytes,
        inserted_in: int,
    ) -> None:
        place = len(self.seqs)
        self.seqs.append(seq)
        self.ids.append(name)
        self.docs.append(doc_id)
        self.origins.append(origin)
        self.tokens.append(tokens)
        self.lengths.append(length)
        self.facts.append(facts)
        self.marks += mark
        self.inserted_in.append(inserted_in)
        self.live_id[name] = place
        self.by_origin.setdefault(origin, []).append(place)
        self.by_doc.setdefault(doc_id, []).append(place)

    def _delete(self, seq: int, when: int) -> None:
        self.deleted_in[seq] = when
        place = self.place(seq)
        if place >= 0 and self.live_id.get(self.ids[place]) == place:
            del self.live_id[self.ids[place]]

    # -- look-ups

    def place(self, seq: int) -> int:
        """The position of a row, or -1."""
        place = bisect_left(self.seqs, seq)
        return place if place < len(self.seqs) and self.seqs[place] == seq else -1

    @property
    def oldest(self) -> int:
        return min(self.notes)

    def live_among(self, places: list[int]) -> Iterator[int]:
        return (place for place in places if self.seqs[place] not in self.deleted_in)

    def live_positions(self) -> Iterator[int]:
        """Positions of all live rows."""
        return (place for place, seq in enumerate(self.seqs) if seq not in self.deleted_in)
