"""The record of truth: SQLite, write-ahead log, synchronous FULL. A commit that returned survives a killed process."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import AssayError, StoreBusy, StoreError
from assay.store.schema import FORMAT, TABLES
from assay.types import Chunk, Vector

DATABASE = "assay.sqlite"
_BUSY_SECONDS = 60.0
_COLUMNS = "seq, id, doc_id, text, tokens, created, importance, meta"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What identifies the state of one file."""

    origin: str
    source: str
    hash: str
    size: int


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk as stored: its position in time and the digest of its facts."""

    seq: int
    chunk: Chunk
    facts: bytes
    born: int
    died: int | None


def facts_of(chunk: Chunk) -> bytes:
    """A digest of all that a chunk says except its vector."""
    created = None if chunk.created != chunk.created else chunk.created
    said = json.dumps(
        [chunk.id, chunk.doc_id, chunk.text, chunk.tokens, created, chunk.importance, chunk.meta],
        sort_keys=True,
        ensure_ascii=True,
    )
    return hashlib.blake2b(said.encode(), digest_size=16).digest()


class Store:
    """One folder, one database. Safe for threads (a connection each) and processes (SQLite's own locks)."""

    def __init__(self, folder: Path, readonly: bool) -> None:
        self.folder = folder
        self.readonly = readonly
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self.settings = self._check_format()

    @staticmethod
    def exists(folder: Path) -> bool:
        return (folder / DATABASE).is_file()

    @staticmethod
    def create(folder: Path, settings: Mapping[str, Any]) -> Store:
        """A new, empty store. Written aside and renamed, so a killed process leaves no half-made store."""
        path = folder / DATABASE
        aside = folder / f".{DATABASE}.{os.getpid()}"
        with _told(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                aside.unlink()
            db = sqlite3.connect(aside)
            try:
                db.executescript(TABLES)
                said = {"format": FORMAT, **settings}
                db.executemany("INSERT INTO setting VALUES (?, ?)", [(k, json.dumps(v)) for k, v in said.items()])
                db.execute("INSERT INTO version VALUES (0, 'made')")
                db.commit()
            finally:
                db.close()
            try:
                os.link(aside, path)  # unlike rename, fails when another process made the store first
            except FileExistsError:
                pass
            finally:
                aside.unlink()
        return Store(folder, readonly=False)

    @staticmethod
    def open(folder: Path) -> Store:
        if not Store.exists(folder):
            raise StoreError(f"there is no store at {folder}", f"make one: assay add ./my-docs --store {folder}")
        writable = os.access(folder, os.W_OK) and os.access(folder / DATABASE, os.W_OK)
        return Store(folder, readonly=not writable)

    def close(self) -> None:
        with self._lock:
            for db in self._connections:
                db.close()
            self._connections.clear()
            self._local = threading.local()

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection."""
        found = getattr(self._local, "db", None)
        if found is None:
            found = self._connect()
            self._local.db = found
            with self._lock:
                self._connections.append(found)
        return found

    def _connect(self) -> sqlite3.Connection:
        path = self.folder / DATABASE
        with _told(self.folder):
            if not self.readonly:
                db = _connected(f"file:{_quoted(path)}?mode=rw")
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=FULL")
                return db
            try:
                db = _connected(f"file:{_quoted(path)}?mode=ro")
                db.execute("SELECT count(*) FROM setting").fetchone()
                return db
            except sqlite3.OperationalError:
                # A write-ahead log cannot be shared from a folder we may not write; nobody writes here, so read as is.
                return _connected(f"file:{_quoted(path)}?immutable=1")

    def _check_format(self) -> dict[str, Any]:
        try:
            settings = {key: json.loads(value) for key, value in self.db.execute("SELECT key, value FROM setting")}
        except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
            raise StoreError(
                f"{self.folder / DATABASE} is not an Assay store, or it is damaged: {error}",
                "restore a backup with: assay restore BACKUP --store NEW",
            ) from error
        found = settings.get("format", 0)
        if found > FORMAT:
            raise StoreError(
                f"this store has format {found}; this Assay reads up to {FORMAT}", "upgrade: pip install -U assay"
            )
        return settings

    # -- reading

    def version(self) -> int:
        """The newest committed version."""
        return int(self.db.execute("SELECT max(number) FROM version").fetchone()[0])

    def oldest(self) -> int:
        """The oldest version that can still be read."""
        return int(self.db.execute("SELECT min(number) FROM version").fetchone()[0])

    def count_since(self, seq: int) -> int:
        return int(self.db.execute("SELECT count(*) FROM chunk WHERE seq > ?", (seq,)).fetchone()[0])

    def resolve(self, snapshot: str) -> int:
        """A version from its number (`12` or `v12`) or tag."""
        row = self.db.execute("SELECT version FROM tag WHERE name = ?", (snapshot,)).fetchone()
        if row:
            return int(row[0])
        number = snapshot.removeprefix("v")
        if number.isascii() and number.isdigit() and int(number) <= self.version():
            return int(number)
        tags = ", ".join(self.tags()) or "none"
        raise StoreError(
            f"this store has no snapshot {snapshot!r}", f"versions v0 to v{self.version()}; tags: {tags} (assay stats)"
        )

    def setting(self, key: str) -> Any:
        """A setting as it is now (`settings` is as it was when the store was opened)."""
        row = self.db.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def tags(self) -> dict[str, int]:
        return dict(self.db.execute("SELECT name, version FROM tag ORDER BY name"))

    def live_at(self, version: int) -> list[tuple[str, int]]:
        """(id, seq) of every chunk alive at a version, in id order."""
        return self.db.execute(
            "SELECT id, seq FROM chunk WHERE born <= ?1 AND (died IS NULL OR died > ?1) ORDER BY id", (version,)
        ).fetchall()

    def rows(self, seqs: Sequence[int]) -> list[Row]:
        """Rows in the order asked."""
        found: dict[int, Row] = {}
        for start in range(0, len(seqs), 500):
            part = [int(s) for s in seqs[start : start + 500]]
            marks = ",".join("?" * len(part))
            for row in self.db.execute(f"SELECT {_COLUMNS}, facts, born, died FROM chunk WHERE seq IN ({marks})", part):
                found[row[0]] = _row(row)
        return [found[int(s)] for s in seqs]

    def rows_since(self, seq: int) -> list[Row]:
        return [
            _row(r)
            for r in self.db.execute(
                f"SELECT {_COLUMNS}, facts, born, died FROM chunk WHERE seq > ? ORDER BY seq", (seq,)
            )
        ]

    def deaths_since(self, version: int) -> list[tuple[str, int, int]]:
        """(id, seq, version of death) of everything that died after a version."""
        return self.db.execute("SELECT id, seq, died FROM chunk WHERE died > ? ORDER BY seq", (version,)).fetchall()

    def last_seq(self, version: int) -> int:
        """The newest row born at or before a version."""
        newest = self.db.execute(
            "SELECT seq FROM chunk WHERE born <= ? ORDER BY seq DESC LIMIT 1", (version,)
        ).fetchone()
        return int(newest[0]) if newest else 0

    def vectors(self, seqs: Sequence[int], dim: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Vectors in the order asked; zero rows where a chunk has none."""
        out = np.zeros((len(seqs), dim), np.float32)
        place = {int(s): i for i, s in enumerate(seqs)}
        for start in range(0, len(seqs), 500):
            part = [int(s) for s in seqs[start : start + 500]]
            marks = ",".join("?" * len(part))
            for seq, value in self.db.execute(f"SELECT seq, value FROM vector WHERE seq IN ({marks})", part):
                out[place[seq]] = np.frombuffer(value, "<f4")
        return out

    def lacking_vectors(self) -> list[int]:
        """Live rows without a vector, oldest first."""
        rows = self.db.execute(
            "SELECT c.seq FROM chunk c LEFT JOIN vector v ON v.seq = c.seq "
            "WHERE c.died IS NULL AND v.seq IS NULL ORDER BY c.seq"
        )
        return [int(r[0]) for r in rows]

    def files(self, source: str | None = None) -> dict[str, FileFacts]:
        rows = self.db.execute(
            "SELECT origin, source, hash, size FROM file WHERE ?1 IS NULL OR source = ?1 ORDER BY origin",
            (source,),
        )
        return {row[0]: FileFacts(*row) for row in rows}

    def sources(self) -> dict[str, str]:
        return dict(self.db.execute("SELECT name, root FROM source ORDER BY name"))

    def live_in(self, origin: str) -> dict[str, tuple[int, bytes]]:
        """id → (seq, facts) of a file's live chunks."""
        rows = self.db.execute("SELECT id, seq, facts FROM chunk WHERE origin = ? AND died IS NULL", (origin,))
        return {name: (seq, facts) for name, seq, facts in rows}

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one moment."""
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("COMMIT")

    # -- writing

    @contextlib.contextmanager
    def write(self, note: str) -> Iterator[Writer]:
        """One transaction, one new version. Leaving the block commits; an exception undoes all of it."""
        if self.readonly:
            raise StoreError(f"the store {self.folder} is read-only here", "copy it to a folder you may write to")
        db = self.db
        with _told(self.folder):
            db.execute("BEGIN IMMEDIATE")
            try:
                version = self.version() + 1
                writer = Writer(db, version)
                yield writer
                if writer.changed:
                    db.execute("INSERT INTO version VALUES (?, ?)", (version, note))
                db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise


class Writer:
    """What may be done inside one transaction. Counts are of this transaction alone."""

    def __init__(self, db: sqlite3.Connection, version: int) -> None:
        self._db = db
        self.version = version
        self.born = 0
        self.died = 0
        self.kept = 0
        self._other = False

    @property
    def changed(self) -> bool:
        return bool(self.born or self.died or self._other)

    def put_source(self, name: str, root: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO source VALUES (?, ?)", (name, root))

    def put_file(self, facts: FileFacts, chunks: Iterable[tuple[Chunk, Vector | None]]) -> None:
        """Make a file's live chunks exactly these: equal ones stay, changed ones are replaced, missing ones die."""
        live = {
            name: (seq, said)
            for name, seq, said in self._db.execute(
                "SELECT id, seq, facts FROM chunk WHERE origin = ? AND died IS NULL", (facts.origin,)
            )
        }
        count = 0
        for chunk, vector in chunks:
            count += 1
            said = facts_of(chunk)
            seq, before = live.pop(chunk.id, (0, b""))
            if before == said:
                self.kept += 1
                if vector is not None:
                    self._db.execute("INSERT OR IGNORE INTO vector VALUES (?, ?)", (seq, _bytes(vector)))
                continue
            if seq:
                self._die(seq)
            self._bear(chunk, facts.origin, said, vector)
        for seq, _ in live.values():
            self._die(seq)
        self._db.execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)",
            (facts.origin, facts.source, facts.hash, facts.size, count),
        )

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        """Add or replace one chunk by id; False when the very same facts already stand there."""
        said = facts_of(chunk)
        row = self._db.execute("SELECT seq, facts FROM chunk WHERE id = ? AND died IS NULL", (chunk.id,)).fetchone()
        if row is not None:
            if row[1] == said:
                self.kept += 1
                if vector is not None:
                    self._db.execute("INSERT OR IGNORE INTO vector VALUES (?, ?)", (row[0], _bytes(vector)))
                return False
            self._die(row[0])
        self._bear(chunk, origin, said, vector)
        return True

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        for seq, vector in vectors:
            self._db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (seq, _bytes(vector)))
            self._other = True

    def drop_vectors(self) -> None:
        """Forget every vector: they are about to be made anew by another model."""
        self._db.execute("DELETE FROM vector")
        self._other = True

    def remove_file(self, origin: str) -> None:
        self._remove("origin", origin)
        self._db.execute("DELETE FROM file WHERE origin = ?", (origin,))

    def remove_document(self, doc_id: str) -> None:
        origins = self._db.execute("SELECT DISTINCT origin FROM chunk WHERE doc_id = ? AND died IS NULL", (doc_id,))
        touched = [row[0] for row in origins]
        self._remove("doc_id", doc_id)
        # The file's record goes too: the next `add` must not think that nothing changed.
        self._db.executemany("DELETE FROM file WHERE origin = ?", [(o,) for o in touched])

    def remove_chunk(self, chunk_id: str) -> None:
        row = self._db.execute("SELECT origin FROM chunk WHERE id = ? AND died IS NULL", (chunk_id,)).fetchone()
        self._remove("id", chunk_id)
        if row:
            self._db.execute("DELETE FROM file WHERE origin = ?", row)

    def remove_source(self, name: str) -> None:
        self._db.execute("DELETE FROM source WHERE name = ?", (name,))

    def tag(self, name: str, version: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO tag VALUES (?, ?)", (name, version))

    def set(self, key: str, value: Any) -> None:
        """Change a setting; settings have no versions."""
        self._db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, json.dumps(value)))

    def forget_dead(self, before: int) -> int:
        """Erase rows that died at or before a version; snapshots older than it are gone for good."""
        self._db.execute("DELETE FROM vector WHERE seq IN (SELECT seq FROM chunk WHERE died <= ?)", (before,))
        gone = self._db.execute("DELETE FROM chunk WHERE died <= ?", (before,)).rowcount
        self._db.execute("DELETE FROM version WHERE number < ?", (before,))
        self._db.execute("DELETE FROM tag WHERE version < ?", (before,))
        return gone

    def _remove(self, column: str, value: str) -> None:
        self.died += self._db.execute(
            f"UPDATE chunk SET died = ? WHERE {column} = ? AND died IS NULL", (self.version, value)
        ).rowcount

    def _die(self, seq: int) -> None:
        self.died += self._db.execute("UPDATE chunk SET died = ? WHERE seq = ?", (self.version, seq)).rowcount

    def _bear(self, chunk: Chunk, origin: str, said: bytes, vector: Vector | None) -> None:
        if not 0.0 <= chunk.importance <= 1.0:
            raise StoreError(f"chunk {chunk.id}: importance {chunk.importance} is not in [0, 1]", "give 0 to 1")
        created = None if chunk.created != chunk.created else chunk.created
        try:
            cursor = self._db.execute(
                "INSERT INTO chunk (id, doc_id, origin, text, tokens, created, importance, meta, facts, born) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    chunk.id,
                    chunk.doc_id,
                    origin,
                    chunk.text,
                    chunk.tokens,
                    created,
                    chunk.importance,
                    json.dumps(chunk.meta, ensure_ascii=False, sort_keys=True),
                    said,
                    self.version,
                ),
            )
        except sqlite3.IntegrityError as error:
            raise StoreError(
                f"chunk id {chunk.id!r} is already in use by another file or record", "ids must be unique in a store"
            ) from error
        if vector is not None:
            self._db.execute("INSERT INTO vector VALUES (?, ?)", (cursor.lastrowid, _bytes(vector)))
        self.born += 1


def _bytes(vector: Vector) -> bytes:
    return np.asarray(vector, "<f4").tobytes()


def _row(row: tuple[Any, ...]) -> Row:
    seq, name, doc_id, text, tokens, created, importance, meta, facts, born, died = row
    moment = float("nan") if created is None else created
    return Row(seq, Chunk(name, doc_id, text, tokens, moment, importance, json.loads(meta)), facts, born, died)


def _connected(uri: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA mmap_size=268435456")
    return db


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.resolve()))


@contextlib.contextmanager
def _told(folder: Path) -> Iterator[None]:
    """SQLite's and the system's complaints, in words with a cure."""
    try:
        yield
    except AssayError:
        raise
    except sqlite3.OperationalError as error:
        said = str(error).lower()
        if "locked" in said or "busy" in said:
            raise StoreBusy(
                f"{folder} is busy: another process is writing", "try again when it has finished"
            ) from error
        if "full" in said:
            raise StoreError(
                f"the disk of {folder} is full; nothing of this step was written", "free some space"
            ) from error
        if "readonly" in said or "unable to open" in said:
            raise StoreError(f"{folder} cannot be written: {error}", "check the folder's permissions") from error
        raise StoreError(f"{folder}: {error}", "run: assay doctor") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{folder} is damaged: {error}", "restore a backup: assay restore") from error
    except PermissionError as error:
        raise StoreError(f"{folder} cannot be written: {error}", "check the folder's permissions") from error
    except OSError as error:
        raise StoreError(f"{folder}: {error}", "check the disk and the folder's permissions") from error
