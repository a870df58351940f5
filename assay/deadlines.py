"""Deadlines that hold: an errand past its cap is called off, and what was expected to be too slow is not begun.

An errand with a cap, or under a budget, runs in a thread of its own. Past its time it is cancelled; one that cannot be
cancelled is left to end by itself, and until then the same errand is not begun again, so threads never pile up.

    expected cost = what the leg knows of this very query (a recording); else the median of the last REMEMBERED costs
                    under its name; until there is one, what the plan says

A cancelled errand is remembered at what it had cost by then. One that is refused by its expected cost is tried all the
same every RETRY-th time: a source that has recovered is found out.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from statistics import median

from assay.asking import refusal
from assay.closing import Closing
from assay.errors import OutOfTime
from assay.protocols import Errand
from assay.types import Ranking

REMEMBERED = 21
RETRY = 10
GRACE_S = 0.05
"""How long a cancelled errand is waited for, so that its thread is gone when the answer is there."""
PATIENCE_S = 30.0
"""How long closing waits for one that cannot be cancelled; its thread ends with the process at the latest."""


class Record:
    """What errands have cost, by name; safe for threads."""

    def __init__(self) -> None:
        self._costs: dict[str, deque[float]] = {}
        self._refused: dict[str, int] = {}
        self._lock = threading.Lock()

    def expected(self, name: str) -> float | None:
        with self._lock:
            costs = self._costs.get(name)
            return median(costs) if costs else None

    def add(self, name: str, ms: float) -> None:
        with self._lock:
            self._costs.setdefault(name, deque(maxlen=REMEMBERED)).append(ms)
            self._refused.pop(name, None)

    def try_again(self, name: str) -> bool:
        """Count a refusal; True for every RETRY-th, which is begun all the same."""
        with self._lock:
            self._refused[name] = self._refused.get(name, 0) + 1
            return self._refused[name] % RETRY == 0


class Deadlines(Closing):
    """One keeper for all queries of a process: its record, and the errands that are under way. `clock` in seconds."""

    def __init__(self, clock: Callable[[], float], record: Record | None = None) -> None:
        self._clock = clock
        self.record = record or Record()
        self._lock = threading.Lock()
        self._left: dict[str, _Sent] = {}

    def query(self, of: str, budget_ms: float | None) -> Watched:
        """The asker of one query of the pipeline `of` (its digest); its budget begins now."""
        return Watched(self, of, budget_ms, self._clock)

    def send(self, key: str, errand: Errand, within_ms: float) -> Ranking:
        """The errand's ranking; OutOfTime when it takes longer, or an earlier one still does."""
        with self._lock:
            before = self._left.pop(key, None)
            if before is not None and before.thread.is_alive():
                self._left[key] = before
                raise OutOfTime("the last one is still under way", "it is asked again when that has ended")
        start = self._clock()
        sent = _Sent(errand)
        if sent.wait(within_ms / 1000.0):
            self.record.add(key, (self._clock() - start) * 1000.0)
            return sent.result()
        errand.cancel()
        spent = (self._clock() - start) * 1000.0
        self.record.add(key, spent)
        sent.thread.join(GRACE_S)
        if sent.thread.is_alive():
            with self._lock:
                self._left[key] = sent
        raise OutOfTime(f"cancelled after {spent:.0f} ms, its cap is {within_ms:.4g} ms")

    @property
    def under_way(self) -> int:
        """Errands that were left behind and have not ended yet."""
        with self._lock:
            return sum(sent.thread.is_alive() for sent in self._left.values())

    def close(self) -> None:
        """Wait for what was left behind, PATIENCE_S at most: nobody should read a store that is being closed."""
        with self._lock:
            left, self._left = list(self._left.values()), {}
        for sent in left:
            sent.errand.cancel()
            sent.thread.join(PATIENCE_S)


class Watched:
    """One query's errands under caps and a budget."""

    def __init__(self, keeper: Deadlines, of: str, budget_ms: float | None, clock: Callable[[], float]) -> None:
        self._keeper, self._of, self._budget, self._clock = keeper, of, budget_ms, clock
        self._start = clock()

    def ask(self, errand: Errand) -> Ranking:
        if errand.cap_ms is None and self._budget is None:
            return errand.run()
        key = f"{self._of} {errand.name}"
        record = self._keeper.record
        spent = (self._clock() - self._start) * 1000.0
        expected = (errand.known_ms(), record.expected(key), errand.cost_ms)
        cost = next((ms for ms in expected if ms is not None), 0.0)
        why_not = refusal(cost, errand.cap_ms, self._budget, spent)
        over = self._budget is not None and spent >= self._budget
        if why_not and (over or not record.try_again(key)):
            raise OutOfTime(why_not)
        left = [limit for limit in (errand.cap_ms, None if self._budget is None else self._budget - spent) if limit]
        errand.prepare()
        return self._keeper.send(key, errand, min(left))


class _Sent:
    """An errand in its thread."""

    def __init__(self, errand: Errand) -> None:
        self.errand = errand
        self._done = threading.Event()
        self._gave: Ranking | BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=f"assay-{errand.name}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._gave = self.errand.run()
        except BaseException as error:  # handed over, and raised where it is waited for
            self._gave = error
        self._done.set()

    def wait(self, seconds: float) -> bool:
        return self._done.wait(seconds)

    def result(self) -> Ranking:
        assert self._gave is not None
        if isinstance(self._gave, BaseException):
            raise self._gave
        return self._gave
