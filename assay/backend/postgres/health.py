"""Checks of a PostgreSQL store: what serves it, and whether its graph is in step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.backend.contract import Check
from assay.backend.shared.limits import COMPACT_FROM

if TYPE_CHECKING:
    from assay.backend.postgres.backend import PostgresBackend


def health(backend: PostgresBackend) -> list[Check]:
    """Every check of the server, in order."""
    return [_server(backend), _graph(backend)]


def _server(backend: PostgresBackend) -> Check:
    """What serves, and whether a commit is as durable as we promise."""
    facts = backend.server()
    text = f"PostgreSQL {facts.version}; pgvector {facts.pgvector or 'not switched on'}; words by {facts.words}"
    if facts.lazy:
        unsafe = ", ".join(facts.lazy)
        return Check(
            "server", "warn", f"{text}; a crash of its machine may lose commits: {unsafe}", "switch it on there"
        )
    return Check("server", "ok", text)


def _graph(backend: PostgresBackend) -> Check:
    """Is there a graph for pipelines that walk one, and is it in step?"""
    if backend.store.no_graph:
        what, _, cure = backend.store.no_graph.partition("; cure: ")
        return Check("graph", "warn", f"the graph leg is skipped: {what}", cure)
    text = backend.graph_said()
    if backend.graph_behind >= COMPACT_FROM:
        return Check("graph", "warn", text, "assay optimize")
    return Check("graph", "ok", text)
