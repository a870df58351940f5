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
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+._-]+):(?P<rest>.*)", re.DOTALL)
_PLAIN_PATH = re.compile(r"/(?!/)|\.\.?(?:/|$)|~")
_CREDENTIALS = re.compile(r"://|:.*@|^\W*postgres(?:ql)?\W*//|password\s*=", re.IGNORECASE | re.DOTALL)
"""What a mistyped address of a server has: `postgres//…`, ` postgres://…`, `ada:secret@host`, `host=… password=…`,
`PGPASSWORD=…`."""
_WHOLE_ADDRESS = frozenset({"postgres"})
"""Backends that take the whole address, scheme and all."""


def parse_address(address: str | Path) -> tuple[str, str]:
    """(scheme, the address as its factory takes it); ConfigError for an unknown scheme, and for what looks like the
    mistyped address of a server: a folder of that name would show its password to everyone."""
    text = str(address)
    if "\0" in text:
        raise ConfigError("the address of a store holds a NUL character", "give a path or an address without it")
    if not _PLAIN_PATH.match(text) and not _exists(text):
        if isinstance(address, str) and (match := _SCHEME.fullmatch(text)):
            return _parse_scheme(text, match["scheme"].lower(), match["rest"])
        if _CREDENTIALS.search(text):  # not repeated in the message: it may hold a password
            raise ConfigError(
                "this looks like the address of a server, but it begins with no known scheme",
                "write postgres://user@host:5432/database and keep the password in ~/.pgpass or PGPASSWORD; a folder "
                "is named by its path: ./…",
            )
    text = _expand_home(text)
    suffix = Path(text).suffix.lower()
    if suffix in SUFFIXES and SUFFIXES[suffix] in BACKENDS and not SqliteStore.exists(Path(text)):
        return SUFFIXES[suffix], text
    return "local", text


def _parse_scheme(text: str, given: str, rest: str) -> tuple[str, str]:
    plugins = _plugin_backends()
    scheme = ALIASES.get(given, given)
    if scheme not in BACKENDS and scheme not in plugins:
        known = {*BACKENDS, *plugins, *(alias for alias, name in ALIASES.items() if name in BACKENDS)}
        raise ConfigError(
            f"no backend keeps stores at {given}:…",
            f"{nearest(given, known)}; a folder is named by its path: ./{given}:…",
        )
    return scheme, text if scheme in _WHOLE_ADDRESS or scheme in plugins else _expand_home(rest)


def _expand_home(text: str) -> str:
    """`~/…` in the home folder: an address from a configuration passed no shell."""
    return str(Path(text).expanduser()) if text.startswith("~/") else text


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except OSError:  # a name longer than any file's
        return False


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
    # Up to the last @: a password may hold any character. Without // it is mistyped, and the first word is kept.
    redacted = re.sub(r"^([^/]*//[^:/@]*|(?!.*//)[^/:]*):.*@", r"\1:…@", address, flags=re.DOTALL)
    return re.sub(r"((?:password|index_key)\s*=\s*)(?:'[^']*'|[^&\s]*)", r"\1…", redacted, flags=re.IGNORECASE)


def _plugin_backends() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
