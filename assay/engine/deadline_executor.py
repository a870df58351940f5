"""Deadlines that hold: an errand past its cap is called off, and what was expected to be too slow is not begun.

An errand with a cap, or under a budget, runs in a thread of its own. Past its time it is cancelled; one that cannot be
cancelled is left to end by itself, and until then the same errand is not begun again, so threads never pile up.
What an errand does once per process (`prepare`) is on no question's clock, but nobody waits for it longer than
PREPARE_S: it goes on by itself, and whoever asks next finds it done.

    expected cost = what the leg knows of this very query (a recording); else the median of the last REMEMBERED costs
                    under its name; until there are LEAST of them, what the plan says

A cancelled errand is remembered at what it had cost by then. One that is refused by its expected cost is tried all the
same every RETRY-th time: a source that has recovered is found out. What a recording took does not recover.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from statistics import median
from typing import Generic, TypeVar, cast

from assay.engine.cost_executor import refusal
from assay.errors import OutOfTime
from assay.protocols import Job
from assay.types import Note, Ranking
from assay.util.closing import Closing

T = TypeVar("T")

REMEMBERED = 21
LEAST = 3
"""Fewer costs say nothing: the first answer is often the slowest, and one must not shut out the next nine."""
MOST_NAMES = 1_000
"""Of how many errands costs are kept: a caller's token budget makes another pipeline, and so another name."""
RETRY = 10
PREPARE_S = 30.0
WORTH_SAYING_S = 0.1
GRACE_S = 0.05
"""How long a cancelled errand is waited for, so that its thread is gone when the answer is there."""
PATIENCE_S = 30.0
"""How long closing waits for one that cannot be cancelled; its thread ends with the process at the latest."""


class CostHistory:
    """What errands have cost, by name; safe for threads."""

    def __init__(self) -> None:
        self._costs: OrderedDict[str, deque[float]] = OrderedDict()
        self._refused: dict[str, int] = {}
        self._lock = threading.Lock()

    def expected(self, name: str) -> float | None:
        with self._lock:
            costs = self._costs.get(name)
            return median(costs) if costs and len(costs) >= LEAST else None

    def add(self, name: str, ms: float, times: int = 1) -> None:
        with self._lock:
            self._costs.setdefault(name, deque(maxlen=REMEMBERED)).extend([ms] * times)
            self._costs.move_to_end(name)
            self._refused.pop(name, None)
            if len(self._costs) > MOST_NAMES:
                self._refused.pop(self._costs.popitem(last=False)[0], None)

    def try_again(self, name: str) -> bool:
        """Count a refusal; True for every RETRY-th, which is begun all the same."""
        with self._lock:
            self._refused[name] = self._refused.get(name, 0) + 1
            return self._refused[name] % RETRY == 0


class DeadlineKeeper(Closing):
    """One keeper for all queries of a process: its record, and the errands that are under way. `clock` in seconds."""

    def __init__(self, clock: Callable[[], float], record: CostHistory | None = None) -> None:
        self._clock = clock
        self.record = record or CostHistory()
        self._lock = threading.Lock()
        self._left: list[tuple[str, _RunningJob[object]]] = []
        self._ready: set[str] = set()

    def query(self, of: str, budget_ms: float | None) -> DeadlineExecutor:
        """The asker of one query of the pipeline `of` (its digest); its budget begins now."""
        return DeadlineExecutor(self, of, budget_ms, self._clock)

    def send(self, key: str, errand: Job, within_ms: float) -> Ranking:
        """The errand's ranking; OutOfTime when it takes longer, or an earlier one still does."""
        self._check_free(key)
        start = self._clock()
        sent = _RunningJob(errand.name, errand.run, errand.cancel)
        try:
            done = sent.wait(within_ms / 1000.0)
        except BaseException:  # whoever asked was interrupted: nobody wants it any more
            sent.cancel()
            raise
        spent = (self._clock() - start) * 1000.0
        self.record.add(key, spent)
        if done:
            return sent.result()
        self._leave(key, sent)
        limit = "its cap is" if errand.cap_ms == within_ms else "the budget left it"
        raise OutOfTime(f"cancelled after {spent:.0f} ms, {limit} {within_ms:.4g} ms")

    def prepare(self, key: str, errand: Job) -> float:
        """Do what is done once per process; the seconds it took. OutOfTime when it takes too long for this question."""
        if errand.prepare is None or key in self._ready:
            return 0.0
        self._check_free(key)
        start = self._clock()
        sent = _RunningJob(errand.name, errand.prepare)
        try:
            if not sent.wait(PREPARE_S):
                self._leave(key, sent)
                raise OutOfTime(f"not ready after {PREPARE_S:g} s", "it is asked again when it is")
            sent.result()
        except BaseException:  # what it cost counts at once, or every question would wait for it anew
            self.record.add(key, (self._clock() - start) * 1000.0, LEAST)
            raise
        if len(self._ready) > MOST_NAMES:
            self._ready.clear()  # to be ready twice costs next to nothing
        self._ready.add(key)
        return self._clock() - start

    def _check_free(self, key: str) -> None:
        with self._lock:
            self._left = [(name, sent) for name, sent in self._left if sent.thread.is_alive()]
            if key in [name for name, _ in self._left]:
                raise OutOfTime("the last one is still under way", "it is asked again when that has ended")

    def _leave(self, key: str, sent: _RunningJob[T]) -> None:
        """Call it off; whoever is still at work after a moment is remembered."""
        sent.cancel()
        sent.thread.join(GRACE_S)
        if sent.thread.is_alive():
            with self._lock:
                self._left.append((key, cast("_RunningJob[object]", sent)))

    @property
    def under_way(self) -> int:
        """Errands that were left behind and have not ended yet."""
        with self._lock:
            return sum(sent.thread.is_alive() for _, sent in self._left)

    def close(self) -> None:
        """Wait for what was left behind, PATIENCE_S at most: nobody should read a store that is being closed."""
        with self._lock:
            left, self._left = self._left, []
        for _, sent in left:
            sent.cancel()
            sent.thread.join(PATIENCE_S)


class DeadlineExecutor:
    """One query's errands under caps and a budget."""

    def __init__(self, keeper: DeadlineKeeper, of: str, budget_ms: float | None, clock: Callable[[], float]) -> None:
        self._keeper, self._of, self._budget, self._clock = keeper, of, budget_ms, clock
        self._start = clock()

    def ask(self, errand: Job) -> Ranking:
        if errand.cap_ms is None and self._budget is None:
            return errand.run()
        key = f"{self._of} {errand.name}"
        record = self._keeper.record
        spent = (self._clock() - self._start) * 1000.0
        known = errand.known_ms()
        expected = (known, record.expected(key), errand.cost_ms)
        cost = next((ms for ms in expected if ms is not None), 0.0)
        left = math.inf if self._budget is None else self._budget - spent
        if left <= 0.0:
            raise OutOfTime(f"the budget of {self._budget:g} ms is used up")
        why_not = refusal(cost, errand.cap_ms, self._budget, spent)
        if why_not and (known is not None or not record.try_again(key)):
            raise OutOfTime(why_not)
        ready = self._keeper.prepare(key, errand)
        self._start += ready
        gave = self._keeper.send(key, errand, left if errand.cap_ms is None else min(left, errand.cap_ms))
        if ready < WORTH_SAYING_S:
            return gave
        return gave.noted(Note("info", f"{ready:.1f} s of its time went into getting ready, once per process"))


class _RunningJob(Generic[T]):
    """Work in its thread."""

    def __init__(self, name: str, work: Callable[[], T], cancel: Callable[[], None] = lambda: None) -> None:
        self.cancel = cancel
        self._work = work
        self._done = threading.Event()
        self._gave: T | None = None
        self._broke: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=f"assay-{name}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._gave = self._work()
        except BaseException as error:  # handed over, and raised where it is waited for
            self._broke = error
        self._done.set()

    def wait(self, seconds: float) -> bool:
        return self._done.wait(seconds)

    def result(self) -> T:
        if self._broke is not None:
            raise self._broke
        return cast(T, self._gave)
