"""A store's address says which backend keeps it:

    ./kb, anything else             a folder              local
    notes.sqlite, .sqlite3, .db     one file              sqlite     (or sqlite:PATH)
    books.lance                     Lance tables          lance      (or lance:PATH)
    postgres://user@host/database   a server's database   postgres   (or postgresql://)

Third parties name theirs through the entry point group `assay.backends` (name = scheme, value = a `BackendFactory`).
An existing folder store keeps its kind whatever its name ends with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

from assay.backend.contract import BackendFactory, StoreBackend
from assay.errors import ConfigError, nearest
from assay.store.sqlite import SqliteStore

BACKENDS: Mapping[str, str] = {
    "local": "assay.backend.local.factory:FACTORY",
    "sqlite": "assay.backend.sqlite.backend:FACTORY",
    "lance": "assay.backend.lance.backend:FACTORY",
    "postgres": "assay.backend.postgres.factory:FACTORY",
}
"""Scheme → module:attribute of its Place."""
ALIASES: Mapping[str, str] = {"postgresql": "postgres", "folder": "local", "file": "local"}
SUFFIXES: Mapping[str, str] = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".lance": "lance"}
GROUP = "assay.backends"
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+_-]+):(?P<rest>.*)", re.DOTALL)
_BY_URL = frozenset({"postgres"})
"""Backends that take the whole address, scheme and all."""


def parsed(address: str | Path) -> tuple[str, str]:
    """(scheme, what its Place takes); ConfigError for a scheme nobody knows."""
    said = str(address)
    if isinstance(address, str) and (found := _SCHEME.fullmatch(said)) and not Path(said).exists():
        asked = found["scheme"].lower()
        scheme = ALIASES.get(asked, asked)
        if scheme not in BACKENDS and scheme not in _others():
            known = {*BACKENDS, *_others(), *(alias for alias, name in ALIASES.items() if name in BACKENDS)}
            raise ConfigError(
                f"no backend keeps stores at {asked}:… ({hidden(said)})",
                f"{nearest(asked, known)}; a folder is named by its path: ./{asked}:…",
            )
        return scheme, said if scheme in _BY_URL or scheme in _others() else found["rest"]
    suffix = Path(said).suffix.lower()
    if suffix in SUFFIXES and SUFFIXES[suffix] in BACKENDS and not SqliteStore.exists(Path(said)):
        return SUFFIXES[suffix], said
    return "local", said


def place_of(address: str | Path) -> tuple[BackendFactory, str]:
    """The place that keeps an address, and the address as it takes it."""
    scheme, rest = parsed(address)
    if scheme in BACKENDS:
        module, _, attribute = BACKENDS[scheme].partition(":")
        return cast(BackendFactory, getattr(import_module(module), attribute)), rest
    return cast(BackendFactory, _others()[scheme].load()), rest


def open_backend(address: str | Path) -> StoreBackend:
    """The store at an address; StoreError when there is none."""
    place, rest = place_of(address)
    return place.open(rest)


def create_backend(address: str | Path, settings: Mapping[str, Any]) -> StoreBackend:
    """A new store; `settings` are embedder, model, dim, language and profile."""
    place, rest = place_of(address)
    return place.create(rest, settings)


def hidden(address: str) -> str:
    """An address without the password it may hold: for messages."""
    said = re.sub(r"(://[^:/@]*):.*@", r"\1:…@", address)  # up to the last @: a password may hold any character
    return re.sub(r"([?&](?:ssl)?password=)[^&]*", r"\1…", said)


def _others() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=GROUP)}
