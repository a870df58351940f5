"""The three executors run the same jobs: by planned cost, by the clock, as recorded; and jobs that run beside
others."""

import os
import threading

import pytest

from assay.config.load import from_dict
from assay.engine.executor import CostExecutor, Executor, Job, leg_job
from assay.errors import OutOfTime, Reason, StoreError
from assay.testing.sample import sample_snapshot
from assay.types import Query, Ranking

RANKING = Ranking.empty("unit")


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core: nothing runs beside anything")
def test_weighted_jobs_run_beside_each_other_and_the_heaviest_stays_here():
    threads = {}
    both = threading.Barrier(2, timeout=30.0)

    def job(name: str, weight: int) -> Job:
        def run() -> Ranking:
            threads[name] = threading.current_thread()
            both.wait()  # passes only if the two run at the same time
            return RANKING

        return Job(name, run, weight=weight)

    jobs = [job("light", 1), job("heavy", 2)]
    executor = CostExecutor()
    with executor.start(jobs):
        assert all(executor.run(one) is RANKING for one in jobs)
    assert threads["heavy"] is threading.main_thread()
    assert threads["light"] is not threading.main_thread()


@pytest.mark.parametrize(
    ("budget", "jobs"),
    [
        (100.0, [Job("a", lambda: RANKING, weight=1), Job("b", lambda: RANKING, weight=2)]),
        (None, [Job("a", lambda: RANKING, weight=1), Job("b", lambda: RANKING, cap_ms=5.0, weight=2)]),
        (None, [Job("a", lambda: RANKING, weight=1), Job("b", lambda: RANKING)]),
        (None, [Job("a", lambda: RANKING, weight=1)]),
    ],
    ids=["a budget", "a cap", "no weight", "one alone"],
)
def test_nothing_is_started_early_under_a_limit_or_alone(budget, jobs):
    executor = CostExecutor(budget)
    with executor.start(jobs):
        assert executor._started == {}


def test_a_started_job_runs_once_and_raises_where_it_is_asked_for():
    calls = []

    def broken() -> Ranking:
        calls.append(1)
        raise StoreError("gone", "rebuild")

    executor = CostExecutor()
    jobs = [Job("a", broken, weight=1), Job("b", lambda: RANKING, weight=2)]
    with executor.start(jobs):
        assert executor.run(jobs[1]) is RANKING
        with pytest.raises(StoreError, match="gone"):
            executor.run(jobs[0])
    assert calls == [1]


def test_a_started_job_still_obeys_its_cost():
    executor = CostExecutor()
    jobs = [Job("a", lambda: RANKING, cost_ms=5.0, weight=1), Job("b", lambda: RANKING, weight=2)]
    with executor.start(jobs):
        executor.budget_ms = 1.0  # as if it had been spent meanwhile
        with pytest.raises(OutOfTime, match="it would cost 5 ms"):
            executor.run(jobs[0])


def test_a_leg_that_waits_for_others_has_no_weight():
    pipeline = from_dict(
        {
            "legs": {"bm25": {}, "dense": {"when": {"use": "fewer_than", "count": 3}}},
            "fuse": {"use": "rrf"},
        }
    )
    jobs = [leg_job(plan, Query("key"), sample_snapshot()) for plan in pipeline.legs]
    assert [job.weight > 0 for job in jobs] == [True, False]


def test_the_base_class_runs_nothing():
    with pytest.raises(NotImplementedError):
        Executor().run(Job("a", lambda: RANKING))


def test_a_reason_is_text_and_cure():
    assert str(Reason("no model", "install one")) == "no model; cure: install one"
    assert str(Reason("the query is empty")) == "the query is empty"
    error = StoreError("it is gone", "rebuild it")
    assert error.reason == Reason("it is gone", "rebuild it")
    back = error.reason.as_error(StoreError)
    assert (type(back), back.message, back.cure) == (StoreError, "it is gone", "rebuild it")
