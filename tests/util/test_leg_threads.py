"""Legs run in background threads: the answers are the same, and no thread is left running."""

import os
import threading
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from assay.config.load import load
from assay.engine.order import arrange
from assay.engine.pipeline import LegPlan, Pipeline
from assay.errors import StoreError
from assay.fuse.rrf import Rrf
from assay.protocols import Snapshot
from assay.testing.sample import QUERIES, sample_snapshot
from assay.types import Part, Query, Range, Ranking
from assay.util import leg_threads
from assay.util.leg_threads import Task, ThreadPool, run_all


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> ThreadPool:
    """Two threads, however many cores this machine has."""
    pool = ThreadPool(2)
    monkeypatch.setattr(leg_threads, "_pool", pool)
    return pool


@dataclass(frozen=True)
class RecordingLeg:
    """A leg that records the thread it runs in."""

    needs: ClassVar[frozenset[str]] = frozenset()
    parallel_weight: ClassVar[int] = 1
    ids: tuple[str, ...] = ("keys-1", "keys-2")
    wait: threading.Event | None = None
    error: Exception | None = None
    threads: list[int] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    began: threading.Event = field(default_factory=threading.Event)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        self.threads.append(threading.get_ident())
        self.began.set()
        if self.wait is not None:
            assert self.wait.wait(30.0), "nobody ran beside this leg"
        if self.error is not None:
            raise self.error
        self.done.append("done")
        return arrange(Ranking.of(list(self.ids), [Part("given", "add", np.linspace(1.0, 0.5, len(self.ids)))], "unit"))


class HeavyLeg(RecordingLeg):
    """It runs in the caller's thread."""

    parallel_weight: ClassVar[int] = 2


class SerialLeg(RecordingLeg):
    """A leg that does not declare that it may run in another thread."""

    parallel_weight: ClassVar[int] = 0


class ReleasingLeg(RecordingLeg):
    """Releases another leg that waits at the same time."""

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        assert self.wait is not None
        self.wait.set()
        return super().find(query, snapshot, k, seeds)


def run(*legs: LegPlan, budget_ms: float | None = None) -> list[str]:
    pipeline = Pipeline("t", legs, Rrf(), budget_ms=budget_ms)
    return pipeline.run(Query("x"), sample_snapshot()).chosen.ids.tolist()


def test_two_legs_run_at_once(threads: ThreadPool) -> None:
    """The heavy one waits for the light one: one after the other they would never end."""
    event = threading.Event()
    heavy, light = HeavyLeg(wait=event), ReleasingLeg(wait=event, ids=("keys-2", "time-1"))
    found = run(LegPlan("a", heavy), LegPlan("b", light))
    assert set(found) == {"keys-1", "keys-2", "time-1"}
    assert heavy.threads == [threading.get_ident()]
    assert light.threads != heavy.threads
    assert len(light.threads) == 1


def test_time_that_two_legs_spend_side_by_side_is_counted_once(threads: ThreadPool) -> None:
    """Two seconds pass while both are at work: two spans of two seconds, and two seconds in all."""
    now, event = [0.0], threading.Event()

    class Passing(HeavyLeg):
        def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
            assert light.began.wait(30.0)
            now[0] = 2.0
            event.set()
            return super().find(query, snapshot, k, seeds)

    light = RecordingLeg(wait=event, ids=("keys-2", "time-1"))
    pipeline = Pipeline("t", (LegPlan("a", Passing()), LegPlan("b", light)), Rrf())
    answer = pipeline.run(Query("x"), sample_snapshot(), clock=lambda: now[0])
    assert [span.ms for span in answer.trace] == [2000.0, 2000.0, 0.0]
    assert answer.ms == 2000.0


@pytest.mark.parametrize("kind", ["serial", "capped", "after", "budget"])
def test_a_leg_that_is_serial_or_must_wait_runs_in_its_turn(threads: ThreadPool, kind: str) -> None:
    second = (SerialLeg if kind == "serial" else RecordingLeg)(ids=("time-1",))
    plan = LegPlan("b", second, cap_ms=60_000.0 if kind == "capped" else None, after=("a",) if kind == "after" else ())
    first = RecordingLeg()

    class Order(RecordingLeg):
        def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
            assert not second.threads, "the second was begun before the first had ended"
            return super().find(query, snapshot, k, seeds)

    first = Order()
    run(LegPlan("a", first), plan, budget_ms=60_000.0 if kind == "budget" else None)
    assert len(second.threads) == 1


def test_a_leg_that_fails_in_a_thread_fails_as_in_its_turn(threads: ThreadPool) -> None:
    with pytest.raises(StoreError, match="gone"):
        run(
            LegPlan("a", RecordingLeg()), LegPlan("b", RecordingLeg(error=StoreError("gone", "rebuild")), required=True)
        )
    ids = run(
        LegPlan("a", RecordingLeg()), LegPlan("b", RecordingLeg(error=StoreError("gone", "rebuild")), required=False)
    )
    assert ids == ["keys-1", "keys-2"]


def test_nothing_is_left_running_when_the_first_leg_fails(threads: ThreadPool) -> None:
    event = threading.Event()
    second = RecordingLeg(wait=event)

    class Breaks(HeavyLeg):
        def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
            assert second.began.wait(30.0)
            event.set()
            raise StoreError("gone", "rebuild")

    with pytest.raises(StoreError):
        run(LegPlan("a", Breaks(), required=True), LegPlan("b", second))
    assert second.done == ["done"]


@pytest.mark.parametrize("name", ["default", "rrf", "weighted", "memory"])
def test_the_answer_is_the_same_from_any_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for size in (0, 1, 4):
        monkeypatch.setattr(leg_threads, "_pool", ThreadPool(size))
        answers.append([load(name).run(query, sample_snapshot()) for query in QUERIES])
    for few, more in zip(answers[0] * 2, answers[1] + answers[2], strict=True):
        assert few.digest == more.digest
        assert [span.name for span in few.trace] == [span.name for span in more.trace]


def test_a_cancelled_task_never_runs() -> None:
    threads, event, done = ThreadPool(1), threading.Event(), []
    threads.submit(lambda: event.wait(30.0))
    late = threads.submit(lambda: done.append("done"))
    late.cancel()
    event.set()
    threads.submit(lambda: None).result()
    late.try_run()
    assert done == []


def test_run_all_returns_values_in_order(threads: ThreadPool) -> None:
    for count in (1, 2, 9):
        assert run_all([lambda i=i: i * i for i in range(count)]) == [i * i for i in range(count)]


@pytest.mark.parametrize("wrong", [0, 3])
def test_run_all_raises_the_error_of_a_task(threads: ThreadPool, wrong: int) -> None:
    def share(number: int) -> int:
        if number == wrong:
            raise ValueError(number)
        return number

    with pytest.raises(ValueError, match=str(wrong)):
        run_all([lambda i=i: share(i) for i in range(5)])


def test_result_runs_inline_behind_a_busy_thread() -> None:
    threads, event = ThreadPool(1), threading.Event()
    busy: Task[bool] = threads.submit(lambda: event.wait(30.0))
    inline = threads.submit(threading.get_ident)
    assert inline.result() == threading.get_ident()
    event.set()
    assert busy.result()
    assert ThreadPool(0).submit(threading.get_ident).result() == threading.get_ident()


def test_a_thread_runs_many_tasks(threads: ThreadPool) -> None:
    names = set()
    for _ in range(50):
        task = threads.submit(lambda: threading.current_thread().name)
        names.add(task.result())
    assert names <= {"assay-leg", threading.current_thread().name}
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own(threads: ThreadPool) -> None:
    threads.submit(lambda: None).result()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if leg_threads.submit(lambda: 7).result() == 7 else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
