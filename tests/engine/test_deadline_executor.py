"""Deadlines: what is refused, what is called off, what is remembered, and that nothing is left running."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from assay.config.nested import Nested
from assay.engine import deadline_executor
from assay.engine.deadline_executor import HISTORY_SIZE, MAX_NAMES, MIN_SAMPLES, RETRY, CostHistory, Deadlines
from assay.engine.executor import CostExecutor, Job, refuse
from assay.engine.pipeline import LegPlan, Pipeline, StepPlan
from assay.errors import OutOfTime, StoreError
from assay.fuse.rrf import Rrf
from assay.legs.bm25 import Bm25
from assay.testing.build import found
from assay.testing.sample import sample_snapshot
from assay.types import Query

GAVE = found({"a": 1.0})


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """An job that blocks until it is released, or cancelled when it can be."""

    def __init__(self, clock: Clock, cancellable: bool = True) -> None:
        self.clock, self.cancellable = clock, cancellable
        self.begun, self.go, self.calls = threading.Event(), threading.Event(), 0

    def run(self):
        self.calls += 1
        self.begun.set()
        self.go.wait()
        return GAVE

    def cancel(self) -> None:
        if self.cancellable:
            self.go.set()

    def job(self, cap_ms: float = 20.0, cost_ms: float | None = None) -> Job:
        return Job("second", self.run, cap_ms, cost_ms, self.cancel)


def quick(cap_ms=600.0, cost_ms=None, clock=None, takes=0.0):
    def run():
        if clock is not None:
            clock.now += takes / 1000.0
        return GAVE

    return Job("second", run, cap_ms, cost_ms)


def test_the_plan_decides_by_costs_alone():
    assert refuse(600.0, 600.0, None, 0.0) == "", "at its cap it may run"
    assert refuse(601.0, 600.0, None, 0.0) == "it would cost 601 ms, and its cap is 600 ms"
    assert refuse(500.0, 600.0, 1500.0, 1100.0) == "it would cost 500 ms, and 400 of 1500 ms are left"
    assert refuse(0.0, 600.0, 1500.0, 1500.0) == ""
    executor = CostExecutor(1500.0)
    for _ in range(2):
        assert executor.run(quick(cost_ms=600.0)) is GAVE
    with pytest.raises(OutOfTime, match=r"300 of 1500 ms are left"):
        executor.run(quick(cost_ms=600.0))
    assert executor.run(quick(cost_ms=300.0)) is GAVE, "a refused one costs nothing"
    assert CostExecutor().run(quick(cap_ms=1.0)) is GAVE, "a cost that nobody knows is 0"


def test_without_a_cap_there_is_no_thread():
    with Deadlines(Clock()) as deadlines:
        names = []
        job = Job("x", lambda: names.append(threading.current_thread()) or GAVE)
        assert deadlines.executor("p", None).run(job) is GAVE
        assert names == [threading.current_thread()]


def test_past_its_cap_it_is_cancelled_and_its_thread_is_gone(monkeypatch):
    monkeypatch.setattr(deadline_executor, "GRACE_S", 30.0)  # on a busy machine a thread may take its time to end
    clock = Clock()
    slow = Slow(clock)
    with Deadlines(clock) as deadlines:
        with pytest.raises(OutOfTime, match=r"cancelled after 0 ms, its cap is 20 ms"):
            deadlines.executor("p", None).run(slow.job())
        assert deadlines.late_jobs == 0
        assert "assay-second" not in [thread.name for thread in threading.enumerate()]
        deadlines.history.add("p second", 0.0, MIN_SAMPLES - 1)
        assert deadlines.history.expected("p second") == 0.0, "a cancelled one counts with what it had cost"


def test_what_nobody_waits_for_any_more_is_called_off(monkeypatch):
    """Ctrl-C while an job runs: it must not go on behind a program that has ended."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(deadline_executor._JobThread, "wait", interrupted)
    slow = Slow(Clock())
    with Deadlines(Clock()) as deadlines, pytest.raises(KeyboardInterrupt):
        deadlines.executor("p", None).run(slow.job())
    assert slow.go.is_set(), "it was cancelled"


def test_what_cannot_be_cancelled_is_not_begun_twice():
    clock = Clock()
    slow = Slow(clock, cancellable=False)
    deadlines = Deadlines(clock)
    with pytest.raises(OutOfTime, match="cancelled"):
        deadlines.executor("p", None).run(slow.job())
    assert deadlines.late_jobs == 1
    for _ in range(3):
        with pytest.raises(OutOfTime, match="still under way"):
            deadlines.executor("p", None).run(slow.job())
    assert slow.calls == 1, "threads do not pile up"
    slow.go.set()
    deadlines.close()
    assert deadlines.late_jobs == 0
    assert deadlines.executor("p", None).run(quick()) is GAVE


def test_costs_are_remembered_and_refuse_up_front():
    clock = Clock()
    with Deadlines(clock) as deadlines:
        for _ in range(MIN_SAMPLES):  # one slow answer shuts nobody out
            assert deadlines.executor("p", None).run(quick(cap_ms=600.0, clock=clock, takes=700.0)) is GAVE
        with pytest.raises(OutOfTime, match=r"it would cost 700 ms, and its cap is 600 ms"):
            deadlines.executor("p", None).run(quick(clock=clock, takes=700.0))
        assert deadlines.executor("another pipeline", None).run(quick()) is GAVE, (
            "a record belongs to one pipeline's leg"
        )
        refused = 1
        while True:  # a source that has recovered is found out
            try:
                deadlines.executor("p", None).run(quick(clock=clock, takes=1.0))
                break
            except OutOfTime:
                refused += 1
        assert refused == RETRY - 1


def test_what_a_recording_took_does_not_recover():
    """Every time the same: a replayed report must not be asked once in ten times."""
    job = Job("second", lambda: GAVE, 600.0, known_ms=lambda: 700.0)
    with Deadlines(Clock()) as deadlines:
        deadlines.history.add("p second", 1.0, MIN_SAMPLES)  # reading the file is quick, which is not what was recorded
        for _ in range(2 * RETRY):
            with pytest.raises(OutOfTime, match=r"it would cost 700 ms, and its cap is 600 ms"):
                deadlines.executor("p", None).run(job)


def test_what_the_plan_expects_counts_until_there_is_a_record():
    clock = Clock()
    with Deadlines(clock) as deadlines:
        with pytest.raises(OutOfTime, match="900 ms"):
            deadlines.executor("p", None).run(quick(cost_ms=900.0))
        deadlines.history.add("p second", 10.0, MIN_SAMPLES)
        assert deadlines.executor("p", None).run(quick(cost_ms=900.0)) is GAVE


def test_the_record_is_a_median_of_the_last():
    history = CostHistory()
    assert history.expected("x") is None
    for cost in [1.0, 2.0, 900.0]:
        history.add("x", cost)
    assert history.expected("x") == 2.0, "one slow answer changes little"
    for _ in range(HISTORY_SIZE):
        history.add("x", 5.0)
    assert history.expected("x") == 5.0


def test_the_numbers_that_the_document_names():
    """docs/router.md: the median of the last 21 (three at least), tried again every tenth time, half a minute."""
    assert (HISTORY_SIZE, MIN_SAMPLES, RETRY, deadline_executor.PREPARE_S) == (21, 3, 10, 30.0)


def test_the_budget_is_of_the_whole_query():
    clock = Clock()
    with Deadlines(clock) as deadlines:
        executor = deadlines.executor("p", 1000.0)
        assert executor.run(Job("first", quick(clock=clock, takes=800.0).run)) is GAVE
        deadlines.history.add("p second", 300.0, MIN_SAMPLES)
        with pytest.raises(OutOfTime, match=r"it would cost 300 ms, and 200 of 1000 ms are left"):
            executor.run(quick())
        clock.now += 5.0
        with pytest.raises(OutOfTime):
            executor.run(Job("third", lambda: GAVE))
        assert deadlines.executor("p", 1000.0).run(quick()) is GAVE, "another query has a budget of its own"


def test_what_an_errand_raises_is_raised_here():
    def broken():
        raise StoreError("gone", "mend it")

    with Deadlines(Clock()) as deadlines, pytest.raises(StoreError, match="gone"):
        deadlines.executor("p", None).run(Job("x", broken, 600.0))


def test_everyone_who_is_left_behind_is_known():
    """Questions that come at the same time each begin the job; none of their threads is forgotten."""
    slow = Slow(Clock(), cancellable=False)
    deadlines = Deadlines(Clock())
    together = threading.Barrier(4)

    def ask(_):
        together.wait()
        with pytest.raises(OutOfTime, match="cancelled"):
            deadlines.run("p second", slow.job(), 20.0)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    assert deadlines.late_jobs == slow.calls == 4
    slow.go.set()
    deadlines.close()
    assert deadlines.late_jobs == 0


def test_a_budget_that_is_used_up_to_the_millisecond():
    clock = Clock()
    with Deadlines(clock) as deadlines:
        executor = deadlines.executor("p", 1000.0)
        clock.now = 1.0
        for cap in (None, 600.0):
            with pytest.raises(OutOfTime, match=r"the budget of 1000 ms is used up"):
                executor.run(quick(cap_ms=cap))


def test_what_the_budget_cuts_short_says_so():
    clock = Clock()
    with Deadlines(clock) as deadlines:
        executor = deadlines.executor("p", 30.0)
        clock.now = 0.01
        with pytest.raises(OutOfTime, match=r"cancelled after 0 ms, the budget left it 20 ms"):
            executor.run(Slow(clock).job(cap_ms=600.0))


def test_of_so_many_errands_costs_are_kept():
    history = CostHistory()
    for number in range(MAX_NAMES + 1):
        history.add(f"p{number}", 5.0, MIN_SAMPLES)
    assert history.expected("p0") is None
    assert history.expected("p1") == 5.0


def test_preparing_is_outside_the_cap_and_the_budget_and_done_once():
    clock, said, seen = Clock(), [], []

    def prepare() -> None:
        clock.now += 3.0
        said.append("loaded")

    with Deadlines(clock) as deadlines:
        executor = deadlines.executor("p", 1500.0)
        for _ in range(2):
            gave = executor.run(Job("x", lambda: GAVE, 600.0, prepare=prepare))
            assert gave.ids.tolist() == ["a"]
            seen.append([note.text for note in gave.notes])
        deadlines.history.add("p x", 0.0)
        assert deadlines.history.expected("p x") == 0.0
        assert said == ["loaded"]
        assert seen == [["3.0 s of its time went into getting ready, once per process"], []]


@dataclass(frozen=True)
class Reader:
    """A step that loads something first."""

    needs: ClassVar[frozenset[str]] = frozenset()
    clock: Clock
    loads: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        self.clock.now += 3.0
        self.loads.append("loaded")

    def apply(self, query, ranking, snapshot):
        assert self.loads
        return ranking

    def gives(self, given):
        return given


def test_a_step_gets_ready_outside_its_cap_as_a_leg_does():
    """A reranker's model takes a second to load: its cap of 200 ms is about reading."""
    clock = Clock()
    reader = Reader(clock)
    leg = LegPlan("bm25", Bm25())
    pipeline = Pipeline("t", (leg,), None, (StepPlan("reader", reader, cap_ms=200.0),), budget_ms=1500.0)
    with Deadlines(clock) as deadlines:
        for _ in range(2):
            answer = pipeline.run(Query("key"), sample_snapshot(), executor=deadlines.executor("p", pipeline.budget_ms))
            assert [span.outcome for span in answer.trace] == ["ran", "ran"]
            assert not answer.status.degraded
    assert reader.loads == ["loaded"]


@pytest.mark.parametrize("broken", [False, True], ids=["it can", "it cannot"])
def test_what_is_inside_a_leg_gets_ready_outside_its_cap(broken):
    """One part that cannot get ready costs nothing but itself."""
    clock = Clock()

    class Loading(Bm25):
        def prepare(self) -> None:
            clock.now += 3.0
            if broken:
                raise StoreError("not there")

    reader = Reader(clock)
    plans = (LegPlan("loading", Loading()), LegPlan("bm25", Bm25()))
    inner = Pipeline("inner", plans, Rrf(), (StepPlan("reader", reader),))
    pipeline = Pipeline("t", (LegPlan("first", Nested(inner), cap_ms=600.0),), None, budget_ms=1500.0)
    with Deadlines(clock) as deadlines:
        answer = pipeline.run(Query("key"), sample_snapshot(), executor=deadlines.executor("p", pipeline.budget_ms))
    assert [span.outcome for span in answer.trace] == ["ran"]
    assert len(answer)
    assert (reader.loads, clock.now) == (["loaded"], 6.0)


def test_nobody_waits_forever_for_what_is_being_prepared(monkeypatch):
    monkeypatch.setattr(deadline_executor, "PREPARE_S", 0.02)
    open_, calls = threading.Event(), []

    def prepare() -> None:
        calls.append(1)
        open_.wait()

    job = Job("x", lambda: GAVE, 600.0, prepare=prepare)
    with Deadlines(Clock()) as deadlines:
        with pytest.raises(OutOfTime, match="not ready after"):
            deadlines.executor("p", None).run(job)
        with pytest.raises(OutOfTime, match="still under way"):
            deadlines.executor("p", None).run(job)
        assert calls == [1]
        open_.set()
        while deadlines.late_jobs:
            pass
        monkeypatch.undo()
        assert deadlines.executor("p", None).run(job) is GAVE


def test_a_source_that_cannot_be_opened_is_not_waited_for_every_time():
    """An unreachable server takes seconds to say so, outside any cap: the next question expects that."""
    clock, tries = Clock(), []

    def prepare() -> None:
        tries.append(1)
        clock.now += 5.0
        raise StoreError("no answer", "start it")

    job = Job("x", lambda: GAVE, 600.0, prepare=prepare)
    with Deadlines(clock) as deadlines:
        with pytest.raises(StoreError, match="no answer"):
            deadlines.executor("p", None).run(job)
        with pytest.raises(OutOfTime, match=r"it would cost 5000 ms, and its cap is 600 ms"):
            deadlines.executor("p", None).run(job)
        assert tries == [1]
