"""Caches open resources between queries: opened on first use, closed when the process ends."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Key = tuple[Any, ...]

_open: dict[Key, Any] = {}
_key_locks: dict[Key, threading.RLock] = {}
_lock = threading.Lock()


def open_once(key: Key, open_resource: Callable[[], T]) -> T:
    """The resource of this key, opened once per process (never shared with a forked one).

    Opening one key blocks only callers of the same key: a store that hangs delays only its own queries.
    """
    own = (os.getpid(), *key)
    with _lock:
        key_lock = _key_locks.setdefault(own, threading.RLock())
    with key_lock:
        if own not in _open:
            _open[own] = open_resource()
        resource: T = _open[own]
        return resource


@atexit.register
def close_all() -> None:
    """Close everything that has a `close`; the next query reopens it."""
    with _lock:
        own = [key for key in list(_open) if key[0] == os.getpid()]
        resources = [_open.pop(key) for key in own]
    for resource in resources:
        close = getattr(resource, "close", None)
        if close is not None:
            close()
