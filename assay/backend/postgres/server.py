"""What kind of server this is: its version, its extensions, and whether it waits for its disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.backend.postgres import textsearch

if TYPE_CHECKING:
    import psycopg


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """`lazy` names the settings under which a crash of the machine may lose what was acknowledged."""

    version: str
    pgvector: str
    words: str
    lazy: tuple[str, ...]


def examined(db: psycopg.Connection[Any]) -> ServerInfo:
    row = db.execute("SELECT current_setting('server_version'), current_setting('server_encoding')").fetchone()
    assert row is not None
    extensions = dict(db.execute("SELECT extname, extversion FROM pg_extension").fetchall())
    settings = db.execute(
        "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name"
    ).fetchall()
    return ServerInfo(
        version=row[0].partition(" ")[0],
        pgvector=extensions.get("vector", ""),
        words=_words(db, extensions.get("pg_textsearch", "")),
        lazy=tuple(f"{name[0]} = off" for name in settings),
    )


def _words(db: psycopg.Connection[Any], textsearch_version: str) -> str:
    """Whose analyser, and who proposes."""
    row = db.execute(f"SELECT {textsearch.PRESENT}").fetchone()
    if row and row[0]:
        return f"Assay's analyser, GIN proposing, pg_textsearch {textsearch_version} for frequent terms"
    waiting = (
        " (pg_textsearch is switched on, but has no index: assay optimize makes one, if this release of it can)"
        if textsearch_version
        else ""
    )
    return f"Assay's analyser, GIN proposing{waiting}"
