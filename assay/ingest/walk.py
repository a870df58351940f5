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
        is_folder = stat.S_ISDIR(base.stat().st_mode)
    except OSError as error:
        raise bad_file(root, f"cannot be opened: {error.strerror}", "give an existing file or folder") from error
    name = plain_name(base.name)
    if is_folder:
        yield from _folder(base, f"{name}/" if name else "")
    else:
        yield look(base, name)


def _folder(folder: Path, prefix: str) -> Iterator[FoundFile | Skipped]:
    try:
        with os.scandir(folder) as entries:
            listed = sorted((plain_name(entry.name), entry.name) for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        yield Skipped(folder, prefix.rstrip("/"), f"the folder cannot be read: {error.strerror}", True)
        return
    last = None
    for plain, name in listed:
        path = folder / name
        if plain == last:
            yield Skipped(path, prefix + plain, "another file here has the same name in other Unicode characters")
        elif path.is_symlink() and path.is_dir():
            yield Skipped(path, prefix + plain, "a link to a folder; add the folder itself")
        elif path.is_dir():
            if plain not in PASSED_OVER:
                yield from _folder(path, f"{prefix}{plain}/")
        else:
            yield look(path, prefix + plain)
        last = plain


def look(path: Path, name: str) -> FoundFile | Skipped:
    """One path: a file that can be read, or why it is left out."""
    try:
        facts = path.stat()
    except OSError as error:
        return Skipped(path, name, f"cannot be opened: {error.strerror}", True)
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
    return unicodedata.normalize("NFC", whole)


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
