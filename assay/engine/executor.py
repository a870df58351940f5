"""Runs the legs and steps of one query as jobs. Three kinds of executor decide which job may run:

CostExecutor      by the plan's expected costs; reads no clock, so two runs agree byte for byte (the default)
DeadlineExecutor  by the clock: a job past its cap is cancelled, one expected to be too slow is not started
ReplayExecutor    as recorded when the answer was served (assay/replay.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

from assay.engine.overfetch import OverfetchingSearch
from assay.engine.plan import LegPlan, StepPlan
from assay.errors import OutOfTime
from assay.protocols import Cancellable, Preparable, RunningSearch, Snapshot, Stage, implements
from assay.types import Note, Query, Ranking
from assay.util.leg_threads import Task, submit

LATE = "late"
"""How the note of a job that ran past the budget begins."""


@dataclass(frozen=True, slots=True)
class Job:
    """A leg or step about to run: how it runs and is cancelled, what it may cost, what it is expected to cost.

    Milliseconds; `cap_ms` None means no cap of its own, `cost_ms` None that the plan expects nothing. `known_ms` is for
    a leg that knows what this very query costs (a recording); else it gives None. `prepare` runs once per process (load
    a library, open a store); neither cap nor budget covers it. A job with a `weight` may run in another thread beside
    others; the heaviest stays in the caller's. One that comes `first` is never dropped for the budget (router policy:
    must-first): past it, it is late, which its ranking notes. Its own cap still holds.
    """

    name: str
    run: Callable[[], Ranking]
    cap_ms: float | None = None
    cost_ms: float | None = None
    cancel: Callable[[], None] = lambda: None
    prepare: Callable[[], None] | None = None
    known_ms: Callable[[], float | None] = lambda: None
    weight: int = 0
    first: bool = False


def leg_job(
    plan: LegPlan,
    query: Query,
    snapshot: Snapshot,
    seeds: Ranking | None = None,
    *,
    count: Callable[[Ranking], int] | None = None,
    first: bool = False,
) -> Job:
    """A leg's search as a job. Nothing is asked of the leg yet.

    `count` counts the candidates in a ranking of chunks; the leg over-fetches until it has plan.k of them. None where
    each chunk is one.
    """
    leg = plan.leg
    free = plan.when is None and not plan.after

    def begin(k: int) -> RunningSearch:
        if implements(type(leg), Cancellable):
            return cast(Cancellable, leg).begin(query, snapshot, k)
        return _PlainSearch(lambda: leg.find(query, snapshot, k, seeds))

    search = begin(plan.k) if count is None else OverfetchingSearch(begin, plan.k, count)
    job = Job(
        plan.name,
        search.result,
        plan.cap_ms,
        plan.cost_ms,
        search.cancel,
        weight=getattr(leg, "parallel_weight", 0) if free else 0,
        first=first,
    )
    own_cost = getattr(leg, "cost_ms", None)
    if callable(own_cost):
        job = replace(job, known_ms=lambda: own_cost(query))
    return replace(job, prepare=cast(Preparable, leg).prepare) if implements(type(leg), Preparable) else job


@dataclass(frozen=True, slots=True)
class _PlainSearch:
    """A search that cannot be cancelled."""

    result: Callable[[], Ranking]

    def cancel(self) -> None:
        """Nothing to do: it runs to its end."""


def step_job(plan: StepPlan, query: Query, ranking: Ranking, snapshot: Snapshot) -> Job:
    """A stage or selector applied to a ranking, as a job."""
    step = plan.step
    apply = cast(Stage, step).apply if hasattr(step, "apply") else step.select
    job = Job(plan.name, lambda: apply(query, ranking, snapshot), plan.cap_ms, plan.cost_ms)
    return replace(job, prepare=cast(Preparable, step).prepare) if implements(type(step), Preparable) else job


class Executor:
    """Runs one query's jobs in their order. Subclasses implement `run`."""

    def __init__(self, budget_ms: float | None = None) -> None:
        self.budget_ms = budget_ms
        self._started: dict[str, Task[Ranking]] = {}

    def run(self, job: Job) -> Ranking:
        """The job's ranking; OutOfTime when it is not run, or not to its end."""
        raise NotImplementedError

    @contextmanager
    def start(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Run jobs with a weight beside each other: the heaviest in this thread, the others in worker threads.

        `run` then returns their results, in any order. Under a budget nothing is started early: what a job may cost is
        decided when its turn comes. At the end of the block, results nobody asked for are waited for and dropped.
        """
        free = sorted((job for job in jobs if job.weight and job.cap_ms is None), key=lambda job: job.weight)
        try:
            if len(free) > 1 and self.budget_ms is None:
                *others, heaviest = free
                self._started = {job.name: submit(job.run) for job in others}
                self._started[heaviest.name] = Task(heaviest.run)
                self._started[heaviest.name].try_run()
            yield
        finally:
            for task in self._started.values():
                task.cancel()

    def _result(self, job: Job) -> Ranking:
        """What the job gives: from its thread if it was started, else by running it now."""
        task = self._started.get(job.name)
        return job.run() if task is None else task.result()


class CostExecutor(Executor):
    """Admits jobs by their expected costs. Reads no clock and cancels nothing."""

    def __init__(self, budget_ms: float | None = None) -> None:
        super().__init__(budget_ms)
        self._spent = 0.0

    def run(self, job: Job) -> Ranking:
        known = job.known_ms()
        cost = (job.cost_ms or 0.0) if known is None else known
        refusal = refuse(cost, job.cap_ms, None if job.first else self.budget_ms, self._spent)
        if refusal:
            raise OutOfTime(refusal)
        self._spent += cost
        return note_late(self._result(job), self._spent, self.budget_ms)


def refuse(cost: float, cap: float | None, budget: float | None, spent: float) -> str:
    """Why a job of this cost may not run; "" when it may. Milliseconds."""
    if cap is not None and cost > cap:
        return f"it would cost {cost:.4g} ms, and its cap is {cap:g} ms"
    if budget is not None and spent + cost > budget:
        return f"it would cost {cost:.4g} ms, and {max(budget - spent, 0.0):.4g} of {budget:g} ms are left"
    return ""


def note_late(ranking: Ranking, spent: float, budget: float | None) -> Ranking:
    """The ranking, with a note if the query is past its budget by now. Milliseconds."""
    if budget is None or spent <= budget:
        return ranking
    return ranking.noted(Note("info", f"{LATE}: {spent:.0f} ms are spent, and the budget is {budget:g} ms"))
