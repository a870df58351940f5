"""One transaction on a Lance store: collected in memory, appended at the end, committed by its row in `version`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from assay.backend.lance.catalogue import Catalogue
from assay.store.contents_digest import mark_row
from assay.store.rows import FileState, StoredRow, encode_row
from assay.store.validation import check_vector, id_in_use_error
from assay.types import Chunk, Vector


class LanceWriter:
    """Implements `ChunkWriter`. `analyse` gives the body of a row, its terms, and their number."""

    def __init__(self, known: Catalogue, dim: int, analyse: Callable[[StoredRow], tuple[str, int]]) -> None:
        self._known = known
        self._dim = dim
        self._analyse = analyse
        self.version = known.version + 1
        self.inserted = self.deleted = self.unchanged = 0
        self.settings: dict[str, Any] = {}
        """Settings changed here."""
        self.rows: list[dict[str, Any]] = []
        self.deletions: list[int] = []
        self.facts: dict[tuple[str, str], Any] = {}
        self.vectors: dict[int, Vector] = {}
        self._other_changes = False
        self._new: dict[str, int] = {}  # live ids inserted here → their position in rows
        self._dead: set[int] = set()
        self._put: set[str] = set()  # files put here

    @property
    def changed(self) -> bool:
        """Whether it makes a new version. Settings have no versions, so they do not; vectors do."""
        return bool(self.inserted or self.deleted or self.vectors or self._other_changes)

    # -- sources and files

    def _lookup(self, kind: str, key: str) -> Any:
        return self.facts.get((kind, key), self._known.entries[kind].get(key))

    def folder_root(self, name: str) -> str | None:
        root = self._lookup("source", name)
        return None if root is None else str(root)

    def put_folder(self, name: str, root: str) -> None:
        self.facts["source", name] = root

    def remove_folder(self, name: str) -> bool:
        known = self._lookup("source", name) is not None
        if known:
            self.facts["source", name] = None
        return known

    def put_file(self, file: FileState, rows: Iterable[tuple[StoredRow, Vector | None]], partial: bool = False) -> None:
        known = self._known
        if file.origin in self._put and not partial:  # twice in one transaction: the second counts
            for replaced in [row for row in self.rows if row["origin"] == file.origin and self._is_new(row)]:
                self._discard(replaced)
        self._put.add(file.origin)
        live = {known.ids[p]: p for p in self._of(known.by_origin.get(file.origin, []))}
        count = 0
        for row, vector in rows:
            count += 1
            new = self.rows[self._new[row[0]]] if partial and row[0] in self._new else None
            if new is not None and new["origin"] == file.origin:  # of an earlier part in this transaction
                if new["facts"] == row[-1]:
                    self.unchanged += 1
                    continue
                self._discard(new)
            place = live.pop(row[0], -1)
            if place >= 0 and known.facts[place] == row[-1]:
                self.unchanged += 1
                if vector is not None and self._known_mark(place) == mark_row(row[-1], None):  # it came without one
                    self.put_vectors([(known.seqs[place], vector)])
                continue
            if place >= 0:
                self._delete(place)
            self._insert(row, file.origin, vector)
        for place in () if partial else live.values():
            self._delete(place)
        total = count + len(live) if partial else count
        self.facts["file", file.origin] = [file.folder, file.hash, file.size, total]

    def remove_file(self, origin: str) -> None:
        for place in list(self._of(self._known.by_origin.get(origin, []))):
            self._delete(place)
        for row in [row for row in self.rows if row["origin"] == origin and self._is_new(row)]:
            self._discard(row)
        self.facts["file", origin] = None

    # -- documents and chunks

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        row = encode_row(chunk)
        if chunk.id in self._new:
            self._discard(self.rows[self._new[chunk.id]])
        elif (place := self._live(chunk.id)) >= 0:
            same = self._known.facts[place] == row[-1]
            if same and (
                vector is None or self._known_mark(place) == mark_row(row[-1], self._storable(row[0], vector))
            ):
                self.unchanged += 1
                return False
            self._delete(place)
        self._insert(row, origin, vector)
        return True

    def remove_document(self, doc_id: str) -> None:
        self._remove(list(self._of(self._known.by_doc.get(doc_id, []))))
        for row in [row for row in self.rows if row["doc_id"] == doc_id and self._is_new(row)]:
            self._discard(row)

    def remove_chunk(self, chunk_id: str) -> None:
        if chunk_id in self._new:
            self._discard(self.rows[self._new[chunk_id]])
        elif (place := self._live(chunk_id)) >= 0:
            self._remove([place])

    def _remove(self, places: Sequence[int]) -> None:
        for place in places:
            self._delete(place)
        for origin in dict.fromkeys(self._known.origins[place] for place in places):
            left = any(True for _ in self._of(self._known.by_origin[origin]))
            state = self._lookup("file", origin)
            if state is not None:  # part of a file is gone: the next `add` must not think that nothing changed
                self.facts["file", origin] = [state[0], "", *state[2:]] if left else None

    # -- vectors, tags, settings

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        for seq, vector in vectors:
            self.vectors[seq] = check_vector(f"row {seq}", vector, self._dim)

    def touch(self) -> None:
        """Make a new version although no chunk was inserted or deleted, so that readers notice."""
        self._other_changes = True

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
        return (p for p in places if p not in self._dead and self._known.seqs[p] not in self._known.deleted_in)

    def _known_mark(self, place: int) -> bytes:
        return bytes(self._known.marks[16 * place : 16 * place + 16])

    def _delete(self, place: int) -> None:
        self._dead.add(place)
        self.deletions.append(self._known.seqs[place])
        self.deleted += 1

    def _is_new(self, row: dict[str, Any]) -> bool:
        """Is a row of this transaction still alive?"""
        place = self._new.get(row["id"], -1)
        return place >= 0 and self.rows[place] is row

    def _discard(self, row: dict[str, Any]) -> None:
        """Replace or remove a row of this transaction: it is deleted in the version that inserted it."""
        self._new.pop(row["id"], None)
        self.deletions.append(row["seq"])
        self.deleted += 1

    def _insert(self, row: StoredRow, origin: str, vector: Vector | None) -> None:
        name, doc_id, text, tokens, created, importance, meta, facts = row
        if name in self._new or self._live(name) >= 0:
            raise id_in_use_error(name)
        unit = None if vector is None else self._storable(name, vector)
        body, length = self._analyse(row)
        seq = self._known.last_seq + len(self.rows) + 1
        self._new[name] = len(self.rows)
        self.rows.append(
            {"seq": seq, "id": name, "doc_id": doc_id, "origin": origin, "text": text, "tokens": tokens}
            | {"created": created, "importance": importance, "meta": meta, "facts": facts, "born": self.version}
            | {"mark": mark_row(facts, unit), "body": body, "length": length, "chars": len(text)}
        )
        if unit is not None:
            self.vectors[seq] = unit
        self.inserted += 1

    def _storable(self, name: str, vector: Vector) -> Vector:
        return check_vector(f"chunk {name!r}", vector, self._dim)

    # -- committing

    def columns(self) -> dict[str, list[Any]]:
        return {key: [row[key] for row in self.rows] for key in self.rows[0]} if self.rows else {}

    def fact_columns(self) -> dict[str, list[Any]]:
        """Rows of the table `fact`."""
        entries = [(kind, key, json.dumps(value), self.version) for (kind, key), value in self.facts.items()]
        return {name: [row[i] for row in entries] for i, name in enumerate(("kind", "key", "value", "version"))}
