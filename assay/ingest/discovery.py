"""Discovers files, detects changes, and reads files with guards.

`discover` lists files in one fixed order and gives a reason for every file it skips. Hidden files and folders,
`node_modules`, `__pycache__` and what an `.assayignore` names are skipped. Links to files of the added folder are read;
links out of it are not, and links to folders are not followed, so there are no loops. `read_file` turns every failure
into an AssayError that names the file.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from assay.errors import AssayError
from assay.ingest.files import BLOCK, bad_file
from assay.ingest.ignore_rules import IGNORE_FILE, IgnoreRules
from assay.ingest.reader_limits import too_much_memory
from assay.ingest.readers import READERS, has_reader, load_reader
from assay.text.combining_marks import limit_marks
from assay.types import Document
from assay.util.open_databases import is_open_database

IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with a reader. `name` is its document id: the path from the added folder on, with / and in NFC."""

    path: Path
    name: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A path that was skipped, and why."""

    path: Path
    name: str
    reason: str
    unreadable: bool = False
    """The path could not be read, so its content is unknown; else it is of no supported kind."""
    is_loop: bool = False
    """A link that leads to itself."""


FoundFolder = tuple[Path, str]


def discover(root: Path, exclude: Sequence[str] = ()) -> Iterator[FoundFile | SkippedFile]:
    """Yield the files under a folder, or the one file, by name; names begin with the folder's own name. `exclude` has
    patterns in gitignore's syntax."""
    base = Path(os.path.abspath(root))
    try:
        base.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise bad_file(root, f"cannot be opened: {reason}", "give an existing file or folder") from error
    name = normalise_name(base.name)
    real = base.resolve()
    # A stack, not recursion: folders may be nested deeper than the call stack.
    stack: list[tuple[FoundFile | SkippedFile | FoundFolder, IgnoreRules]] = [
        ((base, name) if base.is_dir() else classify_path(base, name), IgnoreRules.excluding(base, exclude))
    ]
    while stack:
        item, rules = stack.pop()
        if isinstance(item, tuple):
            inside = rules.enter(item[0])
            stack.extend((found, inside) for found in reversed(_list_folder(*item, real, inside)))
        else:
            yield item


def _list_folder(
    folder: Path, name: str, root: Path, rules: IgnoreRules
) -> list[FoundFile | SkippedFile | FoundFolder]:
    """Return the content of a folder, by name: files, skipped paths, and (path, name) of folders."""
    try:
        entries = sorted((normalise_name(entry), entry) for entry in os.listdir(folder) if entry != IGNORE_FILE)
    except OSError as error:
        return [SkippedFile(folder, name, f"the folder cannot be read: {error.strerror}", unreadable=True)]
    prefix = f"{name}/" if name else ""
    items: list[FoundFile | SkippedFile | FoundFolder] = []
    last = None
    for plain, entry in entries:
        path = folder / entry
        if plain == last:
            reason = "another file here has the same name in other Unicode characters"
            items.append(SkippedFile(path, prefix + plain, reason))
        elif entry.startswith(".") or plain in IGNORED_FOLDERS:
            reason = "hidden" if entry.startswith(".") else f"always passed over ({plain})"
            items.append(SkippedFile(path, prefix + plain, reason))
        else:
            items.append(_apply_rules(classify_path(path, prefix + plain, root), rules))
        last = plain
    return items


def _apply_rules(
    found: FoundFile | SkippedFile | FoundFolder, rules: IgnoreRules
) -> FoundFile | SkippedFile | FoundFolder:
    """What was found, or that it is passed over by a pattern."""
    is_folder = isinstance(found, tuple)
    path, name = found if isinstance(found, tuple) else (found.path, found.name)
    why = rules.reason(path, is_folder)
    return SkippedFile(path, name + "/" * is_folder, why) if why else found


def classify_path(path: Path, name: str, root: Path | None = None) -> FoundFile | SkippedFile | FoundFolder:
    """Return a file to read, a folder to list, or a skipped path; a link must stay inside `root`, without links."""
    try:
        is_link = path.is_symlink()
        facts = path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return SkippedFile(path, name, "a link that leads to itself", is_loop=True)
        return SkippedFile(path, name, f"cannot be opened: {error.strerror}", unreadable=True)
    if stat.S_ISDIR(facts.st_mode):
        return SkippedFile(path, name, "a link to a folder; add the folder itself") if is_link else (path, name)
    if not stat.S_ISREG(facts.st_mode):
        return SkippedFile(path, name, f"not a file but {_describe_kind(facts.st_mode)}")
    if is_link and root is not None and not path.resolve().is_relative_to(root):
        return SkippedFile(path, name, "a link out of the added folder; add the file itself")
    if not has_reader(path.suffix):
        what = f"files ending in {path.suffix}" if path.suffix else "files without an ending"
        return SkippedFile(path, name, f"nothing here reads {what}")
    if is_open_database(facts):
        return SkippedFile(path, name, "an SQLite database that is in use here, not what its name says")
    return FoundFile(path, name, facts.st_size, facts.st_mtime_ns)


def _describe_kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "something else")


def read_file(path: Path, name: str) -> Iterator[Document]:
    """Yield the documents of a file. Every failure is an AssayError that names the file.

    A failure comes before the first document, unless the file changes while it is read: use the documents only once
    the iteration has ended.
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
    except MemoryError as error:
        raise too_much_memory(path) from error
    except Exception as error:  # parsers raise anything; one file never stops the others
        raise bad_file(path, f"cannot be read: {type(error).__name__}: {error}", "open and re-save it") from error


def normalise_name(name: str) -> str:
    """Return a file name as part of an id: NFC, bytes that are no UTF-8 as %XX."""
    if name.isascii():
        return name
    printable = "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in name)
    return unicodedata.normalize("NFC", limit_marks(printable))


def _open_regular(path: str, flags: int) -> int:
    """Open a file that has just been a regular one: a pipe in its place must not block."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return descriptor


def hash_content(path: Path) -> str:
    """Return the blake2b digest of a file's bytes, 32 hexadecimal digits, read in blocks."""
    digest = blake2b(digest_size=16)
    try:
        with open(path, "rb", opener=_open_regular) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise bad_file(path, f"cannot be read: {error.strerror}", "check its permissions") from error
    return digest.hexdigest()
