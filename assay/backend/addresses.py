"""Maps the address of a store to its backend:

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
"""Scheme → module:attribute of its BackendFactory."""
ALIASES: Mapping[str, str] = {"postgresql": "postgres", "folder": "local", "file": "local"}
SUFFIXES: Mapping[str, str] = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".lance": "lance"}
ENTRY_POINT_GROUP = "assay.backends"
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+_-]+):(?P<rest>.*)", re.DOTALL)
_WHOLE_ADDRESS = frozenset({"postgres"})
"""Backends that take the whole address, scheme and all."""


def parse_address(address: str | Path) -> tuple[str, str]:
    """(scheme, the address as its factory takes it); ConfigError for an unknown scheme."""
    text = str(address)
    if isinstance(address, str) and (match := _SCHEME.fullmatch(text)) and not Path(text).exists():
        given = match["scheme"].lower()
        scheme = ALIASES.get(given, given)
        if scheme not in BACKENDS and scheme not in _plugin_backends():
            known = {*BACKENDS, *_plugin_backends(), *(alias for alias, name in ALIASES.items() if name in BACKENDS)}
            raise ConfigError(
                f"no backend keeps stores at {given}:… ({redact_password(text)})",
                f"{nearest(given, known)}; a folder is named by its path: ./{given}:…",
            )
        return scheme, text if scheme in _WHOLE_ADDRESS or scheme in _plugin_backends() else match["rest"]
    suffix = Path(text).suffix.lower()
    if suffix in SUFFIXES and SUFFIXES[suffix] in BACKENDS and not SqliteStore.exists(Path(text)):
        return SUFFIXES[suffix], text
    return "local", text


def resolve_factory(address: str | Path) -> tuple[BackendFactory, str]:
    """The factory of an address, and the address as it takes it."""
    scheme, rest = parse_address(address)
    if scheme in BACKENDS:
        module, _, attribute = BACKENDS[scheme].partition(":")
        return cast(BackendFactory, getattr(import_module(module), attribute)), rest
    return cast(BackendFactory, _plugin_backends()[scheme].load()), rest


def open_backend(address: str | Path) -> StoreBackend:
    """The store at an address; StoreError when there is none."""
    factory, rest = resolve_factory(address)
    return factory.open(rest)


def create_backend(address: str | Path, settings: Mapping[str, Any]) -> StoreBackend:
    """A new store; `settings` are embedder, model, dim, language, profile, and k1 and b unless 1.2 and 0.75."""
    factory, rest = resolve_factory(address)
    return factory.create(rest, settings)


def redact_password(address: str) -> str:
    """An address without its password, for messages."""
    redacted = re.sub(r"(://[^:/@]*):.*@", r"\1:…@", address)  # up to the last @: a password may hold any character
    return re.sub(r"([?&](?:ssl)?password=)[^&]*", r"\1…", redacted)


def _plugin_backends() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
