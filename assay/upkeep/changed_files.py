"""Which files of a followed folder have to be read again after its file system reported changes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.ingest.discovery import IGNORED_FOLDERS, normalise_name
from assay.ingest.readers import has_reader
from assay.store.contract import ChunkStore

MOST_SINGLE_FILES = 64
"""More changed files at once than this (a checkout, a move) and the whole folder is compared."""


def files_to_sync(store: ChunkStore, root: Path, source: str, changed: Iterable[Path]) -> list[Path] | None:
    """The changed files to read one by one; None if the whole folder must be compared: many files, or a folder."""
    own = store.place.resolve() if store.place else None
    documents = [path for path in changed if _is_document(path, root, own)]
    files = [path for path in documents if has_reader(path.suffix) and not path.is_dir()]
    if len(files) > MOST_SINGLE_FILES:
        return None
    if any(path.is_dir() or _was_folder(path, root, source, store) for path in documents):
        return None
    return files


def _is_document(path: Path, root: Path, store: Path | None) -> bool:
    """Not hidden, not passed over by `add`, not the store itself."""
    steps = path.relative_to(root).parts
    inside = store is not None and path.is_relative_to(store)
    return not inside and not any(step.startswith(".") or step in IGNORED_FOLDERS for step in steps)


def _was_folder(path: Path, root: Path, source: str, store: ChunkStore) -> bool:
    """Did a folder vanish from which the store holds files?"""
    if path.exists():
        return False
    prefix = f"{source}/{normalise_name(path.relative_to(root).as_posix())}/"
    return any(origin.startswith(prefix) for origin in store.files(source))
