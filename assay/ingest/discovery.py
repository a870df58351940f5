"""Which files are there, has one changed, and what does it say?

`discover` lists files in one fixed order and says of every file it leaves out why. Hidden files and folders,
`node_modules` and `__pycache__` are passed over in silence, as every tool does. Links to files are read; links to
folders are not followed, so there are no loops. `read_file` reads one file with every guard in place.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from assay.errors import AssayError
from assay.ingest.files import BLOCK, bad_file
from assay.ingest.readers import READERS, has_reader, load_reader
from assay.text.marks import bounded
from assay.types import Document

PASSED_OVER = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with a reader. `name` is its document id: the path from the added folder on, with / and in NFC."""

    path: Path
    name: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was left out, and why."""

    path: Path
    name: str
    reason: str
    unreadable: bool = False
    """It could not be looked at, so nothing is known about what it holds; else it is simply not for us."""


def discover(root: Path) -> Iterator[FoundFile | Skipped]:
    """The files under a folder, or the one file, by name; names begin with the folder's own name."""
    base = Path(os.path.abspath(root))
    try:
        base.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise bad_file(root, f"cannot be opened: {reason}", "give an existing file or folder") from error
    name = plain_name(base.name)
    # A stack, not recursion: folders may be nested deeper than Python likes to call.
    waiting: list[FoundFile | Skipped | tuple[Path, str]] = [(base, name) if base.is_dir() else look(base, name)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting.extend(reversed(_listed(*item)))
        else:
            yield item


def _listed(folder: Path, name: str) -> list[FoundFile | Skipped | tuple[Path, str]]:
    """What is in a folder, by name: files, things left out, and (path, name) of folders."""
    try:
        entries = sorted((plain_name(entry), entry) for entry in os.listdir(folder) if not entry.startswith("."))
    except OSError as error:
        return [Skipped(folder, name, f"the folder cannot be read: {error.strerror}", unreadable=True)]
    prefix = f"{name}/" if name else ""
    items: list[FoundFile | Skipped | tuple[Path, str]] = []
    last = None
    for plain, entry in entries:
        path = folder / entry
        if plain == last:
            reason = "another file here has the same name in other Unicode characters"
            items.append(Skipped(path, prefix + plain, reason))
        elif plain not in PASSED_OVER:
            items.append(look(path, prefix + plain))
        last = plain
    return items


def look(path: Path, name: str) -> FoundFile | Skipped | tuple[Path, str]:
    """What a path is: a file to read, a folder to list, or something left out."""
    try:
        facts = path.stat()
    except OSError as error:
        return Skipped(path, name, f"cannot be opened: {error.strerror}", unreadable=True)
    if stat.S_ISDIR(facts.st_mode):
        return Skipped(path, name, "a link to a folder; add the folder itself") if path.is_symlink() else (path, name)
    if not stat.S_ISREG(facts.st_mode):
        return Skipped(path, name, "not a regular file")
    if not has_reader(path.suffix):
        what = f"files ending in {path.suffix}" if path.suffix else "files without an ending"
        return Skipped(path, name, f"nothing here reads {what}")
    return FoundFile(path, name, facts.st_size, facts.st_mtime_ns)


def read_file(path: Path, name: str) -> Iterator[Document]:
    """The documents of a file. Whatever goes wrong is an AssayError that names the file.

    A failure comes before the first document, unless the file changes while it is read: take what you are given
    only once the iteration has ended.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise bad_file(path, "not a regular file")
        if not has_reader(path.suffix):
            raise bad_file(path, f"nothing here reads files ending in {path.suffix!r}", f"known: {', '.join(READERS)}")
        yield from load_reader(path.suffix)(path, name)
    except AssayError:
        raise
    except OSError as error:
        raise bad_file(
            path, f"cannot be read: {error.strerror or error}", "check that it exists and may be read"
        ) from error
    except Exception as error:  # parsers of foreign formats raise what they like; one file never stops the others
        raise bad_file(path, f"cannot be read: {type(error).__name__}: {error}", "open and re-save it") from error


def plain_name(name: str) -> str:
    """A file name as part of an id: NFC, bytes that are no UTF-8 as %XX."""
    if name.isascii():
        return name
    whole = "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in name)
    return unicodedata.normalize("NFC", bounded(whole))


def content_hash(path: Path) -> str:
    """The blake2b digest of a file's bytes, 32 hexadecimal digits, read in blocks."""
    digest = blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise bad_file(path, f"cannot be read: {error.strerror}", "check its permissions") from error
    return digest.hexdigest()
