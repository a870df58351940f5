"""API keys: a file that holds their hashes, rights and scopes; a key itself is shown once, when it is made.

A key is `assay_ID_SECRET`, the secret 256 random bits. SHA-256 is enough to store it: what protects passwords (a slow
hash with salt) makes up for secrets that can be guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, nearest
from assay.memory.scopes import check_scope
from assay.serve.access import RIGHTS, Caller, Right, Unauthorized
from assay.util.atomic_files import write_text
from assay.util.permissions import allow_file

FORMAT = 1
VARIABLE = "ASSAY_KEYS"
PREFIX = "assay"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. `scopes` None is every scope; `revoked` is when it was, None while it is valid."""

    id: str
    name: str
    hash: str
    right: Right
    scopes: tuple[str, ...] | None
    created: float
    revoked: float | None = None


def keys_file() -> Path:
    """`$ASSAY_KEYS`, else `keys.json` beside the user's list of what is allowed."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else allow_file().parent / "keys.json"


class KeyStore:
    """The keys of a file. Read again when the file changes, so a revoked key stops working at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or keys_file()
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, ApiKey] = {}

    def list(self) -> tuple[ApiKey, ...]:
        """Every key, the revoked ones too, oldest first."""
        return tuple(self._read().values())

    def create(self, name: str, right: str, scopes: Sequence[str] | None, now: float) -> tuple[ApiKey, str]:
        """Make a key: the record of it, and the key itself, which is stored nowhere."""
        if right not in RIGHTS:
            raise ConfigError(f"there is no right {right!r}", nearest(right, RIGHTS))
        if not name.strip() or not name.isprintable() or len(name) > 100:
            raise ConfigError(f"{name[:60]!r} cannot name a key", "give a name of at most 100 characters")
        if any(key.name == name and key.revoked is None for key in self.list()):
            raise ConfigError(f"there is a key called {name!r} already", "give another name, or revoke that one")
        checked = None if scopes is None else tuple(dict.fromkeys(check_scope(scope) for scope in scopes))
        identity, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        text = f"{PREFIX}_{identity}_{secret}"
        key = ApiKey(identity, name, _hash(text), right, checked, now)
        self._write([*self.list(), key])
        return key, text

    def revoke(self, name_or_id: str, now: float) -> ApiKey:
        """Make a key useless; its record stays."""
        keys = self.list()
        found = [key for key in keys if name_or_id in (key.name, key.id) and key.revoked is None]
        if not found:
            known = [key.name for key in keys if key.revoked is None]
            raise ConfigError(f"there is no valid key called {name_or_id[:60]!r}", nearest(name_or_id[:60], known))
        revoked = replace(found[0], revoked=now)
        self._write([revoked if key.id == revoked.id else key for key in keys])
        return revoked

    def find_caller(self, text: str) -> Caller:
        """The caller that a key stands for; Unauthorized for any other text. Hashes are compared in constant time."""
        _, _, rest = text.partition("_")
        key = self._read().get(rest.partition("_")[0])
        expected = key.hash if key is not None else _NO_HASH
        same = hmac.compare_digest(_hash(text), expected)
        if key is None or not same or key.revoked is not None:
            raise Unauthorized("this key is unknown, or was revoked", "make one on the server: assay key create NAME")
        return Caller(key.name, key.right, key.scopes)

    def _read(self) -> dict[str, ApiKey]:
        try:
            facts = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        with self._lock:
            if stamp != self._stamp:
                self._keys = {key.id: key for key in _parse(self.path)}
                self._stamp = stamp
            return self._keys

    def _write(self, keys: Sequence[ApiKey]) -> None:
        body = json.dumps({"format": FORMAT, "keys": [asdict(key) for key in keys]}, indent=1)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self.path, body + "\n")
            self.path.chmod(0o600)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error}", f"name another file: {VARIABLE}") from error
        with self._lock:
            self._stamp = None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_NO_HASH = "0" * 64


def _parse(path: Path) -> list[ApiKey]:
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if content["format"] != FORMAT:
            raise ConfigError(f"{path} has format {content['format']!r}, not {FORMAT}", "install a newer Assay")
        return [
            ApiKey(**{**row, "scopes": None if row["scopes"] is None else tuple(row["scopes"])})
            for row in content["keys"]
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"the file of keys, {path}, cannot be read: {error}", "restore it, or remove it") from error
