"""Keeps the last opened local models, so that a process opens the same model once."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path

from assay.protocols import Embedder

MAX_MODELS = 2
"""Models kept open: a store's own, and one it moves to or is reranked with."""


class ModelCache:
    """The most recently used models by key. Safe to share between threads; empty in a forked child."""

    def __init__(self, max_models: int = MAX_MODELS) -> None:
        self._max_models = max_models
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._models: OrderedDict[Hashable, Embedder] = OrderedDict()

    def get(self, key: Hashable, open_model: Callable[[], Embedder]) -> Embedder:
        """Return the model of this key; `open_model` opens it when it is not cached. An error caches nothing."""
        with self._lock:
            if key not in self._models:
                self._models[key] = open_model()
                if len(self._models) > self._max_models:
                    self._models.popitem(last=False)
            self._models.move_to_end(key)
            return self._models[key]

    def clear(self) -> None:
        """Forget every model."""
        with self._lock:
            self._models.clear()


def file_state(paths: Iterable[Path]) -> tuple[tuple[str, int, int, int], ...] | None:
    """Return path, size, time of change and inode of each file; None when one cannot be read."""
    try:
        stats = [(str(path), path.stat()) for path in paths]
    except OSError:
        return None
    return tuple((path, stat.st_size, stat.st_mtime_ns, stat.st_ino) for path, stat in stats)
