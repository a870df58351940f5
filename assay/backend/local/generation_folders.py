"""Folders of generations: those of older versions, built on demand, and the removal of those nobody has open."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import StoreError
from assay.index.generation import Generation
from assay.store.db_errors import translate_errors
from assay.store.locks import lock_file, lock_if_unused

if TYPE_CHECKING:
    from assay.backend.local.backend import LocalBackend

_MAX_OLD_INDEXES = 2


class PastIndexes:
    """Indexes of older versions: in the store, or in a temporary folder if that is read-only."""

    def __init__(self, backend: LocalBackend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def get(self, version: int) -> Generation:
        """The index of an older version: built when it is first asked for, then cached."""
        parent = self._folder()
        folder = parent / f"{version:08d}"
        generation = self._backend.open_usable(folder)
        if generation is None:
            with lock_file(parent / ".building"):
                # Another process may have built it while we waited.
                generation = self._backend.open_usable(folder) or self._backend.build_index(version, folder)
                whole = [path for path in parent.iterdir() if path.is_dir() and not path.name.startswith(".")]
                remove_unused(parent, [path.name for path in sorted(whole, key=_modified_at)[-_MAX_OLD_INDEXES:]])
        return generation

    def _folder(self) -> Path:
        store = self._backend.store
        if not store.readonly:
            parent = store.folder / "snapshots"
            with translate_errors(store.folder):
                parent.mkdir(exist_ok=True)
            return parent
        with self._lock:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="assay-")
            return Path(self._temporary.name)

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None


@contextlib.contextmanager
def translate_index_errors() -> Iterator[None]:
    """Translate errors of tantivy and FAISS, which report a full disk in their own ways."""
    try:
        yield
    except StoreError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(
            f"the index could not be written: {error}", "free some space; the chunks themselves are safe"
        ) from error


def remove_unused(parent: Path, keep: Sequence[str]) -> None:
    """Remove generations that are not named in `keep` and that no process has open."""
    for path in parent.iterdir() if parent.is_dir() else ():
        if path.name not in keep and path.is_dir():
            with lock_if_unused(path / "manifest.json") as free:
                if free:
                    shutil.rmtree(path, ignore_errors=True)


def _modified_at(path: Path) -> float:
    return path.stat().st_mtime
