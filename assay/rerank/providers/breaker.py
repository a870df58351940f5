"""A circuit breaker: an endpoint that failed several times in a row is left in peace for a while."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

OPENS_AFTER = 3
COOL_DOWN_S = 30.0


class Breaker:
    """Closed, it admits everyone. After `opens_after` failures in a row it is open and admits nobody for `cool_down_s`
    seconds; then half-open: one caller may try, the others wait for another cool-down. A success closes it.

    `clock` gives seconds and never goes back. Safe between threads; a caller that never reports back blocks nobody
    for longer than one cool-down.
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
        """May this caller try? Whoever is admitted says how it went: `succeeded` or `failed`."""
        with self._lock:
            if self._failures < self._opens_after:
                return True
            now = self._clock()
            if now < self._next_try:
                return False
            self._next_try = now + self._cool_down_s
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            self._next_try = self._clock() + self._cool_down_s

    @property
    def state(self) -> str:
        """In words: closed, open or half-open, after how many failures in a row, and when it is tried again."""
        with self._lock:
            if not self._failures:
                return "closed"
            row = f"{self._failures} failure{'s' if self._failures > 1 else ''} in a row"
            if self._failures < self._opens_after:
                return f"closed, {row}"
            wait = self._next_try - self._clock()
            return f"open, {row}, next try in {math.ceil(wait)} s" if wait > 0.0 else f"half-open, {row}"


class Breakers:
    """One breaker per (provider, address), made when first asked for, all on one clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Breaker] = {}

    def of(self, provider: str, url: str) -> Breaker:
        with self._lock:
            return self._known.setdefault((provider, url), Breaker(self._clock))
