"""Checks a PostgreSQL store: the server's features and durability, and whether its graph is current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.backend.contract import Check
from assay.backend.postgres import textsearch
from assay.backend.shared.limits import COMPACT_FROM

if TYPE_CHECKING:
    import psycopg

    from assay.backend.postgres.backend import PostgresBackend


def health(backend: PostgresBackend) -> list[Check]:
    """Every check of the server, in order."""
    return [_server(backend), _graph(backend)]


def _server(backend: PostgresBackend) -> Check:
    """The server's version and extensions, and whether commits are durable."""
    facts = backend.server()
    text = f"PostgreSQL {facts.version}; pgvector {facts.pgvector or 'not switched on'}; words by {facts.words}"
    if facts.lazy:
        unsafe = ", ".join(facts.lazy)
        return Check(
            "server", "warn", f"{text}; a crash of its machine may lose commits: {unsafe}", "switch it on there"
        )
    return Check("server", "ok", text)


def _graph(backend: PostgresBackend) -> Check:
    """Whether there is a graph for the graph leg, and how far behind it is."""
    if backend.store.no_graph:
        return Check(
            "graph", "warn", f"the graph leg is skipped: {backend.store.no_graph.text}", backend.store.no_graph.cure
        )
    text = backend.describe_graph()
    if backend.changes_since_graph >= COMPACT_FROM:
        return Check("graph", "warn", text, "assay optimize")
    return Check("graph", "ok", text)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """`lazy` lists settings under which a crash of the machine may lose acknowledged commits."""

    version: str
    pgvector: str
    words: str
    lazy: tuple[str, ...]


def examine_server(db: psycopg.Connection[Any]) -> ServerInfo:
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
    """The analyser and the index that serve lexical search."""
    row = db.execute(f"SELECT {textsearch.PRESENT}").fetchone()
    if row and row[0]:
        return f"Assay's analyser, GIN proposing, pg_textsearch {textsearch_version} for frequent terms"
    waiting = (
        " (pg_textsearch is switched on, but has no index: assay optimize makes one, if this release of it can)"
        if textsearch_version
        else ""
    )
    return f"Assay's analyser, GIN proposing{waiting}"
