"""Circuit breaker: after several failures in a row an endpoint is not asked for a while."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

OPENS_AFTER = 3
COOL_DOWN_S = 30.0


class Breaker:
    """Closed, it admits every caller. After `opens_after` failures in a row it opens and admits none for `cool_down_s`
    seconds; then it is half-open: one caller may try, others wait for another cool-down. A success closes it.

    `clock` gives monotonic seconds. Thread-safe; a caller that never reports an outcome blocks others for at most one
    cool-down.
    """

    def __init__(
        self, clock: Callable[[], float], opens_after: int = OPENS_AFTER, cool_down_s: float = COOL_DOWN_S
    ) -> None:
        self._clock = clock
        self._opens_after = opens_after
        self._cool_down_s = cool_down_s
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try = -math.inf

    def admits(self) -> bool:
        """Whether this caller may try. An admitted caller reports `record_success` or `record_failure`."""
        with self._lock:
            if self._failures < self._opens_after:
                return True
            now = self._clock()
            if now < self._next_try:
                return False
            self._next_try = now + self._cool_down_s
            return True

    def record_success(self) -> None:
        with self._lock:
            self._failures = 0

    def record_failure(self) -> None:
        with self._lock:
            self._failures += 1
            self._next_try = self._clock() + self._cool_down_s

    @property
    def state(self) -> str:
        """A description: closed, open or half-open, the failures in a row, and the time until the next try."""
        with self._lock:
            if not self._failures:
                return "closed"
            row = f"{self._failures} failure{'s' if self._failures > 1 else ''} in a row"
            if self._failures < self._opens_after:
                return f"closed, {row}"
            wait = self._next_try - self._clock()
            return f"open, {row}, next try in {math.ceil(wait)} s" if wait > 0.0 else f"half-open, {row}"


class Breakers:
    """One breaker per (provider, address), created on first use, all on one clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Breaker] = {}

    def get(self, provider: str, url: str) -> Breaker:
        with self._lock:
            return self._known.setdefault((provider, url), Breaker(self._clock))
