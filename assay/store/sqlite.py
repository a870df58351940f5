"""The record of truth: SQLite, write-ahead log, synchronous FULL. A commit that returned survives a killed process."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from assay.errors import StoreError
from assay.store import statistics as tallies
from assay.store.connections import READING, WRITING, SqliteConnections
from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.db_errors import COMPLAINTS, in_words, telling, translate_errors
from assay.store.disk_usage import weight
from assay.store.locks import in_turn
from assay.store.rows import ChunkRow, FileFacts, facts_of, stored
from assay.store.schema import FORMAT, TABLES
from assay.store.staging import SqliteStaging
from assay.store.statistics import COLUMNS, as_row
from assay.store.validation import embedded_anew, forgotten, version_of
from assay.store.writer import SqliteWriter

__all__ = ["DATABASE", "ChunkRow", "FileFacts", "SqliteStore", "facts_of", "stored"]

DATABASE = "assay.sqlite"
SETTINGS = frozenset({"embedder", "model", "dim", "language", "profile"})
"""What every store remembers of how it was made."""
_ENDS = ("", "-wal", "-shm")
"""What SQLite appends to a database's name for the files beside it."""


class SqliteStore(SqliteStaging):
    """The record of truth in a folder. Safe for threads (a connection each) and processes (SQLite's own locks)."""

    TABLES: ClassVar[str] = TABLES
    KIND: ClassVar[str] = "folder"

    def __init__(self, place: Path, readonly: bool) -> None:
        self.place = place
        self.readonly = readonly
        self._connections = SqliteConnections(self.database(place), readonly, self.prepare)
        self.settings = self._check_format()

    @staticmethod
    def database(place: Path) -> Path:
        """The SQLite file of a store at a place."""
        return place / DATABASE

    def prepare(self, db: sqlite3.Connection) -> None:
        """What a new connection needs to know."""

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
        """A new, empty store. Written aside and renamed, so a killed process leaves no half-made store."""
        path = cls.database(place)
        aside = path.with_name(f".{path.name}-{threading.get_ident()}.{os.getpid()}")
        with translate_errors(place):
            path.parent.mkdir(parents=True, exist_ok=True)
            aside.unlink(missing_ok=True)
            db = sqlite3.connect(aside)
            try:
                db.executescript(cls.TABLES)
                said = {"format": FORMAT, **settings}
                db.executemany("INSERT INTO setting VALUES (?, ?)", [(k, json.dumps(v)) for k, v in said.items()])
                db.execute("INSERT INTO version VALUES (0, 'made')")
                db.commit()
                # Here, where we are alone: two processes that both switch modes get in each other's way.
                db.execute("PRAGMA journal_mode=WAL")
            finally:
                db.close()
            try:
                os.link(aside, path)  # unlike rename, fails when another process made the store first
            except FileExistsError:
                pass
            finally:
                aside.unlink(missing_ok=True)
        return cls(place, readonly=False)

    @classmethod
    def open(cls, place: Path) -> Self:
        if not cls.exists(place):
            raise StoreError(f"there is no store at {place}", f"make one: assay add ./my-docs --store {place}")
        path = cls.database(place)
        writable = os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)
        return cls(place, readonly=not writable)

    def close(self) -> None:
        self._connections.close()

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection."""
        return self._connections.mine()

    def _check_format(self) -> dict[str, Any]:
        try:
            settings = {key: json.loads(value) for key, value in self.db.execute("SELECT key, value FROM setting")}
            found = int(settings.pop("format"))
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError) as error:
            raise self._strange(str(error)) from error
        if found > FORMAT:
            raise StoreError(
                f"this store has format {found}; this Assay reads up to {FORMAT}", "upgrade: pip install -U assay"
            )
        if settings.get("kind", SqliteStore.KIND) != self.KIND:
            raise self._strange(f"it says that it is a {settings.get('kind', SqliteStore.KIND)} store")
        if not settings.keys() >= SETTINGS:
            raise self._strange(f"it does not say its {', '.join(sorted(SETTINGS - settings.keys()))}")
        return {"format": found, **settings}

    def _strange(self, why: str) -> StoreError:
        return StoreError(
            f"{self.database(self.place)} is not an Assay store, or it is damaged: {why}",
            "restore a backup with: assay restore BACKUP --store NEW",
        )

    # -- reading

    @telling
    def version(self) -> int:
        """The newest committed version."""
        return int(self.db.execute("SELECT max(number) FROM version").fetchone()[0])

    @telling
    def state(self) -> tuple[int, str | None, str]:
        """(newest version, the generation in use, the model) in one look: what tells a reader that it is behind."""
        version, generation, model = self.db.execute(
            "SELECT (SELECT max(number) FROM version), (SELECT value FROM setting WHERE key = 'generation'), "
            "(SELECT value FROM setting WHERE key = 'model')"
        ).fetchone()
        return version, None if generation is None else json.loads(generation), json.loads(model)

    @telling
    def oldest(self) -> int:
        """The oldest version that can still be read."""
        return int(self.db.execute("SELECT min(number) FROM version").fetchone()[0])

    @telling
    def count_since(self, seq: int) -> int:
        return int(self.db.execute("SELECT count(*) FROM chunk WHERE seq > ?", (seq,)).fetchone()[0])

    @telling
    def resolve(self, snapshot: str) -> int:
        """A version from its number (`12` or `v12`) or tag."""
        return version_of(snapshot, self.tags(), self.oldest(), self.version())

    @telling
    def setting(self, key: str) -> Any:
        """A setting as it is now (`settings` is as it was when the store was opened, and as we changed it)."""
        row = self.db.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    @telling
    def tags(self) -> dict[str, int]:
        return dict(self.db.execute("SELECT name, version FROM tag ORDER BY name"))

    def live_at(self, version: int) -> Iterator[tuple[str, int]]:
        """(id, seq) of every chunk alive at a version, in id order, as a stream: there may be millions."""
        with translate_errors(self.place):
            yield from self.db.execute(
                "SELECT id, seq FROM chunk WHERE born <= ?1 AND (died IS NULL OR died > ?1) ORDER BY id", (version,)
            )

    @telling
    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]:
        """Rows in the order asked."""
        found: dict[int, ChunkRow] = {}
        for start in range(0, len(seqs), 500):
            part = [int(s) for s in seqs[start : start + 500]]
            marks = ",".join("?" * len(part))
            for row in self.db.execute(f"SELECT {COLUMNS}, facts, born, died FROM chunk WHERE seq IN ({marks})", part):
                found[row[0]] = as_row(row)
        try:
            return [found[int(s)] for s in seqs]
        except KeyError as error:
            raise forgotten(self.place) from error

    @telling
    def rows_since(self, seq: int) -> list[ChunkRow]:
        return [
            as_row(r)
            for r in self.db.execute(
                f"SELECT {COLUMNS}, facts, born, died FROM chunk WHERE seq > ? ORDER BY seq", (seq,)
            )
        ]

    @telling
    def deaths_since(self, version: int) -> list[tuple[str, int, int]]:
        """(id, seq, version of death) of everything that died after a version."""
        return self.db.execute(
            "SELECT id, seq, died FROM chunk INDEXED BY dead WHERE died > ? ORDER BY died", (version,)
        ).fetchall()

    @telling
    def last_seq(self, version: int) -> int:
        """The newest row born at or before a version."""
        newest = self.db.execute(
            "SELECT seq FROM chunk WHERE born <= ? ORDER BY seq DESC LIMIT 1", (version,)
        ).fetchone()
        return int(newest[0]) if newest else 0

    @telling
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

    @telling
    def lacking_vectors(self) -> list[int]:
        """Live rows without a vector, oldest first."""
        rows = self.db.execute(
            "SELECT c.seq FROM chunk c LEFT JOIN vector v ON v.seq = c.seq "
            "WHERE c.died IS NULL AND v.seq IS NULL ORDER BY c.seq"
        )
        return [int(r[0]) for r in rows]

    @telling
    def files(self, source: str | None = None) -> dict[str, FileFacts]:
        rows = self.db.execute(
            "SELECT origin, source, hash, size FROM file WHERE ?1 IS NULL OR source = ?1 ORDER BY origin",
            (source,),
        )
        return {row[0]: FileFacts(*row) for row in rows}

    @telling
    def sources(self) -> dict[str, str]:
        return dict(self.db.execute("SELECT name, root FROM source ORDER BY name"))

    @telling
    def live_in(self, origin: str) -> dict[str, tuple[int, bytes]]:
        """id → (seq, facts) of a file's live chunks."""
        rows = self.db.execute("SELECT id, seq, facts FROM chunk WHERE origin = ? AND died IS NULL", (origin,))
        return {name: (seq, facts) for name, seq, facts in rows}

    # -- counting and looking back

    @telling
    def tally(self) -> StoreCounts:
        return tallies.tally(self.db)

    @telling
    def extents(self, prefix: str) -> Iterator[OriginExtent]:
        return tallies.extents(self.db, prefix)

    @telling
    def heads(self, origin: str) -> Iterator[ChunkHead]:
        return tallies.heads(self.db, origin)

    @telling
    def reach(self, target: str) -> tuple[int, int]:
        return tallies.reach(self.db, target)

    def sizes(self) -> dict[str, int]:
        path = self.database(self.place)
        return {"database": weight(*(path.with_name(path.name + end) for end in _ENDS))}

    def check_elsewhere(self, target: Path) -> None:
        """Refuse to write over the files this store lives in, by whatever path they are reached."""
        own = self.database(self.place).resolve()
        if target.resolve() in [own.with_name(own.name + end) for end in _ENDS]:
            raise StoreError(f"{target} belongs to the store itself", "give another name")

    @telling
    def has_document(self, doc_id: str) -> bool:
        return tallies.has_document(self.db, doc_id)

    @telling
    def states(self, beginning: str) -> list[StoreState]:
        return tallies.states(self.db, beginning)

    @telling
    def buried(self, beginning: str) -> Iterator[tuple[str, Any]]:
        return tallies.buried(self.db, beginning)

    def damage(self, deep: bool) -> str:
        """SQLite's own check of every page; `deep` adds its indexes and every chunk against the digest of its facts."""
        try:
            said = [row[0] for row in self.db.execute("PRAGMA integrity_check(5)" if deep else "PRAGMA quick_check(5)")]
            if said != ["ok"] or not deep:
                return "" if said == ["ok"] else f"it is damaged: {'; '.join(said)}"
            wrong = [row.chunk.id for row in self.rows_since(0) if facts_of(row.chunk) != row.facts]
        except (sqlite3.DatabaseError, ValueError, StoreError) as error:
            return f"it is damaged: {error}"
        return f"{len(wrong)} chunks are not what was written: {', '.join(wrong[:3])}" if wrong else ""

    @contextlib.contextmanager
    def turn(self, name: str) -> Iterator[None]:
        with translate_errors(self.place), in_turn(self._lock_file(name)):
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
            db.execute(WRITING)
            db.execute("BEGIN IMMEDIATE")
            self._check_model()
            version = self.version() + 1
            writer = SqliteWriter(db, version, self.settings["dim"])
            yield writer
            if writer.changed:
                db.execute("INSERT INTO version VALUES (?, ?)", (version, note))
            db.execute("COMMIT")
            self.settings.update(writer.settings)
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            if isinstance(error, COMPLAINTS):
                raise in_words(error, self.place) from error
            raise
        finally:
            with contextlib.suppress(sqlite3.Error):
                db.execute(READING)

    def _check_model(self) -> None:
        """Vectors of two models never mix: whoever opened the store before it was embedded anew must open it again."""
        if self.setting("model") != self.settings["model"]:
            raise embedded_anew(self.place)
