"""Writes inside one transaction: the methods of the local store's writer, batched into few statements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from assay.backend.postgres import graph_pages
from assay.backend.postgres.insert import NewRow, check_name, insert_chunks
from assay.backend.postgres.terms import remove_terms
from assay.backend.postgres.vector_type import VectorCodec
from assay.errors import StoreError
from assay.store.rows import FileState, StoredRow, encode_row
from assay.store.validation import check_vector, id_in_use_error
from assay.text.analyser import Analyser
from assay.types import Chunk, Vector

if TYPE_CHECKING:
    import psycopg

_BATCH = 2_000
"""Chunks sent in one batch."""


class PostgresWriter:
    """Counts are of this transaction alone. `dim` is the length of the store's vectors, 0 for none. Without an
    analyser (another version of Assay analysed the store) nothing can be inserted."""

    def __init__(
        self, db: psycopg.Connection[Any], version: int, dim: int, vectors: str, analyser: Analyser | None
    ) -> None:
        self.db = db
        self.version = version
        self._dim, self._vectors, self._analyser = dim, vectors, analyser
        self.inserted = self.deleted = self.unchanged = 0
        self.length = 0
        """By how many terms the live chunks grew."""
        self.total_length: int | None = None
        self.settings: dict[str, Any] = {}
        """Settings changed here."""
        self._other_change = False
        self._pending: dict[str, NewRow] = {}
        self._pending_origins: set[str] = set()
        """The origins of pending rows."""

    def set_total_length(self, length: int) -> None:
        """Set the number of terms of all live chunks, after they were reanalysed."""
        self.total_length = length
        self.touch()

    @property
    def changed(self) -> bool:
        return bool(self.inserted or self.deleted or self._pending or self._other_change)

    # -- sources and files

    def folder_root(self, name: str) -> str | None:
        """The path of a named folder; "" for records given as data, None for an unknown name."""
        row = self.db.execute("SELECT root FROM source WHERE name = %s", (name,)).fetchone()
        return None if row is None else str(row[0])

    def put_folder(self, name: str, root: str) -> None:
        self.db.execute(
            "INSERT INTO source VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET root = excluded.root", (name, root)
        )

    def put_file(
        self, facts: FileState, rows: Iterable[tuple[StoredRow, Vector | None]], partial: bool = False
    ) -> None:
        """Make a file's live chunks exactly these: equal ones stay, changed ones are replaced, others are deleted
        unless this is only a part of the file.

        New chunks of many small files are sent together; whether another file uses their ids is checked at once.
        """
        check_name("the file or record", facts.origin)
        if facts.origin in self._pending_origins:
            self.flush()
        found = self.db.execute("SELECT id, seq, facts FROM chunk WHERE origin = %s AND died IS NULL", (facts.origin,))
        live = {name: (seq, digest) for name, seq, digest in found}
        count = 0
        for row, vector in rows:
            count += 1
            seq, before = live.pop(row[0], (0, b""))
            if before == row[-1]:
                self.unchanged += 1
                if vector is not None:
                    self._fill_vector(seq, row[0], vector)
                continue
            if seq:
                self._delete([seq])  # before its successor is inserted: only one row per id may be live
            self._insert(row, facts.origin, vector)
        if partial:
            count += len(live)
        else:
            self._delete([seq for seq, _ in live.values()])
        self._check_free([name for name, new in self._pending.items() if new.origin == facts.origin])
        self.db.execute(
            "INSERT INTO file VALUES (%s, %s, %s, %s, %s) ON CONFLICT (origin) DO UPDATE SET source = excluded.source, "
            "hash = excluded.hash, size = excluded.size, chunks = excluded.chunks",
            (facts.origin, facts.folder, facts.hash, facts.size, count),
        )

    def _check_free(self, names: list[str]) -> None:
        """IdInUse when a live chunk has one of these ids."""
        taken = "SELECT id FROM chunk WHERE id = ANY(%s) AND died IS NULL ORDER BY id LIMIT 1"
        found = self.db.execute(taken, (names,)).fetchone() if names else None
        if found:
            raise id_in_use_error(found[0])

    def remove_file(self, origin: str) -> None:
        self._remove("origin", origin)
        self.db.execute("DELETE FROM file WHERE origin = %s", (origin,))

    def remove_folder(self, name: str) -> bool:
        """Forget a source's name; False when it was unknown."""
        return self.db.execute("DELETE FROM source WHERE name = %s", (name,)).rowcount > 0

    # -- documents and chunks

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        """Add or replace one chunk by id; False when the same chunk is already stored."""
        return bool(self.put_all([(chunk, vector)], origin))

    def put_all(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str) -> int:
        """Add or replace chunks by id; returns how many changed."""
        rows = [(encode_row(chunk), vector) for chunk, vector in items]
        changed = 0
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            self.flush()
            found = self.db.execute(
                "SELECT id, seq, facts FROM chunk WHERE id = ANY(%s) AND died IS NULL", ([row[0] for row, _ in part],)
            )
            live = {name: (seq, digest) for name, seq, digest in found}
            for row, vector in part:
                seq, before = live.pop(row[0], (0, b""))
                if not seq and row[0] in self._pending and self._pending[row[0]].row[-1] == row[-1] and vector is None:
                    continue  # the same chunk twice in one call
                if seq and before == row[-1] and self._has_vector(seq, row[0], vector):
                    self.unchanged += 1
                    live[row[0]] = (seq, before)
                    continue
                if seq:
                    self._delete([seq])
                changed += 1
                self._pending.pop(row[0], None)  # the same id twice: the later one counts
                self._insert(row, origin, vector)
        return changed

    def remove_document(self, doc_id: str) -> None:
        self.flush()
        found = self.db.execute("SELECT DISTINCT origin FROM chunk WHERE doc_id = %s AND died IS NULL", (doc_id,))
        origins = [row[0] for row in found]
        self._remove("doc_id", doc_id)
        for origin in origins:
            self._mark_changed(origin)

    def remove_chunk(self, chunk_id: str) -> None:
        self.flush()
        row = self.db.execute("SELECT origin FROM chunk WHERE id = %s AND died IS NULL", (chunk_id,)).fetchone()
        self._remove("id", chunk_id)
        if row:
            self._mark_changed(row[0])

    def _mark_changed(self, origin: str) -> None:
        """Clear the hash of a file that lost a part, so that the next `add` reads it again."""
        self.db.execute("UPDATE file SET hash = '' WHERE origin = %s", (origin,))
        left = "SELECT 1 FROM chunk WHERE origin = %s AND died IS NULL"
        self.db.execute(f"DELETE FROM file WHERE origin = %s AND NOT EXISTS ({left})", (origin, origin))

    def forget_dead(self, before: int) -> int:
        """Erase rows deleted at or before a version; older snapshots can no longer be read."""
        erased = self.db.execute("DELETE FROM chunk WHERE died <= %s", (before,)).rowcount
        if erased:
            graph_pages.record_erasure(self.db, None, before)
        self.db.execute("DELETE FROM version WHERE number < %s", (before,))
        self.db.execute("DELETE FROM tag WHERE version < %s", (before,))
        self._forget_terms()
        return erased

    def erase(self, doc_ids: Sequence[str]) -> int:
        """Erase every row of documents, live or deleted; returns how many."""
        names = list(doc_ids)
        self.flush()
        self._delete(
            [
                row[0]
                for row in self.db.execute("SELECT seq FROM chunk WHERE doc_id = ANY(%s) AND died IS NULL", (names,))
            ]
        )
        self.db.execute("DELETE FROM file WHERE origin IN (SELECT origin FROM chunk WHERE doc_id = ANY(%s))", (names,))
        erased = self.db.execute("DELETE FROM chunk WHERE doc_id = ANY(%s)", (names,)).rowcount
        if erased:
            graph_pages.record_erasure(self.db, self.version)  # it contains their ids
        self._forget_terms()
        self._other_change = self._other_change or erased > 0
        return erased

    def _forget_terms(self) -> None:
        """Delete terms that only erased rows held."""
        holders = "SELECT 1 FROM chunk WHERE terms OPERATOR(pg_catalog.@>) ARRAY[number]"
        self.db.execute(f"DELETE FROM term WHERE holding <= 0 AND NOT EXISTS ({holders})")

    # -- vectors, tags, settings

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        self.flush()
        for seq, vector in vectors:
            check_vector(f"row {seq}", vector, self._dim)
            self.db.execute(
                f"INSERT INTO {self._vectors} VALUES (%b, %b) ON CONFLICT (seq) DO UPDATE SET v = excluded.v",
                (seq, VectorCodec(vector)),
            )
            self._other_change = True
        self.db.execute("DELETE FROM setting WHERE key = 'index'")  # an index elsewhere has these rows without a vector

    def tag(self, name: str, version: int) -> None:
        check_name("the tag", name)
        self.db.execute(
            "INSERT INTO tag VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET version = excluded.version",
            (name, version),
        )

    def set(self, key: str, value: Any) -> None:
        """Change a setting; settings have no versions."""
        self.db.execute(
            "INSERT INTO setting VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, json.dumps(value)),
        )
        self.settings[key] = value

    def touch(self) -> None:
        """Force a new version, though no chunk was inserted or deleted."""
        self._other_change = True

    # -- rows

    def _remove(self, column: str, value: str) -> None:
        self.flush()
        found = self.db.execute(f"SELECT seq FROM chunk WHERE {column} = %s AND died IS NULL", (value,))
        self._delete([row[0] for row in found])

    def _delete(self, seqs: list[int]) -> None:
        if not seqs:
            return
        lengths = self.db.execute(
            "UPDATE chunk SET died = %s WHERE seq = ANY(%s) RETURNING length", (self.version, seqs)
        ).fetchall()
        remove_terms(self.db, seqs)
        self.deleted += len(lengths)
        self.length -= sum(row[0] for row in lengths)

    def _insert(self, row: StoredRow, origin: str, vector: Vector | None) -> None:
        if vector is not None:
            check_vector(f"chunk {row[0]!r}", vector, self._dim)
        check_name("the chunk id", row[0])
        check_name("the document", row[1])
        if row[0] in self._pending:
            raise id_in_use_error(row[0])
        self._pending[row[0]] = NewRow(row, origin, vector)
        self._pending_origins.add(origin)
        if len(self._pending) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Insert the pending rows."""
        new_rows, self._pending = list(self._pending.values()), {}
        self._pending_origins.clear()
        if new_rows:
            if self._analyser is None:
                raise StoreError(
                    "the words of this store were analysed by another version of Assay; nothing was written",
                    "use one version everywhere, then: assay optimize",
                )
            self.length += insert_chunks(self.db, new_rows, self.version, self._vectors, self._analyser)
            self.inserted += len(new_rows)

    def _has_vector(self, seq: int, name: str, vector: Vector | None) -> bool:
        """Is this the row's vector already? True for None, which changes nothing."""
        if vector is None:
            return True
        check_vector(f"chunk {name!r}", vector, self._dim)
        row = self.db.execute(f"SELECT vector_send(v) FROM {self._vectors} WHERE seq = %b", (seq,), binary=True)
        found = row.fetchone()
        return found is not None and bytes(found[0]) == VectorCodec(vector).pack()

    def _fill_vector(self, seq: int, name: str, vector: Vector) -> None:
        """Store the vector of a row that has none; it counts as a change."""
        check_vector(f"chunk {name!r}", vector, self._dim)
        added = self.db.execute(
            f"INSERT INTO {self._vectors} VALUES (%b, %b) ON CONFLICT DO NOTHING", (seq, VectorCodec(vector))
        ).rowcount
        self._other_change = self._other_change or added > 0
