"""What is kept open between questions: opened by whoever comes first, closed when the process ends."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_open: dict[tuple[Any, ...], Any] = {}
_lock = threading.RLock()


def opened(key: tuple[Any, ...], how: Callable[[], T]) -> T:
    """The thing under this key, opened once per process (never shared with a forked one)."""
    mine = (os.getpid(), *key)
    with _lock:
        if mine not in _open:
            _open[mine] = how()
        found: T = _open[mine]
        return found


@atexit.register
def close_all() -> None:
    """Close everything that has a `close`; the next question opens it anew."""
    with _lock:
        mine = [key for key in _open if key[0] == os.getpid()]
        left = [_open.pop(key) for key in mine]
    for one in left:
        close = getattr(one, "close", None)
        if close is not None:
            close()
