"""How many requests one client may send: a token bucket for each key or address."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable

from assay.errors import AssayError

MOST_CLIENTS = 10_000
"""Clients that are remembered; the one that was silent for longest is forgotten first."""
MINUTE = 60.0


class RateExceeded(AssayError):
    """A client has sent as many requests as it may; this one was not started."""

    def __init__(self, limit: int, retry_after: int) -> None:
        super().__init__(f"more than {limit} requests in a minute", f"try again in {retry_after} s")
        self.retry_after = retry_after


class RateLimit:
    """At most `per_minute` requests of a client at once, and as many each minute after. Safe for threads."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, client: str) -> None:
        """Count one request; RateExceeded when the client has none left."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.get(client, (float(self.per_minute), now))
            left = min(float(self.per_minute), left + (now - since) * self.per_minute / MINUTE)
            allowed = left >= 1.0
            self._buckets[client] = (left - 1.0 if allowed else left, now)
            self._buckets.move_to_end(client)
            if len(self._buckets) > MOST_CLIENTS:
                self._buckets.popitem(last=False)
        if not allowed:
            raise RateExceeded(self.per_minute, max(1, math.ceil((1.0 - left) * MINUTE / self.per_minute)))
