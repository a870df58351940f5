"""Connections to one schema of one database, kept in a pool; a lost one is replaced, and said in words."""

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

from assay.backend.postgres.db_errors import Disconnected, in_words
from assay.errors import ConfigError, MissingExtra, StoreError

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

SCHEMA = "assay"
"""The schema of a store whose address names none."""
MOST = 8
"""Connections that one process holds at most."""
LOCK_PATIENCE = 30
"""Seconds to wait for another writer."""
_PATIENCE = 10.0  # seconds to wait for a connection
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
    """What a person would type, without the password: this is what messages and reports say."""

    @staticmethod
    def parse(text: str) -> Address:
        found = _ADDRESS.fullmatch(text)
        if found is None:  # not repeated here: it may hold a password
            raise ConfigError(
                "this is no address of a PostgreSQL database",
                "write postgres://user@host:5432/database; put a password into ~/.pgpass, or spell its / ? # % as "
                "%2F %3F %23 %25",
            )
        asked = parse_qsl(found["rest"] or "", keep_blank_values=True)
        schema = next((value for key, value in asked if key == "schema"), SCHEMA)
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
            raise ConfigError(f"{schema!r} cannot be a schema's name", "use small letters, digits and _")
        user = _spelt(found["user"] or "")
        secret = _spelt(found["secret"][1:]) if found["secret"] else ""
        place = f"{found['hosts']}/{_spelt((found['database'] or '/')[1:])}"

        def asking(*left_out: str) -> str:
            said = urlencode([pair for pair in asked if pair[0] not in left_out], quote_via=quote)
            return f"?{said}" if said else ""

        who = f"{user}{secret and f':{secret}'}{(user or secret) and '@'}"
        hidden = ("password", "sslpassword", *(["schema"] if schema == SCHEMA else []))
        return Address(
            url=f"postgresql://{who}{place}{asking('schema')}",
            schema=schema,
            shown=f"postgres://{user and f'{user}@'}{place}{asking(*hidden)}",
        )

    def __str__(self) -> str:
        return self.shown


def _spelt(part: str) -> str:
    """A part of an address as libpq reads it, whether it was spelt with % or plainly."""
    return quote(unquote(part), safe="")


class PostgresPool:
    """A pool that opens when first asked. Safe for threads; a forked child gets a pool of its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Any] | None = None
        self._process = 0

    def _opened(self) -> ConnectionPool[Any]:
        with self._lock:
            if self._pool is None or self._process != os.getpid():
                self._pool = _pool(self.address, self._prepare)
                self._process = os.getpid()
            return self._pool

    def _prepare(self, db: psycopg.Connection[Any]) -> None:
        """Every connection sees our schema and the one in which pgvector lives, nobody else's tables."""
        from psycopg import sql

        from assay.backend.postgres.vector_type import register

        db.execute("SET client_encoding TO 'UTF8'")  # whatever PGCLIENTENCODING says
        row = db.execute(
            "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'"
        ).fetchone()
        names = [self.address.schema, *([row[0]] if row else [])]
        db.execute(sql.SQL("SET search_path TO {}").format(sql.SQL(", ").join(map(sql.Identifier, names))))
        db.execute("SET jit TO off")  # compiling takes longer than any of our statements
        db.execute(f"SET lock_timeout TO '{LOCK_PATIENCE}s'")
        if row:
            register(db)
        db.commit()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """One transaction; leaving the block commits, an exception undoes all of it."""
        import psycopg

        pool = self._opened()
        try:
            with pool.connection(timeout=_PATIENCE) as db:
                yield db
        except (psycopg.Error, UnicodeEncodeError) as error:  # a pool's complaints are OperationalErrors
            raise self._told(error) from error

    @contextlib.contextmanager
    def directly(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction over a connection of its own, which ends with it."""
        db = _connected(self.address)
        import psycopg

        try:
            self._prepare(db)
            with db:
                yield db
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise in_words(error, str(self.address)) from error
        finally:
            db.close()

    def reading(self, work: Callable[[psycopg.Connection[Any]], _T]) -> _T:
        """Work that only reads: when its connection turns out to be dead, it is done again over a new one."""
        try:
            with self.transaction() as db:
                return work(db)
        except Disconnected:
            _connected(self.address).close()  # a server that is away says so now, not after the pool's patience
            with self.transaction() as db:
                return work(db)

    @contextlib.contextmanager
    def alone(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection outside any transaction, as CREATE INDEX CONCURRENTLY and VACUUM want it."""
        with self.transaction() as db:
            db.autocommit = True
            try:
                yield db
            finally:
                if not db.closed:
                    db.autocommit = False

    def _told(self, error: Exception) -> StoreError:
        """In words; and every other idle connection is looked at, for a server that restarts cuts them all."""
        import psycopg

        found = self._last_refusal(error)
        if isinstance(error, psycopg.OperationalError) and self._pool is not None:
            with contextlib.suppress(Exception):
                self._pool.check()
        return in_words(found, str(self.address))

    def _last_refusal(self, error: Exception) -> Exception:
        """A pool that gave up only says so; why, the server says to one who asks directly."""
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


def once(address: Address) -> contextlib.AbstractContextManager[psycopg.Connection[Any]]:
    """One connection for one transaction, without a pool: to look whether a store is there, or to make it."""
    connections = PostgresPool(address)
    return connections.directly()


def _connected(address: Address) -> psycopg.Connection[Any]:
    try:
        import psycopg
        import psycopg_pool  # noqa: F401 - asked for here, so that its absence is said at once
    except ImportError as error:
        raise MissingExtra("a PostgreSQL store", "postgres") from error
    try:
        return psycopg.connect(address.url, connect_timeout=int(_PATIENCE))
    except psycopg.Error as error:
        raise in_words(error, str(address)) from error


def _pool(address: Address, prepare: Callable[[psycopg.Connection[Any]], None]) -> ConnectionPool[Any]:
    _connected(address).close()  # not left to the pool: a refusal is to be said at once and in words
    from psycopg_pool import ConnectionPool

    log = logging.getLogger("psycopg.pool")
    if not log.handlers:  # what it complains about we say ourselves; whoever keeps a log still gets it
        log.addHandler(logging.NullHandler())
    return ConnectionPool(
        address.url,
        min_size=1,
        max_size=MOST,
        configure=prepare,
        open=True,
        timeout=_PATIENCE,
        reconnect_timeout=_PATIENCE,
        name=f"assay-{address.schema}",
    )
