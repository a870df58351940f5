"""Translates psycopg's errors to StoreErrors with a cure; one table maps the SQLSTATEs that users can meet."""

from __future__ import annotations

from collections.abc import Mapping

from assay.errors import StoreBusy, StoreError


class Disconnected(StoreError):
    """The connection was lost; what was not acknowledged was not written, and the next call reconnects."""


_CHECK_SERVER = "check that the server runs and that host and port are right: pg_isready -h HOST -p PORT"
_RETRY = "nothing of this step was written; the next call connects anew"

_MESSAGES: Mapping[str, tuple[type[StoreError], str, str]] = {
    "28P01": (StoreError, "the password was refused", "put the right one into ~/.pgpass or PGPASSWORD"),
    "28000": (StoreError, "the user was refused", "check the user in the address and the server's pg_hba.conf"),
    "3D000": (StoreError, "there is no such database", "make it: createdb -h HOST -p PORT NAME"),
    "42501": (StoreError, "the user lacks a right", "grant it: GRANT CREATE, CONNECT ON DATABASE NAME TO USER"),
    "53100": (StoreError, "the server's disk is full; nothing of this step was written", "free some space there"),
    "53300": (StoreError, "the server has no connection left", "raise max_connections, or try again later"),
    "55P03": (StoreBusy, "another process is writing", "try again when it has finished"),
    "40P01": (StoreBusy, "another process was in the way; nothing was written", "try again"),
    "40001": (StoreBusy, "another process was in the way; nothing was written", "try again"),
    "57014": (
        StoreError,
        "the server cut a statement short; nothing was written",
        "raise statement_timeout for this user: ALTER ROLE NAME SET statement_timeout = '5min'",
    ),
    "25006": (StoreError, "the server is read-only (a standby?)", "write to the primary server"),
    "57P01": (Disconnected, "the server shut the connection", _RETRY),
    "57P02": (Disconnected, "the server crashed and restarts", _RETRY),
    "57P03": (Disconnected, "the server is starting or stopping", "try again in a moment"),
    "42P01": (StoreError, "a table is gone: the store was removed or moved meanwhile", "open it again"),
    "22P05": (StoreError, "a text holds a character that the server cannot hold", "replace it, e.g. by U+FFFD"),
    "22021": (StoreError, "a text holds a character that the server cannot hold", "replace it, e.g. by U+FFFD"),
}
_CONNECTION_CLASSES = ("08", "25", "57")
"""SQLSTATE classes of a lost connection: refused, idle for too long, terminated."""
_CONNECT_STATES: tuple[tuple[str, str], ...] = (
    # A failed connect carries no SQLSTATE, only libpq's message.
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ('role "', "28000"),
    ("pg_hba.conf", "28000"),
    ("does not exist", "3D000"),
    ("too many clients", "53300"),
    ("starting up", "57P03"),
    ("shutting down", "57P03"),
)


def translate_error(error: Exception, where: str) -> StoreError:
    """The StoreError for what psycopg or its pool raised about the store at an address (without its password)."""
    import psycopg
    from psycopg_pool import PoolTimeout

    if isinstance(error, PoolTimeout):  # the server answers, or its refusal would be raised instead
        return StoreBusy(f"{where}: every connection of this process is in use", "try again, or from fewer threads")
    state = getattr(error, "sqlstate", None) or next((s for text, s in _CONNECT_STATES if text in str(error)), "")
    line = str(error).strip().partition("\n")[0]
    if state in _MESSAGES:
        kind, what, cure = _MESSAGES[state]
        return kind(f"{where}: {what} ({line})", cure)
    if isinstance(error, UnicodeEncodeError):
        return StoreError("a name or text holds lone surrogates, which no store can hold", "replace them by U+FFFD")
    if isinstance(error, psycopg.DataError) and "NUL" in str(error):
        return StoreError(f"{where}: PostgreSQL cannot hold a NUL in a text", "replace it, e.g. by U+FFFD")
    if isinstance(error, psycopg.ProgrammingError) and not state:  # libpq, before it asked any server
        return StoreError(f"{where}: the address is not understood ({line})", "see docs/postgres.md, Setting it up")
    if isinstance(error, psycopg.OperationalError) and (not state or state[:2] in _CONNECTION_CLASSES):
        lost = "closed" in line or "terminat" in line or "consuming input failed" in line or "lost" in line
        if lost:
            return Disconnected(f"{where}: the connection was lost ({line})", _RETRY)
        return Disconnected(f"{where} cannot be reached: {line}", _CHECK_SERVER)
    return StoreError(f"{where}: {line}", "run: assay doctor")
