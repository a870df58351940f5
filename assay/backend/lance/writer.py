"""One transaction on a store in Lance tables: collected in memory, appended at the end, committed by its version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from assay.backend.lance.catalogue import Catalogue
from assay.store.rows import FileFacts, Stored, stored
from assay.store.validation import in_use, storable
from assay.types import Chunk, Vector


class LanceWriter:
    """Implements `record.RecordWriter`. `words` gives the analysed body of a row and its number of terms."""

    def __init__(self, known: Catalogue, dim: int, words: Callable[[Stored], tuple[str, int]]) -> None:
        self._known = known
        self._dim = dim
        self._words = words
        self.version = known.version + 1
        self.born = self.died = self.kept = 0
        self.settings: dict[str, Any] = {}
        """Settings changed here."""
        self.rows: list[dict[str, Any]] = []
        self.deaths: list[int] = []
        self.facts: dict[tuple[str, str], Any] = {}
        self.vectors: dict[int, Vector] = {}
        self._other = False
        self._mine: dict[str, int] = {}  # live ids born here → their place in rows
        self._dead: set[int] = set()
        self._put: set[str] = set()  # files put here

    @property
    def changed(self) -> bool:
        """Does it make a new version? Facts do not, as settings have no versions; but vectors do."""
        return bool(self.born or self.died or self.vectors or self._other)

    # -- sources and files

    def _said(self, kind: str, key: str) -> Any:
        return self.facts.get((kind, key), self._known.said[kind].get(key))

    def root_of(self, source: str) -> str | None:
        found = self._said("source", source)
        return None if found is None else str(found)

    def put_source(self, name: str, root: str) -> None:
        self.facts["source", name] = root

    def remove_source(self, name: str) -> bool:
        known = self._said("source", name) is not None
        if known:
            self.facts["source", name] = None
        return known

    def put_file(self, facts: FileFacts, rows: Iterable[tuple[Stored, Vector | None]]) -> None:
        known = self._known
        if facts.origin in self._put:  # twice in one transaction: the second counts
            for one in [row for row in self.rows if row["origin"] == facts.origin and self._is_mine(row)]:
                self._unborn(one)
        self._put.add(facts.origin)
        live = {known.ids[p]: p for p in self._of(known.by_origin.get(facts.origin, []))}
        count = 0
        for row, vector in rows:
            count += 1
            place = live.pop(row[0], -1)
            if place >= 0 and known.facts[place] == row[-1]:
                self.kept += 1
                if vector is not None and self._known_mark(place) == _mark(row[-1], None):  # it came without one
                    self.put_vectors([(known.seqs[place], vector)])
                continue
            if place >= 0:
                self._die(place)
            self._bear(row, facts.origin, vector)
        for place in live.values():
            self._die(place)
        self.facts["file", facts.origin] = [facts.source, facts.hash, facts.size, count]

    def remove_file(self, origin: str) -> None:
        for place in list(self._of(self._known.by_origin.get(origin, []))):
            self._die(place)
        for row in [row for row in self.rows if row["origin"] == origin and self._is_mine(row)]:
            self._unborn(row)
        self.facts["file", origin] = None

    # -- documents and chunks

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        row = stored(chunk)
        if chunk.id in self._mine:
            self._unborn(self.rows[self._mine[chunk.id]])
        elif (place := self._live(chunk.id)) >= 0:
            same = self._known.facts[place] == row[-1]
            if same and (vector is None or self._known_mark(place) == _mark(row[-1], self._storable(row[0], vector))):
                self.kept += 1
                return False
            self._die(place)
        self._bear(row, origin, vector)
        return True

    def remove_document(self, doc_id: str) -> None:
        self._remove(list(self._of(self._known.by_doc.get(doc_id, []))))
        for row in [row for row in self.rows if row["doc_id"] == doc_id and self._is_mine(row)]:
            self._unborn(row)

    def remove_chunk(self, chunk_id: str) -> None:
        if chunk_id in self._mine:
            self._unborn(self.rows[self._mine[chunk_id]])
        elif (place := self._live(chunk_id)) >= 0:
            self._remove([place])

    def _remove(self, places: Sequence[int]) -> None:
        for place in places:
            self._die(place)
        for origin in dict.fromkeys(self._known.origins[place] for place in places):
            left = any(True for _ in self._of(self._known.by_origin[origin]))
            said = self._said("file", origin)
            if said is not None:  # part of a file is gone: the next `add` must not think that nothing changed
                self.facts["file", origin] = [said[0], "", *said[2:]] if left else None

    # -- vectors, tags, settings

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        for seq, vector in vectors:
            self.vectors[seq] = storable(f"row {seq}", vector, self._dim)

    def touch(self) -> None:
        """Something that readers must learn of has changed, though no chunk was born or died."""
        self._other = True

    def tag(self, name: str, version: int) -> None:
        self.facts["tag", name] = version

    def set(self, key: str, value: Any) -> None:
        self.facts["setting", key] = value
        self.settings[key] = value
        self._dim = int(value) if key == "dim" else self._dim

    # -- rows

    def _live(self, chunk_id: str) -> int:
        place = self._known.live_id.get(chunk_id, -1)
        return -1 if place in self._dead else place

    def _of(self, places: Iterable[int]) -> Iterable[int]:
        return (p for p in places if p not in self._dead and self._known.seqs[p] not in self._known.died)

    def _known_mark(self, place: int) -> bytes:
        return bytes(self._known.marks[16 * place : 16 * place + 16])

    def _die(self, place: int) -> None:
        self._dead.add(place)
        self.deaths.append(self._known.seqs[place])
        self.died += 1

    def _is_mine(self, row: dict[str, Any]) -> bool:
        """Is a row of this transaction still alive?"""
        place = self._mine.get(row["id"], -1)
        return place >= 0 and self.rows[place] is row

    def _unborn(self, row: dict[str, Any]) -> None:
        """A row of this very transaction is replaced or removed: it counts as dead in the version it was born in."""
        self._mine.pop(row["id"], None)
        self.deaths.append(row["seq"])
        self.died += 1

    def _bear(self, row: Stored, origin: str, vector: Vector | None) -> None:
        name, doc_id, text, tokens, created, importance, meta, facts = row
        if name in self._mine or self._live(name) >= 0:
            raise in_use(name)
        unit = None if vector is None else self._storable(name, vector)
        body, length = self._words(row)
        seq = self._known.last_seq + len(self.rows) + 1
        self._mine[name] = len(self.rows)
        self.rows.append(
            {"seq": seq, "id": name, "doc_id": doc_id, "origin": origin, "text": text, "tokens": tokens}
            | {"created": created, "importance": importance, "meta": meta, "facts": facts, "born": self.version}
            | {"mark": _mark(facts, unit), "body": body, "length": length, "chars": len(text)}
        )
        if unit is not None:
            self.vectors[seq] = unit
        self.born += 1

    def _storable(self, name: str, vector: Vector) -> Vector:
        return storable(f"chunk {name!r}", vector, self._dim)

    # -- committing

    def columns(self) -> dict[str, list[Any]]:
        return {key: [row[key] for row in self.rows] for key in self.rows[0]} if self.rows else {}

    def said(self) -> dict[str, list[Any]]:
        """Rows of the table `fact`."""
        found = [(kind, key, json.dumps(value), self.version) for (kind, key), value in self.facts.items()]
        return {name: [row[i] for row in found] for i, name in enumerate(("kind", "key", "value", "version"))}


def _mark(facts: bytes, vector: Vector | None) -> bytes:
    digest = hashlib.blake2b(facts, digest_size=16)
    if vector is not None:
        digest.update(vector.tobytes())
    return digest.digest()
