"""The chunk store in SQLite: write-ahead log, synchronous FULL. A commit that returned survives a killed process."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from assay.errors import MissingStore, StoreError, install_hint
from assay.store import damage, statistics
from assay.store.backup_file import write_backup
from assay.store.commit_journal import SUFFIX, CommitJournal
from assay.store.connections import READER_CACHE, WRITER_CACHE, SqliteConnections
from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.db_errors import DATABASE_ERRORS, to_store_error, translate_errors, translate_read_errors
from assay.store.disk_usage import count_bytes
from assay.store.locks import lock_file
from assay.store.log_files import link_new_database
from assay.store.rows import ChunkRow, FileState, decode_vector
from assay.store.schema import FORMAT, TABLES
from assay.store.staging import SqliteStaging
from assay.store.statistics import COLUMNS, decode_row
from assay.store.validation import model_changed_error, resolve_version, rows_forgotten_error
from assay.store.writer import SqliteWriter
from assay.types import Progress

DATABASE = "assay.sqlite"
SETTINGS = frozenset({"embedder", "model", "dim", "language", "profile"})
"""Settings that every store has."""
_SUFFIXES = ("", "-wal", "-shm", SUFFIX)
"""Suffixes of a database's files."""


class SqliteStore(SqliteStaging):
    """The chunk store in a folder. Safe for threads (a connection each) and processes (SQLite's own locks)."""

    TABLES: ClassVar[str] = TABLES
    KIND: ClassVar[str] = "folder"

    def __init__(self, place: Path, readonly: bool) -> None:
        self.place = place
        self.readonly = readonly
        self._connections = SqliteConnections(self.database(place), readonly, self.prepare)
        self.settings = self._check_format()
        self._journal = self._open_journal()

    @staticmethod
    def database(place: Path) -> Path:
        """The SQLite file of a store at a place."""
        return place / DATABASE

    def prepare(self, db: sqlite3.Connection) -> None:
        """Set up a new connection."""

    @property
    def folder(self) -> Path:
        return self.place

    @property
    def address(self) -> str:
        return str(self.place)

    @property
    def scratch(self) -> Path | None:
        return self.place

    @classmethod
    def exists(cls, place: Path) -> bool:
        with translate_errors(place):
            return cls.database(place).is_file()

    @classmethod
    def create(cls, place: Path, settings: Mapping[str, Any]) -> Self:
        """A new, empty store. Written to a draft and linked, so a killed process leaves no half-made store."""
        path = cls.database(place)
        draft = path.with_name(f".{path.name}-{threading.get_ident()}.{os.getpid()}")
        with translate_errors(place):
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.unlink(missing_ok=True)
            db = sqlite3.connect(draft)
            try:
                db.executescript(cls.TABLES)
                own = {"format": FORMAT, "journal": secrets.token_hex(8), "live": 0}
                rows = [(key, json.dumps(value)) for key, value in {**own, **settings}.items()]
                db.executemany("INSERT INTO setting VALUES (?, ?)", rows)
                db.execute("INSERT INTO version VALUES (0, 'made')")
                db.commit()
                # Here, where we are alone: two processes that both switch modes get in each other's way.
                db.execute("PRAGMA journal_mode=WAL")
            finally:
                db.close()
            try:
                link_new_database(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink(missing_ok=True)
        return cls(place, readonly=False)

    @classmethod
    def open(cls, place: Path) -> Self:
        if not cls.exists(place):
            raise MissingStore(place)
        path = cls.database(place)
        writable = os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)
        return cls(place, readonly=not writable)

    def close(self) -> None:
        self._connections.close()
        if self._journal is not None:
            self._journal.close()

    def _open_journal(self) -> CommitJournal | None:
        """The journal, after comparing the store with it. A store of an older release gets one with its next write."""
        owner = self.setting("journal")
        if owner is None:
            return None
        journal = CommitJournal(self.database(self.place), owner, self.readonly)
        journal.check(self.version)
        return journal

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection."""
        return self._connections.get()

    def _check_format(self) -> dict[str, Any]:
        try:
            settings = {key: json.loads(value) for key, value in self.db.execute("SELECT key, value FROM setting")}
            found = int(settings.pop("format"))
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError) as error:
            raise self._damaged_error(str(error)) from error
        if found > FORMAT:
            raise StoreError(
                f"this store has format {found}; this Assay reads up to {FORMAT}", f"upgrade: {install_hint()}"
            )
        if settings.get("kind", SqliteStore.KIND) != self.KIND:
            raise self._damaged_error(f"it says that it is a {settings.get('kind', SqliteStore.KIND)} store")
        if not settings.keys() >= SETTINGS:
            raise self._damaged_error(f"it does not say its {', '.join(sorted(SETTINGS - settings.keys()))}")
        for own in ("journal", "live"):
            settings.pop(own, None)
        return {"format": found, **settings}

    def _damaged_error(self, why: str) -> StoreError:
        return StoreError(
            f"{self.database(self.place)} is not an Assay store, or it is damaged: {why}",
            "restore a backup with: assay restore BACKUP --store NEW",
        )

    # -- reading

    @translate_read_errors
    def version(self) -> int:
        """The newest committed version."""
        return int(self.db.execute("SELECT max(number) FROM version").fetchone()[0])

    @translate_read_errors
    def state(self) -> tuple[int, str | None, str]:
        """(newest version, the generation in use, the model) in one query, so that a reader sees that it is behind."""
        version, generation, model = self.db.execute(
            "SELECT (SELECT max(number) FROM version), (SELECT value FROM setting WHERE key = 'generation'), "
            "(SELECT value FROM setting WHERE key = 'model')"
        ).fetchone()
        return version, None if generation is None else json.loads(generation), json.loads(model)

    @translate_read_errors
    def oldest(self) -> int:
        """The oldest version that can still be read."""
        return int(self.db.execute("SELECT min(number) FROM version").fetchone()[0])

    @translate_read_errors
    def count_since(self, seq: int) -> int:
        return int(self.db.execute("SELECT count(*) FROM chunk WHERE seq > ?", (seq,)).fetchone()[0])

    @translate_read_errors
    def resolve(self, snapshot: str) -> int:
        """A version from its number (`12` or `v12`) or tag."""
        return resolve_version(snapshot, self.tags(), self.oldest(), self.version())

    @translate_read_errors
    def setting(self, key: str) -> Any:
        """A setting as it is now (`settings` is as it was when the store was opened, and as we changed it)."""
        row = self.db.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    @translate_read_errors
    def tags(self) -> dict[str, int]:
        return dict(self.db.execute("SELECT name, version FROM tag ORDER BY name"))

    def live_at(self, version: int) -> Iterator[tuple[str, int]]:
        """(id, seq) of every chunk alive at a version, in id order, as a stream: there may be millions."""
        with translate_errors(self.place):
            yield from self.db.execute(
                "SELECT id, seq FROM chunk WHERE born <= ?1 AND (died IS NULL OR died > ?1) ORDER BY id", (version,)
            )

    @translate_read_errors
    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]:
        """Rows in the order asked."""
        found: dict[int, ChunkRow] = {}
        for start in range(0, len(seqs), 500):
            part = [int(s) for s in seqs[start : start + 500]]
            marks = ",".join("?" * len(part))
            for row in self.db.execute(f"SELECT {COLUMNS}, facts, born, died FROM chunk WHERE seq IN ({marks})", part):
                found[row[0]] = decode_row(row)
        try:
            return [found[int(s)] for s in seqs]
        except KeyError as error:
            raise rows_forgotten_error(self.place) from error

    @translate_read_errors
    def rows_since(self, seq: int) -> list[ChunkRow]:
        return [
            decode_row(r)
            for r in self.db.execute(
                f"SELECT {COLUMNS}, facts, born, died FROM chunk WHERE seq > ? ORDER BY seq", (seq,)
            )
        ]

    @translate_read_errors
    def deaths_since(self, version: int) -> list[tuple[str, int, int]]:
        """(id, seq, version of death) of everything that died after a version."""
        return self.db.execute(
            "SELECT id, seq, died FROM chunk INDEXED BY dead WHERE died > ? ORDER BY died", (version,)
        ).fetchall()

    @translate_read_errors
    def last_seq(self, version: int) -> int:
        """The newest row born at or before a version."""
        newest = self.db.execute(
            "SELECT seq FROM chunk WHERE born <= ? ORDER BY seq DESC LIMIT 1", (version,)
        ).fetchone()
        return int(newest[0]) if newest else 0

    @translate_read_errors
    def vectors(self, seqs: Sequence[int], dim: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Vectors in the order asked; zero rows where a chunk has none."""
        out = np.zeros((len(seqs), dim), np.float32)
        place = {int(s): i for i, s in enumerate(seqs)}
        for start in range(0, len(seqs), 500):
            part = [int(s) for s in seqs[start : start + 500]]
            marks = ",".join("?" * len(part))
            for seq, value in self.db.execute(f"SELECT seq, value FROM vector WHERE seq IN ({marks})", part):
                out[place[seq]] = decode_vector(seq, value, dim)
        return out

    @translate_read_errors
    def rows_without_vector(self) -> list[int]:
        """Live rows without a vector, oldest first."""
        rows = self.db.execute(
            "SELECT c.seq FROM chunk c LEFT JOIN vector v ON v.seq = c.seq "
            "WHERE c.died IS NULL AND v.seq IS NULL ORDER BY c.seq"
        )
        return [int(r[0]) for r in rows]

    @translate_read_errors
    def files(self, folder: str | None = None) -> dict[str, FileState]:
        rows = self.db.execute(
            "SELECT origin, source, hash, size FROM file WHERE ?1 IS NULL OR source = ?1 ORDER BY origin",
            (folder,),
        )
        return {row[0]: FileState(*row) for row in rows}

    @translate_read_errors
    def folders(self) -> dict[str, str]:
        return dict(self.db.execute("SELECT name, root FROM source ORDER BY name"))

    @translate_read_errors
    def live_chunks_of(self, origin: str) -> dict[str, tuple[int, bytes]]:
        """id → (seq, facts) of a file's live chunks."""
        rows = self.db.execute("SELECT id, seq, facts FROM chunk WHERE origin = ? AND died IS NULL", (origin,))
        return {name: (seq, facts) for name, seq, facts in rows}

    # -- counting and looking back

    @translate_read_errors
    def count_chunks(self) -> StoreCounts:
        return statistics.count_chunks(self.db)

    @translate_read_errors
    def origin_extents(self, prefix: str) -> Iterator[OriginExtent]:
        return statistics.origin_extents(self.db, prefix)

    @translate_read_errors
    def heads(self, origin: str) -> Iterator[ChunkHead]:
        return statistics.heads(self.db, origin)

    @translate_read_errors
    def count_target(self, target: str) -> tuple[int, int]:
        return statistics.count_target(self.db, target)

    def sizes(self) -> dict[str, int]:
        path = self.database(self.place)
        return {"database": count_bytes(*(path.with_name(path.name + suffix) for suffix in _SUFFIXES))}

    def check_outside(self, target: Path) -> None:
        own = self.database(self.place).resolve()
        if target.resolve() in [own.with_name(own.name + suffix) for suffix in _SUFFIXES]:
            raise StoreError(f"{target} belongs to the store itself", "give another name")

    def write_backup(self, target: Path, progress: Progress) -> None:
        write_backup(self.db, target, progress)

    @translate_read_errors
    def has_document(self, doc_id: str) -> bool:
        return statistics.has_document(self.db, doc_id)

    @translate_read_errors
    def states(self, prefix: str) -> list[StoreState]:
        return statistics.states(self.db, prefix)

    @translate_read_errors
    def deleted_documents(self, prefix: str) -> Iterator[tuple[str, Any]]:
        return statistics.deleted_documents(self.db, prefix)

    def find_damage(self, deep: bool) -> str:
        """SQLite's own check of every page; `deep` adds its indexes and every chunk against the digest of its facts."""
        return damage.find_damage(self, deep)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        with translate_errors(self.place), lock_file(self._lock_file(name)):
            yield

    def _lock_file(self, name: str) -> Path:
        return self.place / f".{name}"

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one moment."""
        with translate_errors(self.place):
            db = self.db
            try:
                db.execute("BEGIN")
                yield
            finally:
                if db.in_transaction:  # not so when BEGIN failed
                    db.execute("COMMIT")

    # -- writing

    @contextlib.contextmanager
    def write(self, note: str) -> Iterator[SqliteWriter]:
        """One transaction, one new version. Leaving the block commits; an exception undoes all of it."""
        if self.readonly:
            raise StoreError(f"the store {self.place} is read-only here", "copy it to a folder you may write to")
        db = self.db
        if db.in_transaction:
            raise StoreError(f"a transaction within a transaction on {self.place}", "end the first one before")
        try:
            db.execute(WRITER_CACHE)
            db.execute("BEGIN IMMEDIATE")
            self._check_model()
            version = self.version() + 1
            writer = SqliteWriter(db, version, self.settings["dim"])
            yield writer
            if writer.changed:
                db.execute("INSERT INTO version VALUES (?, ?)", (version, note))
            self._count_live(writer)
            db.execute("COMMIT")
            if self._journal is not None:
                self._journal.add_commit(version if writer.changed else version - 1)
            self.settings.update(writer.settings)
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            if isinstance(error, DATABASE_ERRORS):
                raise to_store_error(error, self.place) from error
            raise
        finally:
            with contextlib.suppress(sqlite3.Error):
                db.execute(READER_CACHE)

    def _count_live(self, writer: SqliteWriter) -> None:
        """Write down how many chunks are live, within the transaction: a reader that finds another number knows that
        rows were lost or came back."""
        live = self.setting("live")
        if live is None or writer.erased:
            live = self.db.execute(damage.COUNT_LIVE).fetchone()[0]
        else:
            live += writer.inserted - writer.deleted
        writer.save("live", live)
        if self._journal is None:
            owner = secrets.token_hex(8)
            writer.save("journal", owner)
            writer.save("format", FORMAT)
            self._journal = CommitJournal(self.database(self.place), owner, readonly=False)

    def _check_model(self) -> None:
        """Vectors of two models never mix: a store opened before it was embedded anew must be opened again."""
        if self.setting("model") != self.settings["model"]:
            raise model_changed_error(self.place)
