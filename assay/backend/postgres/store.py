"""The record of truth in a PostgreSQL schema: the same verbs as the local store, the server's own transactions.

A commit that returned is in the server's write-ahead log, on its disk: it survives a killed server.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assay.backend.postgres import statistics as tallies
from assay.backend.postgres.connections import Address, PostgresPool, once
from assay.backend.postgres.schema import (
    GRAPH_FROM,
    MIGRATIONS,
    check_server,
    check_vectors,
    lock,
    migrate,
    need_pgvector,
    vector_table,
)
from assay.backend.postgres.staging import PostgresStaging
from assay.backend.postgres.vector_type import unpacked
from assay.backend.postgres.writer import PostgresWriter
from assay.errors import StoreError
from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.rows import ChunkRow, FileFacts
from assay.store.validation import embedded_anew, forgotten, version_of
from assay.text.analyse import Analyser
from assay.types import Vectors

if TYPE_CHECKING:
    import psycopg

SETTINGS = frozenset({"format", "store", "embedder", "model", "dim", "language", "profile", "vectors", "analyser"})
"""What every store remembers of how it was made."""
_T = TypeVar("_T")
_ON_DISK = """
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'
"""


class PostgresStore(PostgresStaging):
    """Implements `store.record.Record`. Safe for threads and for any number of processes and machines."""

    place: Path | None = None
    scratch: Path | None = None

    def __init__(self, connections: PostgresPool, settings: dict[str, Any], readonly: bool, no_graph: str = "") -> None:
        self._connections = connections
        self.readonly = readonly
        self.no_graph = no_graph
        """Why this store keeps no graph here, with the cure behind "; cure: "; "" when it does."""
        self.settings = settings
        self.analyser = Analyser(language=settings["language"])
        self._held = threading.local()
        # Threads of one process wait here for each other, and not with a connection in their hands: whoever has the
        # turn, or writes, may need another one, and the pool has only so many.
        self._turn, self._writing = threading.RLock(), threading.RLock()

    # -- making and opening

    @staticmethod
    def exists(address: Address) -> bool:
        with once(address) as db:
            return _is_store(db, address.schema)

    @staticmethod
    def create(address: Address, settings: Mapping[str, Any]) -> PostgresStore:
        """A new, empty store in its schema; one that another process made meanwhile is opened instead."""
        from psycopg import sql

        with once(address) as db:
            check_server(db, str(address))
            if settings["dim"]:
                need_pgvector(db, str(address))
        with once(address) as db:  # another: this one knows pgvector's types
            db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(address.schema)))
            lock(db)
            if not _is_store(db, address.schema):
                _make(db, settings, str(address))
        return PostgresStore.open(address)

    @staticmethod
    def open(address: Address) -> PostgresStore:
        """An existing store; tables of an older format become ours, of a newer one are refused."""
        with once(address) as db:
            if not _is_store(db, address.schema):
                raise StoreError(f"there is no store at {address}", f"make one: assay add ./my-docs --store {address}")
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
        """The next call connects anew."""
        self._connections.close()

    def close(self) -> None:
        self._connections.close()

    # -- reading

    def read(self, work: Callable[[psycopg.Connection[Any]], _T]) -> _T:
        """Do some reading; a connection that turns out to be dead is replaced, once."""
        held = getattr(self._held, "db", None)
        return self._connections.reading(work) if held is None else work(held)

    def _all(self, statement: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.read(lambda db: db.execute(statement, given).fetchall())

    def alone(self) -> contextlib.AbstractContextManager[psycopg.Connection[Any]]:
        """A connection outside any transaction, for the upkeep of indexes."""
        return self._connections.alone()

    def aside(self) -> contextlib.AbstractContextManager[psycopg.Connection[Any]]:
        """A transaction that makes no version: for what follows from the record."""
        return self._connections.transaction()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one moment."""
        with self._connections.transaction() as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._held.db = db
            try:
                yield
            finally:
                self._held.db = None

    def version(self) -> int:
        """The newest committed version."""
        return int(self._all("SELECT max(number) FROM version")[0][0])

    def oldest(self) -> int:
        """The oldest version that can still be read."""
        return int(self._all("SELECT min(number) FROM version")[0][0])

    def resolve(self, snapshot: str) -> int:
        """A version from its number (`12` or `v12`) or tag."""
        return version_of(snapshot, self.tags(), self.oldest(), self.version())

    def setting(self, key: str) -> Any:
        """A setting as it is now (`settings` is as it was when the store was opened, and as we changed it)."""
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
        """Rows in the order asked."""
        asked = [int(seq) for seq in seqs]
        rows = self._all(f"SELECT {tallies.COLUMNS} FROM chunk JOIN body USING (seq) WHERE seq = ANY(%s)", (asked,))
        found = {row[0]: tallies.as_row(row) for row in rows}
        try:
            return [found[seq] for seq in asked]
        except KeyError as error:
            raise forgotten(self.address) from error

    def vectors(self, seqs: Sequence[int], dim: int) -> Vectors:
        """Vectors in the order asked; zero rows where a chunk has none."""
        out = np.zeros((len(seqs), dim), np.float32)
        table = self.settings.get("vectors")
        place = {int(seq): i for i, seq in enumerate(seqs)}
        if table and place:
            statement = f"SELECT seq, vector_send(v) FROM {table} WHERE seq = ANY(%s)"
            for seq, raw in self.read(lambda db: db.execute(statement, (list(place),), binary=True).fetchall()):
                out[place[seq]] = unpacked(raw)
        return out

    def lacking_vectors(self) -> list[int]:
        """Live rows without a vector, oldest first."""
        table = self.settings.get("vectors")
        having = f"AND NOT EXISTS (SELECT 1 FROM {table} v WHERE v.seq = c.seq)" if table else ""
        return [row[0] for row in self._all(f"SELECT seq FROM chunk c WHERE died IS NULL {having} ORDER BY seq")]

    def files(self, source: str | None = None) -> dict[str, FileFacts]:
        rows = self._all(
            "SELECT origin, source, hash, size FROM file WHERE %s::text IS NULL OR source = %s ORDER BY origin",
            (source, source),
        )
        return {row[0]: FileFacts(*row) for row in rows}

    def sources(self) -> dict[str, str]:
        return dict(self._all("SELECT name, root FROM source ORDER BY name"))

    def live_in(self, origin: str) -> dict[str, tuple[int, bytes]]:
        """id → (seq, facts) of a file's live chunks."""
        rows = self._all("SELECT id, seq, facts FROM chunk WHERE origin = %s AND died IS NULL", (origin,))
        return {name: (seq, facts) for name, seq, facts in rows}

    # -- counting and looking back

    def tally(self) -> StoreCounts:
        return self.read(tallies.tally)

    def extents(self, prefix: str) -> Iterator[OriginExtent]:
        return iter(self.read(lambda db: tallies.extents(db, prefix)))

    def heads(self, origin: str) -> Iterator[ChunkHead]:
        return iter(self.read(lambda db: tallies.heads(db, origin)))

    def reach(self, target: str) -> tuple[int, int]:
        return self.read(lambda db: tallies.reach(db, target))

    def sizes(self) -> dict[str, int]:
        return self.read(tallies.sizes)

    def has_document(self, doc_id: str) -> bool:
        return bool(self._all("SELECT 1 FROM chunk WHERE doc_id = %s AND died IS NULL LIMIT 1", (doc_id,)))

    def states(self, beginning: str) -> list[StoreState]:
        return self.read(lambda db: tallies.states(db, beginning))

    def buried(self, beginning: str) -> Iterator[tuple[str, Any]]:
        return iter(self.read(lambda db: tallies.buried(db, beginning)))

    def damage(self, deep: bool) -> str:
        return self.read(lambda db: tallies.damage(db, deep))

    # -- writing

    @contextlib.contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait until nobody else, on any machine, holds this turn, and hold it."""
        with self._turn, self._connections.transaction() as db:
            db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"assay/{self.schema}/{name}",))
            yield

    @contextlib.contextmanager
    def write(self, note: str) -> Iterator[PostgresWriter]:
        """One transaction, one new version. Leaving the block commits; an exception undoes all of it."""
        if self.readonly:
            raise StoreError(f"{self.address} is read-only here", "connect as a user who may write, to the primary")
        with self._writing, self._connections.transaction() as db:
            lock(db)
            # A commit is acknowledged when it is on disk, whatever the server's default says.
            db.execute(_ON_DISK)
            analyser = self._checked(db)
            before = db.execute("SELECT number, chunks, length FROM version ORDER BY number DESC LIMIT 1").fetchone()
            assert before is not None  # version 0 is made with the store
            version, chunks, length = before[0] + 1, before[1], before[2]
            writer = PostgresWriter(db, version, self.settings["dim"], self.settings["vectors"], analyser)
            yield writer
            writer.flush()
            if writer.changed:
                whole = length + writer.length if writer.whole_length is None else writer.whole_length
                db.execute(
                    "INSERT INTO version VALUES (%s, %s, %s, %s)",
                    (version, note, chunks + writer.born - writer.died, whole),
                )
        self.settings.update(writer.settings)

    def _checked(self, db: psycopg.Connection[Any]) -> Analyser | None:
        """The analyser for what is written now; None where the store's words are another's. Vectors of two models never
        mix either: whoever opened the store before it was embedded anew must open it again."""
        found = _settings(db)
        if found["model"] != self.settings["model"]:
            raise embedded_anew(self.address)
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


def _no_graph(db: psycopg.Connection[Any], form: int) -> str:
    if form < GRAPH_FROM:
        return "its tables are of an older Assay, which kept no graph; cure: open it once as a user who may write"
    row = db.execute("SELECT has_table_privilege('graph', 'SELECT') AND has_table_privilege('graph_page', 'SELECT')")
    may = row.fetchone()
    if may and may[0]:
        return ""
    return "this user may not read the graph's tables; cure: GRANT SELECT ON graph, graph_page TO USER, in its schema"


def _settings(db: psycopg.Connection[Any]) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in db.execute("SELECT key, value FROM setting")}


def _make(db: psycopg.Connection[Any], settings: Mapping[str, Any], where: str) -> None:
    migrate(db, 0, where)
    said = {**settings, "vectors": "", "analyser": Analyser(language=settings["language"]).digest}
    row = db.execute("SELECT gen_random_uuid()::text").fetchone()
    said["store"] = row[0] if row else ""
    if settings["dim"]:
        said["vectors"] = "vector_1"
        vector_table(db, "vector_1", settings["dim"])
    for key, value in said.items():
        db.execute("INSERT INTO setting VALUES (%s, %s)", (key, json.dumps(value)))
    db.execute("INSERT INTO version VALUES (0, 'made', 0, 0)")
