"""What may be done inside one transaction: the verbs of the local store's writer, gathered into few statements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from assay.backend.postgres import graph_pages
from assay.backend.postgres.insert import NewRow, check_name, insert_chunks
from assay.backend.postgres.terms import let_go
from assay.backend.postgres.vector_type import VectorCodec
from assay.errors import StoreError
from assay.store.rows import FileFacts, Stored, stored
from assay.store.validation import in_use, storable
from assay.text.analyse import Analyser
from assay.types import Chunk, Vector

if TYPE_CHECKING:
    import psycopg

_HELD = 2_000
"""Chunks gathered before they are sent."""


class PostgresWriter:
    """Counts are of this transaction alone. `dim` is the length of the store's vectors, 0 for none. Without an
    analyser, because the store's words are another's, nothing can be born."""

    def __init__(
        self, db: psycopg.Connection[Any], version: int, dim: int, vectors: str, analyser: Analyser | None
    ) -> None:
        self.db = db
        self.version = version
        self._dim, self._vectors, self._analyser = dim, vectors, analyser
        self.born = self.died = self.kept = 0
        self.length = 0
        """By how many terms the live chunks grew."""
        self.whole_length: int | None = None
        self.settings: dict[str, Any] = {}
        """Settings changed here."""
        self._other = False
        self._births: dict[str, NewRow] = {}
        self._waiting: set[str] = set()
        """The files and records they belong to."""

    def replace_length(self, length: int) -> None:
        """The live chunks have this many terms in all, whatever they had: they were analysed anew."""
        self.whole_length = length
        self.touch()

    @property
    def changed(self) -> bool:
        return bool(self.born or self.died or self._births or self._other)

    # -- sources and files

    def root_of(self, source: str) -> str | None:
        """The folder a source's name stands for; "" for records given as data, None for an unknown name."""
        row = self.db.execute("SELECT root FROM source WHERE name = %s", (source,)).fetchone()
        return None if row is None else str(row[0])

    def put_source(self, name: str, root: str) -> None:
        self.db.execute(
            "INSERT INTO source VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET root = excluded.root", (name, root)
        )

    def put_file(self, facts: FileFacts, rows: Iterable[tuple[Stored, Vector | None]]) -> None:
        """Make a file's live chunks exactly these: equal ones stay, changed ones are replaced, missing ones die.

        New ones of many small files are sent together; that no other file uses their ids is asked at once.
        """
        check_name("the file or record", facts.origin)
        if facts.origin in self._waiting:
            self.flush()
        found = self.db.execute("SELECT id, seq, facts FROM chunk WHERE origin = %s AND died IS NULL", (facts.origin,))
        live = {name: (seq, said) for name, seq, said in found}
        count = 0
        for row, vector in rows:
            count += 1
            seq, before = live.pop(row[0], (0, b""))
            if before == row[-1]:
                self.kept += 1
                if vector is not None:
                    self._fill_vector(seq, row[0], vector)
                continue
            if seq:
                self._die([seq])  # before its successor is born: only one of them may be alive
            self._bear(row, facts.origin, vector)
        self._die([seq for seq, _ in live.values()])
        self._check_free([name for name, birth in self._births.items() if birth.origin == facts.origin])
        self.db.execute(
            "INSERT INTO file VALUES (%s, %s, %s, %s, %s) ON CONFLICT (origin) DO UPDATE SET source = excluded.source, "
            "hash = excluded.hash, size = excluded.size, chunks = excluded.chunks",
            (facts.origin, facts.source, facts.hash, facts.size, count),
        )

    def _check_free(self, names: list[str]) -> None:
        """IdInUse when a live chunk has one of these ids."""
        taken = "SELECT id FROM chunk WHERE id = ANY(%s) AND died IS NULL ORDER BY id LIMIT 1"
        found = self.db.execute(taken, (names,)).fetchone() if names else None
        if found:
            raise in_use(found[0])

    def remove_file(self, origin: str) -> None:
        self._remove("origin", origin)
        self.db.execute("DELETE FROM file WHERE origin = %s", (origin,))

    def remove_source(self, name: str) -> bool:
        """Forget a source's name; False when it was unknown."""
        return self.db.execute("DELETE FROM source WHERE name = %s", (name,)).rowcount > 0

    # -- documents and chunks

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        """Add or replace one chunk by id; False when the very same already stands there."""
        return bool(self.put_all([(chunk, vector)], origin))

    def put_all(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str) -> int:
        """Add or replace chunks by id; how many were not there already, just so."""
        rows = [(stored(chunk), vector) for chunk, vector in items]
        changed = 0
        for start in range(0, len(rows), _HELD):
            part = rows[start : start + _HELD]
            self.flush()
            found = self.db.execute(
                "SELECT id, seq, facts FROM chunk WHERE id = ANY(%s) AND died IS NULL", ([row[0] for row, _ in part],)
            )
            live = {name: (seq, said) for name, seq, said in found}
            for row, vector in part:
                seq, before = live.pop(row[0], (0, b""))
                if not seq and row[0] in self._births and self._births[row[0]].row[-1] == row[-1] and vector is None:
                    continue  # twice the same in one breath
                if seq and before == row[-1] and self._has_vector(seq, row[0], vector):
                    self.kept += 1
                    live[row[0]] = (seq, before)
                    continue
                if seq:
                    self._die([seq])
                changed += 1
                self._births.pop(row[0], None)  # given twice: the later one counts
                self._bear(row, origin, vector)
        return changed

    def remove_document(self, doc_id: str) -> None:
        self.flush()
        found = self.db.execute("SELECT DISTINCT origin FROM chunk WHERE doc_id = %s AND died IS NULL", (doc_id,))
        touched = [row[0] for row in found]
        self._remove("doc_id", doc_id)
        for origin in touched:
            self._touched(origin)

    def remove_chunk(self, chunk_id: str) -> None:
        self.flush()
        row = self.db.execute("SELECT origin FROM chunk WHERE id = %s AND died IS NULL", (chunk_id,)).fetchone()
        self._remove("id", chunk_id)
        if row:
            self._touched(row[0])

    def _touched(self, origin: str) -> None:
        """Part of a file was removed: the next `add` must not think that nothing changed."""
        self.db.execute("UPDATE file SET hash = '' WHERE origin = %s", (origin,))
        left = "SELECT 1 FROM chunk WHERE origin = %s AND died IS NULL"
        self.db.execute(f"DELETE FROM file WHERE origin = %s AND NOT EXISTS ({left})", (origin, origin))

    def forget_dead(self, before: int) -> int:
        """Erase rows that died at or before a version; snapshots older than it are gone for good."""
        gone = self.db.execute("DELETE FROM chunk WHERE died <= %s", (before,)).rowcount
        if gone:
            graph_pages.erased(self.db, None, before)
        self.db.execute("DELETE FROM version WHERE number < %s", (before,))
        self.db.execute("DELETE FROM tag WHERE version < %s", (before,))
        self._forget_terms()
        return gone

    def erase(self, doc_ids: Sequence[str]) -> int:
        """Remove every row of documents, dead or alive; how many."""
        names = list(doc_ids)
        self.flush()
        self._die(
            [
                row[0]
                for row in self.db.execute("SELECT seq FROM chunk WHERE doc_id = ANY(%s) AND died IS NULL", (names,))
            ]
        )
        self.db.execute("DELETE FROM file WHERE origin IN (SELECT origin FROM chunk WHERE doc_id = ANY(%s))", (names,))
        gone = self.db.execute("DELETE FROM chunk WHERE doc_id = ANY(%s)", (names,)).rowcount
        if gone:
            graph_pages.erased(self.db, self.version)  # it knows their names
        self._forget_terms()
        self._other = self._other or gone > 0
        return gone

    def _forget_terms(self) -> None:
        """Words that stood only in what was erased go too."""
        held = "SELECT 1 FROM chunk WHERE terms OPERATOR(pg_catalog.@>) ARRAY[number]"
        self.db.execute(f"DELETE FROM term WHERE holding <= 0 AND NOT EXISTS ({held})")

    # -- vectors, tags, settings

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        self.flush()
        for seq, vector in vectors:
            storable(f"row {seq}", vector, self._dim)
            self.db.execute(
                f"INSERT INTO {self._vectors} VALUES (%b, %b) ON CONFLICT (seq) DO UPDATE SET v = excluded.v",
                (seq, VectorCodec(vector)),
            )
            self._other = True

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
        """Something that readers must learn of has changed, though no chunk was born or died."""
        self._other = True

    # -- rows

    def _remove(self, column: str, value: str) -> None:
        self.flush()
        found = self.db.execute(f"SELECT seq FROM chunk WHERE {column} = %s AND died IS NULL", (value,))
        self._die([row[0] for row in found])

    def _die(self, seqs: list[int]) -> None:
        if not seqs:
            return
        lengths = self.db.execute(
            "UPDATE chunk SET died = %s WHERE seq = ANY(%s) RETURNING length", (self.version, seqs)
        ).fetchall()
        let_go(self.db, seqs)
        self.died += len(lengths)
        self.length -= sum(row[0] for row in lengths)

    def _bear(self, row: Stored, origin: str, vector: Vector | None) -> None:
        if vector is not None:
            storable(f"chunk {row[0]!r}", vector, self._dim)
        check_name("the chunk id", row[0])
        check_name("the document", row[1])
        if row[0] in self._births:
            raise in_use(row[0])
        self._births[row[0]] = NewRow(row, origin, vector)
        self._waiting.add(origin)
        if len(self._births) >= _HELD:
            self.flush()

    def flush(self) -> None:
        """Send what was gathered."""
        births, self._births = list(self._births.values()), {}
        self._waiting.clear()
        if births:
            if self._analyser is None:
                raise StoreError(
                    "the words of this store were analysed by another version of Assay; nothing was written",
                    "use one version everywhere, then: assay optimize",
                )
            self.length += insert_chunks(self.db, births, self.version, self._vectors, self._analyser)
            self.born += len(births)

    def _has_vector(self, seq: int, name: str, vector: Vector | None) -> bool:
        """Is this the row's vector already? None asks for no change."""
        if vector is None:
            return True
        storable(f"chunk {name!r}", vector, self._dim)
        row = self.db.execute(f"SELECT vector_send(v) FROM {self._vectors} WHERE seq = %b", (seq,), binary=True)
        found = row.fetchone()
        return found is not None and bytes(found[0]) == VectorCodec(vector).packed()

    def _fill_vector(self, seq: int, name: str, vector: Vector) -> None:
        """Give a row its vector where it has none; it counts as a change."""
        storable(f"chunk {name!r}", vector, self._dim)
        added = self.db.execute(
            f"INSERT INTO {self._vectors} VALUES (%b, %b) ON CONFLICT DO NOTHING", (seq, VectorCodec(vector))
        ).rowcount
        self._other = self._other or added > 0
