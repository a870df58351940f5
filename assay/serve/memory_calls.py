"""The calls of a memory as servers offer them: checked arguments in, plain data out, within the caller's scopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import QueryError
from assay.serve.errors import hide_paths
from assay.serve.mcp import arguments

if TYPE_CHECKING:  # the engine is loaded at the first call
    from assay.memory.service import MemoryService


class ScopeAccess(Protocol):
    """Turns the scope that a call names, or none, into scopes that its caller reaches; an error for any other."""

    def to_write(self, scope: str | None) -> str: ...
    def to_read(self, scope: str | None) -> tuple[str, ...]: ...
    def explain_others(self, scope: str | None) -> str:
        """How to look in other scopes than those that `to_read` gives; "" where there are none."""


def store_memory(memory: MemoryService, args: arguments.StoreArguments, scopes: ScopeAccess) -> Mapping[str, Any]:
    """Store one text."""
    stored = memory.store(
        args.text,
        scope=scopes.to_write(args.scope),
        category=args.category,
        importance=args.importance,
        tags=args.tags,
        created=args.created,
        expires=args.expires,
        supersedes=args.supersedes or None,
        on_duplicate=args.on_duplicate,
    )
    return stored.to_json()


def recall_memories(memory: MemoryService, args: arguments.RecallArguments, scopes: ScopeAccess) -> Mapping[str, Any]:
    """The memories that answer a question."""
    recalled = memory.recall(
        args.query,
        scope=scopes.to_read(args.scope),
        k=args.limit,
        at=args.at,
        category=args.category,
        tags=args.tags,
        since=args.since,
        until=args.until,
        adaptive=args.adaptive,
        budget=args.budget,
    )
    return {**recalled.to_json(), "silence": recalled.explain_silence(scopes.explain_others(args.scope)) or None}


def forget_memories(memory: MemoryService, args: arguments.ForgetArguments, scopes: ScopeAccess) -> Mapping[str, Any]:
    """Forget by id, or by query in two calls."""
    if (args.id is None) == (args.query is None):
        raise QueryError("give either id or query", "an id is in every result of a recall")
    outcome = memory.forget(
        args.id,
        scope=scopes.to_read(args.scope),
        query=args.query,
        confirm=args.confirm,
        k=args.limit,
        purge=args.purge,
    ).to_json()
    # a purge names the files it cleaned; clients do not see the server's paths
    places = {name: [hide_paths(place) for place in outcome[name]] for name in ("erased", "unreached")}
    return {**outcome, **places}


def update_memory(memory: MemoryService, args: arguments.UpdateArguments, scopes: ScopeAccess) -> Mapping[str, Any]:
    """Change what is given of a memory."""
    changed = memory.update(
        args.id,
        scope=scopes.to_read(args.scope),
        text=args.text,
        category=args.category,
        importance=args.importance,
        tags=args.tags,
        expires=args.expires,
        never_expires=args.never_expires,
    )
    return changed.to_json()


def list_memories(memory: MemoryService, args: arguments.ListArguments, scopes: ScopeAccess) -> Mapping[str, Any]:
    """A page of memories, newest first."""
    entries = memory.list(
        scope=scopes.to_read(args.scope),
        category=args.category,
        tags=args.tags,
        since=args.since,
        until=args.until,
        at=args.at,
        limit=args.limit + 1,
        offset=args.offset,
        everything=args.everything,
    )
    page = [entry.to_json() for entry in entries[: args.limit]]
    return {"memories": page, "offset": args.offset, "more": len(entries) > args.limit}


def count_memories(memory: MemoryService, args: arguments.StatsArguments, scopes: ScopeAccess) -> Mapping[str, Any]:
    """Counts over scopes."""
    return memory.stats(scopes.to_read(args.scope), at=args.at).to_json()


def explain_recall(memory: MemoryService, args: arguments.ExplainArguments, scopes: ScopeAccess) -> Mapping[str, Any]:
    """Why a memory has its place, or why it is missing."""
    explained = memory.explain(args.query, args.id, scope=scopes.to_read(args.scope), k=args.limit, at=args.at)
    return explained.to_json()
