"""A pool of connections to one schema of one database; lost connections are replaced, errors are translated."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode

from assay.backend.postgres.db_errors import Disconnected, translate_error
from assay.errors import ConfigError, MissingExtra, StoreError

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

SCHEMA = "assay"
"""The schema of a store whose address names none."""
MAX_CONNECTIONS = 8
"""Connections that one process holds at most."""
LOCK_TIMEOUT = 30
"""Seconds to wait for another writer."""
_TIMEOUT = 10.0  # seconds to wait for a connection
_T = TypeVar("_T")
_HOST = r"(?:\[[^][@/?#]*\]|[^][@/?#:,]*)(?::\d*)?"
_ADDRESS = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#]*)(?P<secret>:[^/?#]*)?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)(?P<database>/[^@/?#]*)?(?:\?(?P<rest>[^@#]*))?"
)


@dataclass(frozen=True, slots=True)
class Address:
    """postgres://user[:password]@host[:port]/database[?schema=NAME&…]; what libpq knows may follow, e.g. sslmode.

    Several hosts are separated by commas; a socket's folder is named behind: postgres:///database?host=/run/postgresql
    """

    url: str
    schema: str
    shown: str
    """The address without its password, for messages and reports."""
    index: tuple[tuple[str, str], ...] = ()
    """The options `index` and `index_…`, which name an index outside of the database (`backend/qdrant`)."""

    @staticmethod
    def parse(text: str) -> Address:
        match = _ADDRESS.fullmatch(text)
        if match is None:  # not repeated here: it may hold a password
            raise ConfigError(
                "this is no address of a PostgreSQL database",
                "write postgres://user@host:5432/database; put a password into ~/.pgpass, or spell its / ? # % as "
                "%2F %3F %23 %25",
            )
        options = parse_qsl(match["rest"] or "", keep_blank_values=True)
        schema = next((value for key, value in options if key == "schema"), SCHEMA)
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
            raise ConfigError(f"{schema!r} cannot be a schema's name", "use small letters, digits and _")
        user = _quote_part(match["user"] or "")
        secret = _quote_part(match["secret"][1:]) if match["secret"] else ""
        place = f"{match['hosts']}/{_quote_part((match['database'] or '/')[1:])}"

        index = tuple(pair for pair in options if pair[0].split("_")[0] == "index")
        indexed = tuple(key for key, _ in index)

        def query_string(*left_out: str) -> str:
            text = urlencode([pair for pair in options if pair[0] not in left_out], quote_via=quote, safe=":/,")
            return f"?{text}" if text else ""

        who = f"{user}{secret and f':{secret}'}{(user or secret) and '@'}"
        hidden = ("password", "sslpassword", "index_key", *(["schema"] if schema == SCHEMA else []))
        return Address(
            url=f"postgresql://{who}{place}{query_string('schema', *indexed)}",
            schema=schema,
            shown=f"postgres://{user and f'{user}@'}{place}{query_string(*hidden)}",
            index=index,
        )

    def __str__(self) -> str:
        return self.shown


def _quote_part(part: str) -> str:
    """A part of an address as libpq reads it, whether it was percent-encoded or not."""
    return quote(unquote(part), safe="")


class PostgresPool:
    """A pool that opens when first used. Safe for threads; a forked child gets a pool of its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Any] | None = None
        self._process = 0

    def _get_pool(self) -> ConnectionPool[Any]:
        with self._lock:
            if self._pool is None or self._process != os.getpid():
                self._pool = _open_pool(self.address, self._prepare)
                self._process = os.getpid()
            return self._pool

    def _prepare(self, db: psycopg.Connection[Any]) -> None:
        """Set a new connection up: it sees our schema and that of pgvector, no other tables."""
        from psycopg import sql

        from assay.backend.postgres.vector_type import register

        db.execute("SET client_encoding TO 'UTF8'")  # whatever PGCLIENTENCODING says
        row = db.execute(
            "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'"
        ).fetchone()
        names = [self.address.schema, *([row[0]] if row else [])]
        db.execute(sql.SQL("SET search_path TO {}").format(sql.SQL(", ").join(map(sql.Identifier, names))))
        db.execute("SET jit TO off")  # compiling takes longer than any of our statements
        db.execute(f"SET lock_timeout TO '{LOCK_TIMEOUT}s'")
        if row:
            register(db)
        db.commit()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """One transaction; leaving the block commits, an exception rolls it back."""
        import psycopg

        pool = self._get_pool()
        try:
            with pool.connection(timeout=_TIMEOUT) as db:
                yield db
        except (psycopg.Error, UnicodeEncodeError) as error:  # a pool's complaints are OperationalErrors
            raise self._translate(error) from error

    @contextlib.contextmanager
    def single_transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction on a connection of its own, which is closed at the end."""
        db = _connect(self.address)
        import psycopg

        try:
            self._prepare(db)
            with db:
                yield db
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translate_error(error, str(self.address)) from error
        finally:
            db.close()

    def reading(self, work: Callable[[psycopg.Connection[Any]], _T]) -> _T:
        """Run work that only reads; if its connection is dead, run it again on a new one."""
        try:
            with self.transaction() as db:
                return work(db)
        except Disconnected:
            _connect(self.address).close()  # a server that is down is noticed now, not after the pool's timeout
            with self.transaction() as db:
                return work(db)

    @contextlib.contextmanager
    def autocommit(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection outside any transaction, which CREATE INDEX CONCURRENTLY and VACUUM need."""
        with self.transaction() as db:
            db.autocommit = True
            try:
                yield db
            finally:
                if not db.closed:
                    db.autocommit = False

    def _translate(self, error: Exception) -> StoreError:
        """The StoreError for a driver's error. Checks all idle connections: a server that restarts cuts every one."""
        import psycopg

        cause = self._last_refusal(error)
        if isinstance(error, psycopg.OperationalError) and self._pool is not None:
            with contextlib.suppress(Exception):
                self._pool.check()
        return translate_error(cause, str(self.address))

    def _last_refusal(self, error: Exception) -> Exception:
        """The server's own error where the pool only reports a timeout; a direct connection gets it."""
        import psycopg
        from psycopg_pool import PoolClosed, PoolTimeout

        if not isinstance(error, PoolClosed | PoolTimeout):
            return error
        try:
            psycopg.connect(self.address.url, connect_timeout=5).close()
        except psycopg.Error as refused:
            return refused
        return error

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.close()


def connect_once(address: Address) -> contextlib.AbstractContextManager[psycopg.Connection[Any]]:
    """One connection for one transaction, without a pool: to check that a store exists, or to create it."""
    connections = PostgresPool(address)
    return connections.single_transaction()


def _connect(address: Address) -> psycopg.Connection[Any]:
    try:
        import psycopg
        import psycopg_pool  # noqa: F401 - imported here, so that its absence is reported at once
    except ImportError as error:
        raise MissingExtra("a PostgreSQL store", "postgres") from error
    try:
        return psycopg.connect(address.url, connect_timeout=int(_TIMEOUT))
    except psycopg.Error as error:
        raise translate_error(error, str(address)) from error


def _open_pool(address: Address, prepare: Callable[[psycopg.Connection[Any]], None]) -> ConnectionPool[Any]:
    _connect(address).close()  # not left to the pool: a refusal is reported at once, with its reason
    from psycopg_pool import ConnectionPool

    log = logging.getLogger("psycopg.pool")
    if not log.handlers:  # we report its errors ourselves; a configured log still gets them
        log.addHandler(logging.NullHandler())
    return ConnectionPool(
        address.url,
        min_size=1,
        max_size=MAX_CONNECTIONS,
        configure=prepare,
        open=True,
        timeout=_TIMEOUT,
        reconnect_timeout=_TIMEOUT,
        name=f"assay-{address.schema}",
    )
