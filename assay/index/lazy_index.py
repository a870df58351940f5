"""An index in a generation's folder that is built when it is first used, once, and then opened."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from assay.store.locks import lock_file

Index = TypeVar("Index")


class LazyIndex(Generic[Index]):
    """The index in `folder`. One thread of one process builds it; others wait for that.

    What is missing, damaged or of another format is built anew. A read-only store gets it in a temporary folder, which
    lives as long as this object.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index: Index | None = None
        self._lock = threading.Lock()

    def get(
        self,
        readonly: bool,
        read: Callable[[Path], Index],
        build: Callable[[Path], Index],
        fits: Callable[[Index], bool] = lambda _: True,
    ) -> Index:
        """Return the open index. `read` raises OSError or ValueError for a folder that must be built anew; one that is
        open, but no longer `fits`, is replaced."""
        with self._lock:
            if self._index is None or not fits(self._index):
                self._index = self._open(readonly, read, build)
            return self._index

    def _open(self, readonly: bool, read: Callable[[Path], Index], build: Callable[[Path], Index]) -> Index:
        with contextlib.suppress(OSError, ValueError):
            return read(self.folder)
        name = self.folder.name
        if readonly:
            temporary = tempfile.mkdtemp(prefix=f"assay-{name}-")
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
            return build(Path(temporary) / name)
        with lock_file(self.folder.with_name(f".{name}.lock")):
            with contextlib.suppress(OSError, ValueError):
                return read(self.folder)  # built by another process meanwhile
            return build(self.folder)
