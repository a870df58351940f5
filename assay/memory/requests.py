"""Reads what a caller wants to store or change: the arguments of `store` and `update`, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import AssayError, QueryError, nearest
from assay.ingest.dates import abbreviate
from assay.memory.entries import check_importance, check_label, check_tags, new_entry, resolve_moment
from assay.memory.remember import StoreRequest
from assay.memory.safety import SecretPolicy, StoreLimits, check_labels, check_new_text
from assay.memory.types import MemoryEntry

DEFAULTS: Mapping[str, Any] = {
    "text": None,
    "scope": "global",
    "category": "fact",
    "importance": 0.7,
    "tags": (),
    "created": None,
    "expires": None,
    "supersedes": None,
    "on_duplicate": "skip",
}


def make_request(arguments: Mapping[str, Any], now: float) -> StoreRequest:
    """Check the arguments of one store; those that are absent have their defaults."""
    for name in arguments:
        if name not in DEFAULTS:
            raise QueryError(f"a memory has no {abbreviate(name)}", nearest(str(name), DEFAULTS))
    full = {**DEFAULTS, **arguments}
    entry = new_entry(
        full["text"],
        full["scope"],
        full["category"],
        full["importance"],
        full["tags"],
        resolve_moment(full["created"], now, "created"),
        None if full["expires"] is None else resolve_moment(full["expires"], now, "expires"),
        now,
    )
    named = full["supersedes"]
    superseded = () if named is None else (named,) if isinstance(named, str) else tuple(named)
    return StoreRequest(entry, superseded, full["on_duplicate"])


def read_requests(
    memories: Iterable[str | Mapping[str, Any]], common: Mapping[str, Any], now: float
) -> Sequence[StoreRequest]:
    """Check many memories, each a text or a mapping of arguments; an error says which one is wrong, counted from 1."""
    if isinstance(memories, str | Mapping):
        raise QueryError("store_many takes many memories, and got one", "give a list, or use store")
    requests = []
    for number, given in enumerate(memories, 1):
        try:
            arguments = given if isinstance(given, Mapping) else {"text": given}
            requests.append(make_request({**common, **arguments}, now))
        except AssayError as error:
            raise type(error)(f"memory {number}: {error.message}", error.cure) from None
    return requests


def change_entry(
    entry: MemoryEntry, changes: Mapping[str, Any], policy: SecretPolicy, limits: StoreLimits, now: float
) -> MemoryEntry:
    """A memory with some of its facts changed; `expires` None is never."""
    checked: dict[str, Any] = dict(changes)
    if "text" in changes:
        checked["text"] = check_new_text(changes["text"], policy, limits)
    if "category" in changes:
        checked["category"] = check_label("category", changes["category"])
    if "importance" in changes:
        checked["importance"] = check_importance(changes["importance"])
    if "tags" in changes:
        checked["tags"] = check_tags(changes["tags"])
    if changes.get("expires") is not None:
        checked["expires"] = resolve_moment(changes["expires"], now, "expires")
    check_labels((checked.get("category", ""), *checked.get("tags", ())), policy)
    return replace(entry, **checked)
