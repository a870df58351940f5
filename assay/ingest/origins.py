"""Names the files of a folder in a store, and compares their paths."""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError


def default_name(root: Path) -> str:
    """A folder's own name, or a file's."""
    name = root.resolve().name
    if not name:
        raise AssayError(f"{root} has no name to call its documents by", "give one: --as NAME")
    return name


def origin_of(folder: str, name: str) -> str:
    """The document id of a found file: its path, with the name under which its folder was added in place of the
    folder's own."""
    _, slash, inside = name.partition("/")
    return f"{folder}{slash}{inside}"


def is_under(origin: str, folders: tuple[str, ...]) -> bool:
    """Is a file inside a folder that could not be read? Then its absence means nothing."""
    return any(origin == place or origin.startswith(f"{place}/") for place in folders)


def is_store_file(path: Path, own: Path) -> bool:
    """Is this the store, inside it, or the journal of one that is a single file?"""
    journal = path.parent == own.parent and path.name.removeprefix(own.name) in ("-wal", "-shm", "-journal", "-commits")
    return journal or own in (path, *path.parents)


def is_gone(path: Path) -> bool:
    """Is there no file of this name any more? A file that merely cannot be read is still there."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
