"""A record of the files of a folder that were compared with their checksums, so that the next process need not.

It holds the start of the machine and, for each file, what changes when a file is written or replaced: device, inode,
length, times of the last change. The kernel sets the time of the change of an inode; no program can set it back. A file
that was changed less than two seconds ago is not recorded: the clock of the file system has steps, and a change in the
same step would leave no mark. Other systems than Linux have no name for a start of the machine: nothing is recorded.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

NAME = ".verified"
Identity = list[int]
"""Device, inode, length, and the times of the last change of the content and of the inode, in nanoseconds."""
_SETTLED = 2.0
"""Seconds after a change from which a file can be recorded."""


@cache
def _boot() -> str:
    """The present start of this machine; empty where it has no name."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def identify(path: str) -> Identity:
    """What changes whenever a file is written or replaced."""
    facts = os.stat(path)  # a Path for each of dozens of files costs more than the look-ups
    return [facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns]


def read_verified(folder: Path) -> dict[str, Identity]:
    """File → its identity when it was verified, for every file that was since the machine started; it counts while the
    identity is the same."""
    try:
        record = json.loads((folder / NAME).read_bytes())
        return dict(record["files"]) if record["boot"] == _boot() != "" else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def settled(identities: Mapping[str, Identity]) -> dict[str, Identity]:
    """Those that may be recorded."""
    latest = int((time.time() - _SETTLED) * 1e9)
    return {name: identity for name, identity in identities.items() if identity[-1] < latest}


def write_verified(folder: Path, identities: Mapping[str, Identity]) -> None:
    """Record verified files; nothing happens where that is not possible."""
    temporary = folder / f"{NAME}.{os.getpid()}"
    if not _boot():
        return
    try:
        temporary.write_text(json.dumps({"boot": _boot(), "files": dict(identities)}), "utf-8")
        temporary.replace(folder / NAME)
    except OSError:  # a read-only store, a full disk
        with contextlib.suppress(OSError):
            temporary.unlink()


def identify_all(folder: Path, names: Iterable[str]) -> dict[str, Identity]:
    """File → its identity now; files that cannot be read are left out."""
    found: dict[str, Identity] = {}
    for name in names:
        try:
            found[name] = identify(f"{folder}/{name}")
        except OSError:
            continue
    return found
