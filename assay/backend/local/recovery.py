"""Answers from the record when an index turns out to be damaged, and rebuilds the index.

Rows of a generation are the chunks alive at its version, in id order. So the record can rebuild a generation with the
same row numbers, and a search in progress goes on with it.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from assay.backend.shared.limits import MOST_TAIL
from assay.errors import AssayError, Reason, StoreError
from assay.index.checksums import DamagedIndex
from assay.index.generation import Generation

if TYPE_CHECKING:
    from assay.backend.local.backend import LocalBackend

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Recovers(Protocol):
    @property
    def damage(self) -> DamagedIndex | None: ...

    def recover(self, error: BaseException) -> bool: ...


_S = TypeVar("_S", bound=_Recovers)


def recovering(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Decorate a method that reads an index: when that is damaged, it is replaced and the method is called again."""

    @wraps(method)
    def wrapped(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        found = self.damage
        if found is not None:  # by a check in the background
            self.recover(found)
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            if not _may_be_damage(error) or not self.recover(error):
                raise
        return method(self, *args, **kwargs)

    return wrapped


def _may_be_damage(error: BaseException) -> bool:
    """Errors of Assay have another cause, unless they say that a file is damaged. tantivy's panics derive from
    BaseException."""
    if isinstance(error, AssayError):
        return isinstance(error, DamagedIndex)
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


class DamagedGenerations:
    """Replaces damaged generations of a backend. Safe for threads: one rebuilds, others wait for it."""

    def __init__(self, backend: LocalBackend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._replaced: dict[Path, tuple[Generation, Reason]] = {}
        self._rebuilding: threading.Thread | None = None
        self._cancelled = threading.Event()

    def replace(self, generation: Generation, error: BaseException) -> tuple[Generation, Reason] | None:
        """A sound generation with the same rows, and why it was needed; None when the files are sound, so that the
        error must have another cause."""
        with self._lock:
            if generation.folder not in self._replaced:
                what = self._describe(generation, error)
                if what is None:
                    return None
                self._replaced[generation.folder] = self._rebuild(generation, what)
            return self._replaced[generation.folder]

    @staticmethod
    def _describe(generation: Generation, error: BaseException) -> str | None:
        if isinstance(error, DamagedIndex):
            return error.message
        damage = next(generation.checks.find_damage(), None)
        if damage is not None:
            return f"the index is damaged: {damage}"
        if isinstance(error, OSError) or not generation.checks.known:
            return f"the index cannot be read ({type(error).__name__}: {error})"
        return None

    def _rebuild(self, generation: Generation, what: str) -> tuple[Generation, Reason]:
        """Small indexes are rebuilt at once and for good. For large ones, and in read-only stores, one without tantivy
        and FAISS is made for this process, which answers exactly and more slowly; the large one follows in the
        background."""
        backend = self._backend
        if generation.size <= MOST_TAIL and not backend.store.readonly:
            with contextlib.suppress(
                StoreError, OSError
            ):  # a full disk: answer from a temporary folder, if there is one
                rebuilt = backend.rebuild(generation.folder.name)
                if rebuilt is not None:
                    return rebuilt, Reason(f"{what}; it was rebuilt from the record")
        folder = Path(tempfile.mkdtemp(prefix="assay-index-"))
        place = folder / generation.folder.name
        substitute = backend.build_index(generation.version, place, exact=True)
        weakref.finalize(substitute, shutil.rmtree, folder, ignore_errors=True)
        if substitute.size != generation.size:
            raise StoreError(f"{what}, and rows of it are forgotten since", "open the store again")
        if not backend.store.readonly and self._rebuilding is None:
            self._rebuilding = threading.Thread(target=self._rebuild_whole, name="assay-rebuild", daemon=True)
            self._rebuilding.start()
        cure = "" if self._rebuilding else "copy the store to a folder you may write to, then assay optimize --force"
        return substitute, Reason(
            f"{what}; this answer comes from the record, exact and slower", cure or "assay optimize --force"
        )

    def _rebuild_whole(self) -> None:
        with contextlib.suppress(StoreError, OSError, _Cancelled):
            self._backend.compact(self._check_cancelled, force=True)

    def _check_cancelled(self, *_: Any) -> None:
        if self._cancelled.is_set():
            raise _Cancelled

    def close(self) -> None:
        """Stop rebuilding; the next process finds the damage again."""
        self._cancelled.set()
        if self._rebuilding is not None:
            self._rebuilding.join()
        self._replaced.clear()


class _Cancelled(Exception):
    """The store is closed while its index is rebuilt."""
