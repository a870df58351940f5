"""Over-fetching: a leg's k counts what the fuser counts, and several chunks may be one of them.

Where a fuser makes one candidate of several chunks (`[fuse] by = "session_id"`), 20 chunks may be 4 sessions. The leg
is then asked for more chunks, until it has k candidates, has no more chunks, or has returned MOST_CHUNKS.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import ceil

from assay.errors import OutOfTime
from assay.protocols import RunningSearch
from assay.types import Note, Ranking

MOST_CHUNKS = 10_000
"""One session may hold most of a store: a leg that has read this many chunks returns what it has, and says so."""
MARGIN = 1.25
"""The next request assumes that candidates keep coming as rarely as so far, and a quarter more rarely."""


class OverfetchingSearch:
    """Repeats a leg's search with a larger k until `count` finds k candidates in its ranking. Can be cancelled."""

    def __init__(self, begin: Callable[[int], RunningSearch], k: int, count: Callable[[Ranking], int]) -> None:
        self._begin, self._k, self._count = begin, k, count
        self._running: RunningSearch | None = None
        self._cancelled = False
        self._lock = threading.Lock()

    def result(self) -> Ranking:
        chunks = self._k
        while True:
            ranking = self._search(chunks)
            if len(ranking) < chunks:
                return ranking
            candidates = self._count(ranking)
            if candidates >= self._k:
                return ranking
            if chunks >= MOST_CHUNKS:
                text = f"stopped after {chunks} chunks with {candidates} of {self._k} candidates"
                return ranking.noted(Note("info", text))
            expected = ceil(chunks * self._k / max(candidates, 1) * MARGIN)
            chunks = min(max(2 * chunks, expected), max(MOST_CHUNKS, self._k))

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            running = self._running
        if running is not None:
            running.cancel()

    def _search(self, chunks: int) -> Ranking:
        with self._lock:
            if self._cancelled:
                raise OutOfTime("called off")
            self._running = search = self._begin(chunks)
        return search.result()


def cut_to_candidates(ranking: Ranking, candidates: Ranking, k: int) -> Ranking:
    """The shortest prefix of a leg's ranking that holds its first k candidates; each goes by its first chunk."""
    if len(candidates) <= k:
        return ranking
    last = candidates.ids[k - 1]
    return ranking.take(slice(0, ranking.ids.tolist().index(last) + 1))
