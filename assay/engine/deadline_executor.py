"""Runs jobs under the clock: a job past its cap is cancelled, one expected to be too slow is not started.

A job with a cap, or under a budget, runs in a thread of its own. Past its time it is cancelled; one that cannot be
cancelled runs on, and until it ends the same job is not started again, so threads never pile up. What a job does once
per process (`prepare`) counts against no query, but nobody waits for it longer than PREPARE_S: it goes on in its
thread, and the next query finds it done.

    expected cost = what the leg knows of this very query (a recording); else the median of the last HISTORY_SIZE costs
                    under its name; until there are MIN_SAMPLES of them, what the plan says

A cancelled job counts with what it had cost by then. One that is refused by its expected cost runs all the same every
RETRY-th time, so a source that has recovered is noticed. What a recording took does not recover. The job that comes
first is never refused or cancelled for the budget, only for its own cap; past the budget it is noted as late.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from statistics import median
from typing import Generic, TypeVar, cast

from assay.engine.executor import Executor, Job, note_late, refuse
from assay.errors import OutOfTime
from assay.types import Note, Ranking
from assay.util.closeable import Closeable

T = TypeVar("T")

HISTORY_SIZE = 21
MIN_SAMPLES = 3
"""Fewer costs are no estimate: the first answer is often the slowest, and must not shut out the next nine."""
MAX_NAMES = 1_000
"""How many jobs costs are kept for: a caller's token budget makes another pipeline, and so another name."""
RETRY = 10
PREPARE_S = 30.0
REPORT_PREPARE_FROM_S = 0.1
GRACE_S = 0.05
"""How long to wait for a cancelled job, so that its thread has ended when the answer is returned."""
CLOSE_TIMEOUT_S = 30.0
"""How long `close` waits for a job that cannot be cancelled; its thread ends with the process at the latest."""


class CostHistory:
    """What jobs have cost, by name. Safe for threads."""

    def __init__(self) -> None:
        self._costs: OrderedDict[str, deque[float]] = OrderedDict()
        self._refused: dict[str, int] = {}
        self._lock = threading.Lock()

    def expected(self, name: str) -> float | None:
        with self._lock:
            costs = self._costs.get(name)
            return median(costs) if costs and len(costs) >= MIN_SAMPLES else None

    def add(self, name: str, ms: float, times: int = 1) -> None:
        with self._lock:
            self._costs.setdefault(name, deque(maxlen=HISTORY_SIZE)).extend([ms] * times)
            self._costs.move_to_end(name)
            self._refused.pop(name, None)
            if len(self._costs) > MAX_NAMES:
                self._refused.pop(self._costs.popitem(last=False)[0], None)

    def try_again(self, name: str) -> bool:
        """Count a refusal; True for every RETRY-th, which runs all the same."""
        with self._lock:
            self._refused[name] = self._refused.get(name, 0) + 1
            return self._refused[name] % RETRY == 0


class Deadlines(Closeable):
    """Shared by all queries of a process: the cost history, and jobs that still run after their deadline.

    `clock` in seconds.
    """

    def __init__(self, clock: Callable[[], float], history: CostHistory | None = None) -> None:
        self._clock = clock
        self.history = history or CostHistory()
        self._lock = threading.Lock()
        self._late: list[tuple[str, _JobThread[object]]] = []
        self._ready: set[str] = set()

    def executor(self, pipeline_digest: str, budget_ms: float | None) -> DeadlineExecutor:
        """The executor of one query; its budget starts now."""
        return DeadlineExecutor(self, pipeline_digest, budget_ms, self._clock)

    def run(self, key: str, job: Job, within_ms: float) -> Ranking:
        """The job's ranking; OutOfTime when it takes longer, or an earlier one still does."""
        self._check_idle(key)
        start = self._clock()
        thread = _JobThread(job.name, job.run, job.cancel)
        try:
            done = thread.wait(None if math.isinf(within_ms) else within_ms / 1000.0)
        except BaseException:  # the caller was interrupted: nobody wants the result any more
            thread.cancel()
            raise
        spent = (self._clock() - start) * 1000.0
        self.history.add(key, spent)
        if done:
            return thread.result()
        self._abandon(key, thread)
        limit = "its cap is" if job.cap_ms == within_ms else "the budget left it"
        raise OutOfTime(f"cancelled after {spent:.0f} ms, {limit} {within_ms:.4g} ms")

    def prepare(self, key: str, job: Job) -> float:
        """Run the job's `prepare` once per process; the seconds it took. OutOfTime when it takes too long to wait."""
        if job.prepare is None or key in self._ready:
            return 0.0
        self._check_idle(key)
        start = self._clock()
        thread = _JobThread(job.name, job.prepare)
        try:
            if not thread.wait(PREPARE_S):
                self._abandon(key, thread)
                raise OutOfTime(f"not ready after {PREPARE_S:g} s", "it is asked again when it is")
            thread.result()
        except BaseException:  # its cost counts at once, or every query would wait for it anew
            self.history.add(key, (self._clock() - start) * 1000.0, MIN_SAMPLES)
            raise
        if len(self._ready) > MAX_NAMES:
            self._ready.clear()  # preparing twice costs next to nothing
        self._ready.add(key)
        return self._clock() - start

    def _check_idle(self, key: str) -> None:
        with self._lock:
            self._late = [(name, thread) for name, thread in self._late if thread.is_alive()]
            if key in [name for name, _ in self._late]:
                raise OutOfTime("the last one is still under way", "it is asked again when that has ended")

    def _abandon(self, key: str, thread: _JobThread[T]) -> None:
        """Cancel a job; remember it if it still runs after a moment."""
        thread.cancel()
        thread.join(GRACE_S)
        if thread.is_alive():
            with self._lock:
                self._late.append((key, cast("_JobThread[object]", thread)))

    @property
    def late_jobs(self) -> int:
        """How many jobs still run after their deadline."""
        with self._lock:
            return sum(thread.is_alive() for _, thread in self._late)

    def close(self) -> None:
        """Cancel late jobs and wait for each, CLOSE_TIMEOUT_S at most: none may read a store that is being closed."""
        with self._lock:
            late, self._late = self._late, []
        for _, thread in late:
            thread.cancel()
            thread.join(CLOSE_TIMEOUT_S)


class DeadlineExecutor(Executor):
    """One query's jobs under caps and a budget."""

    def __init__(
        self, deadlines: Deadlines, pipeline_digest: str, budget_ms: float | None, clock: Callable[[], float]
    ) -> None:
        super().__init__(budget_ms)
        self._deadlines, self._digest, self._clock = deadlines, pipeline_digest, clock
        self._start = clock()

    def run(self, job: Job) -> Ranking:
        if job.cap_ms is None and self.budget_ms is None:
            return self._result(job)
        key = f"{self._digest} {job.name}"
        history = self._deadlines.history
        spent = (self._clock() - self._start) * 1000.0
        known = job.known_ms()
        cost = next((ms for ms in (known, history.expected(key), job.cost_ms) if ms is not None), 0.0)
        budget = None if job.first else self.budget_ms
        left = math.inf if budget is None else budget - spent
        if left <= 0.0:
            raise OutOfTime(f"the budget of {budget:g} ms is used up")
        refusal = refuse(cost, job.cap_ms, budget, spent)
        if refusal and (known is not None or not history.try_again(key)):
            raise OutOfTime(refusal)
        prepared_s = self._deadlines.prepare(key, job)
        self._start += prepared_s
        ranking = self._deadlines.run(key, job, left if job.cap_ms is None else min(left, job.cap_ms))
        if job.first:
            ranking = note_late(ranking, (self._clock() - self._start) * 1000.0, self.budget_ms)
        if prepared_s < REPORT_PREPARE_FROM_S:
            return ranking
        return ranking.noted(Note("info", f"{prepared_s:.1f} s of its time went into getting ready, once per process"))


class _JobThread(Generic[T]):
    """A job in a thread of its own."""

    def __init__(self, name: str, work: Callable[[], T], cancel: Callable[[], None] = lambda: None) -> None:
        self.cancel = cancel
        self._work = work
        self._done = threading.Event()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"assay-{name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:  # raised by `result`, in the caller's thread
            self._error = error
        self._done.set()

    def wait(self, seconds: float | None) -> bool:
        return self._done.wait(seconds)

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return cast(T, self._value)
