"""What data may do outside of this process: start a program, contact a host, read an environment variable.

A pipeline, a receipt or a recording may come from a stranger. What it names does nothing until the user allows it, in
`$ASSAY_ALLOW` (separated by commas) or in the file `assay/allow` of the user's config folder (one a line):

    program:qmd
    host:api.jina.ai
    variable:JINA_API_KEY

A star allows every name of a kind: program:*.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import parse_qsl, urlsplit

from assay.errors import AssayError, ConfigError
from assay.util.atomic_files import write_text

EffectKind = Literal["program", "host", "variable"]
KINDS: tuple[str, ...] = get_args(EffectKind)
VARIABLE = "ASSAY_ALLOW"
_VERBS = {"program": "start the program", "host": "contact the host", "variable": "read the environment variable"}


class NotAllowed(AssayError):
    """Data names something that the user has not allowed."""

    exit_code = 2


@dataclass(frozen=True, slots=True, order=True)
class Effect:
    """One thing that data would do, written as `kind:name`."""

    kind: EffectKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def sentence(self) -> str:
        return f"{_VERBS[self.kind]} {self.name}"


def host_effect(url: str) -> Effect:
    """The effect of contacting an address; its port and path do not matter."""
    return Effect("host", (urlsplit(url).hostname or url).casefold())


def address_effects(address: str) -> tuple[Effect, ...]:
    """The hosts of an address such as postgres://host/name?index=qdrant://host or s3://bucket/folder; none for a path
    of this machine."""
    if "://" not in address or address.startswith("file://"):
        return ()
    indexes = [value for key, value in parse_qsl(urlsplit(address).query) if key == "index" and "://" in value]
    nodes = [f"//{node}" for value in indexes for node in value.partition("://")[2].split("/")[0].split(",")]
    return tuple(dict.fromkeys(map(host_effect, (address, *nodes))))


def parse_effect(text: str) -> Effect:
    """Read `kind:name`."""
    kind, _, name = (part.strip() for part in text.partition(":"))
    if kind not in KINDS or not name or any(letter.isspace() or letter == "," for letter in name):
        raise ConfigError(f"{text!r} is nothing that can be allowed", "write program:NAME, host:NAME or variable:NAME")
    return Effect(kind, name.casefold() if kind == "host" else name)  # type: ignore[arg-type]


def allow_file() -> Path:
    """`$XDG_CONFIG_HOME/assay/allow`, else `~/.config/assay/allow`."""
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "assay" / "allow"


def read_allowed() -> frozenset[Effect]:
    """What the user allows: the environment variable and the file."""
    return frozenset([*_parse(os.environ.get(VARIABLE, "").split(",")), *read_allow_file()])


def read_allow_file() -> list[Effect]:
    """The lines of the user's file, in order; no file allows nothing."""
    try:
        lines = allow_file().read_text("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the list of what is allowed, {allow_file()}, cannot be read: {error}", "mend it") from error
    return _parse(line.partition("#")[0] for line in lines)


def write_allow_file(effects: Iterable[Effect]) -> None:
    """Replace the user's file: each effect once, in order. Comments in it are not kept."""
    path = allow_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, "".join(f"{effect}\n" for effect in dict.fromkeys(effects)))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}", "set ASSAY_ALLOW instead") from error


def find_forbidden(effects: Iterable[Effect]) -> list[Effect]:
    """Those effects that the user has not allowed, each once, in order."""
    allowed = read_allowed()
    return [e for e in dict.fromkeys(effects) if e not in allowed and Effect(e.kind, "*") not in allowed]


def require(*effects: Effect) -> None:
    """Raise NotAllowed, with the cure, unless the user allows every effect."""
    if forbidden := find_forbidden(effects):
        raise NotAllowed(f"not allowed: to {forbidden[0].sentence}", describe_cure(forbidden))


def describe_cure(forbidden: Iterable[Effect]) -> str:
    names = " ".join(map(str, forbidden))
    return f"if you trust where this comes from: assay allow {names}"


def _parse(texts: Iterable[str]) -> list[Effect]:
    return [parse_effect(text) for text in texts if text.strip()]
