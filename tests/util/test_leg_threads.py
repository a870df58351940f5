"""Legs begun ahead: the same answers, from more than one thread, and nothing left behind."""

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
from assay.util import leg_threads as ahead
from assay.util.leg_threads import Task, ThreadPool, run_all


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> ThreadPool:
    """Two threads, however many cores this machine has."""
    made = ThreadPool(2)
    monkeypatch.setattr(ahead, "_threads", made)
    return made


@dataclass(frozen=True)
class Seen:
    """A leg that says from which thread it was asked."""

    needs: ClassVar[frozenset[str]] = frozenset()
    ahead: ClassVar[int] = 1
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


class Heavy(Seen):
    """It stays with the caller."""

    ahead: ClassVar[int] = 2


class Unasked(Seen):
    """A leg that never said it may be asked from elsewhere."""

    ahead: ClassVar[int] = 0


class Opener(Seen):
    """Lets another leg go on: only somebody beside it can have been waiting."""

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
    heavy, light = Heavy(wait=event), Opener(wait=event, ids=("keys-2", "time-1"))
    found = run(LegPlan("a", heavy), LegPlan("b", light))
    assert set(found) == {"keys-1", "keys-2", "time-1"}
    assert heavy.threads == [threading.get_ident()]
    assert light.threads != heavy.threads
    assert len(light.threads) == 1


def test_time_that_two_legs_spend_side_by_side_is_counted_once(threads: ThreadPool) -> None:
    """Two seconds pass while both are at work: two spans of two seconds, and two seconds in all."""
    now, event = [0.0], threading.Event()

    class Passing(Heavy):
        def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
            assert light.began.wait(30.0)
            now[0] = 2.0
            event.set()
            return super().find(query, snapshot, k, seeds)

    light = Seen(wait=event, ids=("keys-2", "time-1"))
    pipeline = Pipeline("t", (LegPlan("a", Passing()), LegPlan("b", light)), Rrf())
    answer = pipeline.run(Query("x"), sample_snapshot(), clock=lambda: now[0])
    assert [span.ms for span in answer.trace] == [2000.0, 2000.0, 0.0]
    assert answer.ms == 2000.0


@pytest.mark.parametrize("kind", ["unasked", "capped", "after", "budget"])
def test_who_did_not_offer_or_has_to_wait_is_asked_in_its_turn(threads: ThreadPool, kind: str) -> None:
    second = (Unasked if kind == "unasked" else Seen)(ids=("time-1",))
    plan = LegPlan("b", second, cap_ms=60_000.0 if kind == "capped" else None, after=("a",) if kind == "after" else ())
    first = Seen()

    class Order(Seen):
        def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
            assert not second.threads, "the second was begun before the first had ended"
            return super().find(query, snapshot, k, seeds)

    first = Order()
    run(LegPlan("a", first), plan, budget_ms=60_000.0 if kind == "budget" else None)
    assert len(second.threads) == 1


def test_a_leg_that_breaks_ahead_breaks_as_in_its_turn(threads: ThreadPool) -> None:
    with pytest.raises(StoreError, match="gone"):
        run(LegPlan("a", Seen()), LegPlan("b", Seen(error=StoreError("gone", "rebuild")), required=True))
    kept = run(LegPlan("a", Seen()), LegPlan("b", Seen(error=StoreError("gone", "rebuild")), required=False))
    assert kept == ["keys-1", "keys-2"]


def test_nothing_is_left_running_when_the_first_leg_breaks(threads: ThreadPool) -> None:
    event = threading.Event()
    second = Seen(wait=event)

    class Breaks(Heavy):
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
    for most in (0, 1, 4):
        monkeypatch.setattr(ahead, "_threads", ThreadPool(most))
        answers.append([load(name).run(query, sample_snapshot()) for query in QUERIES])
    for few, more in zip(answers[0] * 2, answers[1] + answers[2], strict=True):
        assert few.digest == more.digest
        assert [span.name for span in few.trace] == [span.name for span in more.trace]


def test_what_nobody_took_up_is_dropped_with_the_question() -> None:
    threads, event, done = ThreadPool(1), threading.Event(), []
    threads.begin(lambda: event.wait(30.0))
    late = threads.begin(lambda: done.append("done"))
    late.drop()
    event.set()
    threads.begin(lambda: None).result()
    late.help()
    assert done == []


def test_shares_come_back_in_their_order_whoever_did_them(threads: ThreadPool) -> None:
    for count in (1, 2, 9):
        assert run_all([lambda i=i: i * i for i in range(count)]) == [i * i for i in range(count)]


@pytest.mark.parametrize("wrong", [0, 3])
def test_a_share_that_breaks_breaks_the_whole(threads: ThreadPool, wrong: int) -> None:
    def share(number: int) -> int:
        if number == wrong:
            raise ValueError(number)
        return number

    with pytest.raises(ValueError, match=str(wrong)):
        run_all([lambda i=i: share(i) for i in range(5)])


def test_nobody_queues_behind_a_busy_thread() -> None:
    threads, event = ThreadPool(1), threading.Event()
    busy: Task[bool] = threads.begin(lambda: event.wait(30.0))
    inline = threads.begin(threading.get_ident)
    assert inline.result() == threading.get_ident()
    event.set()
    assert busy.result()
    assert ThreadPool(0).begin(threading.get_ident).result() == threading.get_ident()


def test_a_thread_serves_again(threads: ThreadPool) -> None:
    names = set()
    for _ in range(50):
        begun = threads.begin(lambda: threading.current_thread().name)
        names.add(begun.result())
    assert names <= {"assay-ahead", threading.current_thread().name}
    with pytest.raises(ZeroDivisionError):
        threads.begin(lambda: 1 // 0).result()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own(threads: ThreadPool) -> None:
    threads.begin(lambda: None).result()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if ahead.submit(lambda: 7).result() == 7 else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
