"""What is kept open between questions: opened by whoever comes first, closed when the process ends."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Key = tuple[Any, ...]

_open: dict[Key, Any] = {}
_turns: dict[Key, threading.RLock] = {}
_lock = threading.Lock()


def opened(key: Key, how: Callable[[], T]) -> T:
    """The thing under this key, opened once per process (never shared with a forked one).

    Whoever opens it holds up those who want the same, and nobody else: a store that hangs costs only its own questions.
    """
    mine = (os.getpid(), *key)
    with _lock:
        turn = _turns.setdefault(mine, threading.RLock())
    with turn:
        if mine not in _open:
            _open[mine] = how()
        found: T = _open[mine]
        return found


@atexit.register
def close_all() -> None:
    """Close everything that has a `close`; the next question opens it anew."""
    with _lock:
        mine = [key for key in list(_open) if key[0] == os.getpid()]
        left = [_open.pop(key) for key in mine]
    for one in left:
        close = getattr(one, "close", None)
        if close is not None:
            close()
