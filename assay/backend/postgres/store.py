"""The chunk store in a PostgreSQL schema: the same methods as the local store, with the server's transactions.

A commit that returned is in the server's write-ahead log on disk: it survives a killed server.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assay.backend.postgres import statistics
from assay.backend.postgres.connections import Address, PostgresPool, connect_once
from assay.backend.postgres.schema import (
    GRAPH_FROM,
    MIGRATIONS,
    check_server,
    check_vectors,
    create_vector_table,
    lock,
    lock_creation,
    migrate,
    require_pgvector,
)
from assay.backend.postgres.staging import PostgresStaging
from assay.backend.postgres.vector_type import unpack_vector
from assay.backend.postgres.writer import PostgresWriter
from assay.errors import MissingStore, Reason, StoreError
from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.rows import ChunkRow, FileState
from assay.store.validation import model_changed_error, resolve_version, rows_forgotten_error
from assay.text.analyser import Analyser
from assay.types import Vectors

if TYPE_CHECKING:
    import psycopg

SETTINGS = frozenset({"format", "store", "embedder", "model", "dim", "language", "profile", "vectors", "analyser"})
"""The settings every store has."""
_T = TypeVar("_T")
_ON_DISK = """
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'
"""


class PostgresStore(PostgresStaging):
    """Implements `contract.ChunkStore`. Safe for threads and for any number of processes and machines."""

    place: Path | None = None
    scratch: Path | None = None

    def __init__(
        self, connections: PostgresPool, settings: dict[str, Any], readonly: bool, no_graph: Reason | None = None
    ) -> None:
        self._connections = connections
        self.readonly = readonly
        self.no_graph = no_graph
        """Why this store keeps no graph here; None when it does."""
        self.settings = settings
        self.analyser = Analyser(language=settings["language"])
        self._transaction = threading.local()
        # Threads of one process wait for these locks before they take a connection: the holder may need a second one,
        # and the pool is small.
        self._named_lock, self._write_lock = threading.RLock(), threading.RLock()

    @cached_property
    def database(self) -> str:
        """Which database holds it: a restored copy of a store has the store's number, but not this."""
        server = ""
        with contextlib.suppress(StoreError):  # the server may keep its number to itself
            server = str(self._all("SELECT system_identifier FROM pg_control_system()")[0][0])
        statement = "SELECT oid, 'setting'::regclass::oid FROM pg_database WHERE datname = current_database()"
        return "/".join([server, *map(str, self._all(statement)[0])])

    # -- making and opening

    @staticmethod
    def exists(address: Address) -> bool:
        with connect_once(address) as db:
            return _is_store(db, address.schema)

    @staticmethod
    def create(address: Address, settings: Mapping[str, Any]) -> PostgresStore:
        """Create an empty store in its schema; one that another process created meanwhile is opened instead."""
        from psycopg import sql

        with connect_once(address) as db:
            check_server(db, str(address))
            if settings["dim"]:
                lock_creation(db)
                require_pgvector(db, str(address))
        with connect_once(address) as db:  # a new connection, which knows pgvector's types
            lock_creation(db)
            db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(address.schema)))
            lock(db)
            if not _is_store(db, address.schema):
                _create_tables(db, settings, str(address))
        return PostgresStore.open(address)

    @staticmethod
    def open(address: Address) -> PostgresStore:
        """Open an existing store; an older format is migrated, a newer one is refused."""
        with connect_once(address) as db:
            if not _is_store(db, address.schema):
                raise MissingStore(address)
            settings = _settings(db)
            if not settings.keys() >= SETTINGS:
                raise StoreError(f"the tables at {address} are not Assay's, or are damaged", "name another schema")
            readonly = _is_readonly(db)
            behind = settings["format"] < len(MIGRATIONS) and not readonly
            if behind or settings["format"] > len(MIGRATIONS):
                lock(db)
                settings["format"] = migrate(db, _settings(db)["format"], str(address))
            if settings["dim"]:
                check_vectors(db, settings["vectors"], settings["dim"], str(address), readonly)
            no_graph = _no_graph(db, settings["format"])
        return PostgresStore(PostgresPool(address), settings, readonly, no_graph)

    @property
    def address(self) -> str:
        """Without its password, because messages show it."""
        return str(self._connections.address)

    @property
    def where(self) -> Address:
        return self._connections.address

    @property
    def schema(self) -> str:
        return self.where.schema

    def forget_connections(self) -> None:
        """Close the pool; the next call reconnects."""
        self._connections.close()

    def close(self) -> None:
        self._connections.close()

    # -- reading

    def read(self, work: Callable[[psycopg.Connection[Any]], _T]) -> _T:
        """Run work that reads; a dead connection is replaced once."""
        open_db = getattr(self._transaction, "db", None)
        return self._connections.reading(work) if open_db is None else work(open_db)

    def _all(self, statement: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.read(lambda db: db.execute(statement, given).fetchall())

    def autocommit(self) -> contextlib.AbstractContextManager[psycopg.Connection[Any]]:
        """A connection outside any transaction, for the upkeep of indexes."""
        return self._connections.autocommit()

    def derived_transaction(self) -> contextlib.AbstractContextManager[psycopg.Connection[Any]]:
        """A transaction that creates no version: for derived data."""
        return self._connections.transaction()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one consistent state."""
        with self._connections.transaction() as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._transaction.db = db
            try:
                yield
            finally:
                self._transaction.db = None

    def version(self) -> int:
        """The newest committed version."""
        return int(self._all("SELECT max(number) FROM version")[0][0])

    def oldest(self) -> int:
        """The oldest version that can still be read."""
        return int(self._all("SELECT min(number) FROM version")[0][0])

    def resolve(self, snapshot: str) -> int:
        """A version from its number (`12` or `v12`) or tag."""
        return resolve_version(snapshot, self.tags(), self.oldest(), self.version())

    def setting(self, key: str) -> Any:
        """A setting as stored now (`settings` is as of opening, with our own changes)."""
        found = self._all("SELECT value FROM setting WHERE key = %s", (key,))
        return json.loads(found[0][0]) if found else None

    def tags(self) -> dict[str, int]:
        return dict(self._all("SELECT name, version FROM tag ORDER BY name"))

    def live_at(self, version: int) -> Iterator[tuple[str, int]]:
        """(id, seq) of every chunk alive at a version, in id order, as a stream: there may be millions."""
        with self._connections.transaction() as db, db.cursor(name="live_at") as cursor:
            cursor.itersize = 10_000
            cursor.execute(
                "SELECT id, seq FROM chunk WHERE born <= %(v)s AND (died IS NULL OR died > %(v)s) ORDER BY id",
                {"v": version},
            )
            yield from cursor

    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]:
        """Rows in the order wanted."""
        wanted = [int(seq) for seq in seqs]
        rows = self._all(f"SELECT {statistics.COLUMNS} FROM chunk JOIN body USING (seq) WHERE seq = ANY(%s)", (wanted,))
        found = {row[0]: statistics.decode_row(row) for row in rows}
        try:
            return [found[seq] for seq in wanted]
        except KeyError as error:
            raise rows_forgotten_error(self.address) from error

    def vectors(self, seqs: Sequence[int], dim: int) -> Vectors:
        """Vectors in the order wanted; zero rows where a chunk has none."""
        out = np.zeros((len(seqs), dim), np.float32)
        table = self.settings.get("vectors")
        place = {int(seq): i for i, seq in enumerate(seqs)}
        if table and place:
            statement = f"SELECT seq, vector_send(v) FROM {table} WHERE seq = ANY(%s)"
            for seq, raw in self.read(lambda db: db.execute(statement, (list(place),), binary=True).fetchall()):
                out[place[seq]] = unpack_vector(raw)
        return out

    def rows_without_vector(self) -> list[int]:
        """Live rows without a vector, oldest first."""
        table = self.settings.get("vectors")
        having = f"AND NOT EXISTS (SELECT 1 FROM {table} v WHERE v.seq = c.seq)" if table else ""
        return [row[0] for row in self._all(f"SELECT seq FROM chunk c WHERE died IS NULL {having} ORDER BY seq")]

    def files(self, folder: str | None = None) -> dict[str, FileState]:
        rows = self._all(
            "SELECT origin, source, hash, size FROM file WHERE %s::text IS NULL OR source = %s ORDER BY origin",
            (folder, folder),
        )
        return {row[0]: FileState(*row) for row in rows}

    def folders(self) -> dict[str, str]:
        return dict(self._all("SELECT name, root FROM source ORDER BY name"))

    def live_chunks_of(self, origin: str) -> dict[str, tuple[int, bytes]]:
        """id → (seq, facts) of a file's live chunks."""
        rows = self._all("SELECT id, seq, facts FROM chunk WHERE origin = %s AND died IS NULL", (origin,))
        return {name: (seq, facts) for name, seq, facts in rows}

    # -- counting and looking back

    def count_chunks(self) -> StoreCounts:
        return self.read(statistics.count_chunks)

    def origin_extents(self, prefix: str) -> Iterator[OriginExtent]:
        return iter(self.read(lambda db: statistics.origin_extents(db, prefix)))

    def heads(self, origin: str) -> Iterator[ChunkHead]:
        return iter(self.read(lambda db: statistics.heads(db, origin)))

    def count_target(self, target: str) -> tuple[int, int]:
        return self.read(lambda db: statistics.count_target(db, target))

    def sizes(self) -> dict[str, int]:
        return self.read(statistics.sizes)

    def check_outside(self, target: Path) -> None:
        """Nothing to refuse: the store has no files here."""

    def has_document(self, doc_id: str) -> bool:
        return bool(self._all("SELECT 1 FROM chunk WHERE doc_id = %s AND died IS NULL LIMIT 1", (doc_id,)))

    def states(self, prefix: str) -> list[StoreState]:
        return self.read(lambda db: statistics.states(db, prefix))

    def deleted_documents(self, prefix: str) -> Iterator[tuple[str, Any]]:
        return iter(self.read(lambda db: statistics.deleted_documents(db, prefix)))

    def find_damage(self, deep: bool) -> str:
        return self.read(lambda db: statistics.find_damage(db, deep))

    # -- writing

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold a named lock; one holder at a time, over all machines."""
        with self._named_lock, self._connections.transaction() as db:
            db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"assay/{self.schema}/{name}",))
            yield

    @contextlib.contextmanager
    def write(self, note: str) -> Iterator[PostgresWriter]:
        """One transaction, one new version. Leaving the block commits; an exception rolls it back."""
        if self.readonly:
            raise StoreError(f"{self.address} is read-only here", "connect as a user who may write, to the primary")
        with self._write_lock, self._connections.transaction() as db:
            lock(db)
            # A commit is acknowledged when it is on disk, whatever the server's default says.
            db.execute(_ON_DISK)
            analyser = self._check_model(db)
            before = db.execute("SELECT number, chunks, length FROM version ORDER BY number DESC LIMIT 1").fetchone()
            assert before is not None  # version 0 is created with the store
            version, chunks, length = before[0] + 1, before[1], before[2]
            writer = PostgresWriter(db, version, self.settings["dim"], self.settings["vectors"], analyser)
            yield writer
            writer.flush()
            if writer.changed:
                whole = length + writer.length if writer.total_length is None else writer.total_length
                db.execute(
                    "INSERT INTO version VALUES (%s, %s, %s, %s)",
                    (version, note, chunks + writer.inserted - writer.deleted, whole),
                )
        self.settings.update(writer.settings)

    def _check_model(self, db: psycopg.Connection[Any]) -> Analyser | None:
        """The analyser for this write; None where another version of Assay analysed the store. Vectors of two models
        never mix: a store opened before it moved to another model must be reopened."""
        found = _settings(db)
        if found["model"] != self.settings["model"]:
            raise model_changed_error(self.address)
        return self.analyser if found["analyser"] == self.analyser.digest else None


def _is_store(db: psycopg.Connection[Any], schema: str) -> bool:
    row = db.execute(
        "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename IN ('setting', 'version')", (schema,)
    ).fetchone()
    return row is not None and row[0] == 2


def _is_readonly(db: psycopg.Connection[Any]) -> bool:
    row = db.execute(
        "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' "
        "OR NOT has_table_privilege('chunk', 'INSERT')"
    ).fetchone()
    return bool(row and row[0])


def _no_graph(db: psycopg.Connection[Any], form: int) -> Reason | None:
    if form < GRAPH_FROM:
        return Reason("its tables are of an older Assay, which kept no graph", "open it once as a user who may write")
    row = db.execute("SELECT has_table_privilege('graph', 'SELECT') AND has_table_privilege('graph_page', 'SELECT')")
    may = row.fetchone()
    if may and may[0]:
        return None
    return Reason(
        "this user may not read the graph's tables", "GRANT SELECT ON graph, graph_page TO USER, in its schema"
    )


def _settings(db: psycopg.Connection[Any]) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in db.execute("SELECT key, value FROM setting")}


def _create_tables(db: psycopg.Connection[Any], settings: Mapping[str, Any], where: str) -> None:
    migrate(db, 0, where)
    stored = {**settings, "vectors": "", "analyser": Analyser(language=settings["language"]).digest}
    row = db.execute("SELECT gen_random_uuid()::text").fetchone()
    stored["store"] = row[0] if row else ""
    if settings["dim"]:
        stored["vectors"] = "vector_1"
        create_vector_table(db, "vector_1", settings["dim"])
    for key, value in stored.items():
        db.execute("INSERT INTO setting VALUES (%s, %s)", (key, json.dumps(value)))
    db.execute("INSERT INTO version VALUES (0, 'made', 0, 0)")
