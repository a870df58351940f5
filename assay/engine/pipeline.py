"""The engine on one screen: legs find, a fuser merges, steps rescore and select, every move is on the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from assay.engine.answer import Answer, Fate, Span, SpanKind, Status
from assay.engine.complete import completed
from assay.engine.cost_executor import CostExecutor, leg_job
from assay.engine.digests import query_digest, ranking_digest, unit
from assay.engine.foreign_chunks import SourceResult, attach
from assay.engine.laws import check_ranking, check_rows, check_same_ids, check_subset, check_tier_kept, check_united
from assay.engine.order import as_source, first_kept, top
from assay.engine.plan import LegPlan, StepPlan
from assay.errors import AssayError, ConfigError, LawBroken, ModelError, OutOfTime, QueryError
from assay.protocols import Executor, Fired, Fuser, Grouping, Job, Preparable, Selector, Snapshot, Stage, offers
from assay.types import Note, Query, Ranking, Vector
from assay.util.leg_threads import Task, submit

__all__ = ["LegPlan", "Pipeline", "StepPlan"]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole way of answering. `digest` covers the config, defaults included, and nothing else.

    `k` is what triggers read and what a caller gets who names no other; asking for fewer gives a prefix (law 9).
    With `complete` the fuser sees every leg's score of every candidate, see complete.py.
    `budget_ms` bounds all legs and steps together.
    """

    name: str
    legs: tuple[LegPlan, ...]
    fuser: Fuser | None
    steps: tuple[StepPlan, ...] = ()
    k: int = 10
    complete: bool = False
    digest: str = field(default="", compare=False)
    budget_ms: float | None = None

    def __post_init__(self) -> None:
        if not self.legs:
            raise ConfigError(f"pipeline {self.name!r} has no legs", "add one, e.g. [legs.bm25]")
        if self.fuser is None and len(self.legs) > 1:
            raise ConfigError(f"pipeline {self.name!r} has {len(self.legs)} legs and no [fuse]", '[fuse] use = "rrf"')
        if self.fuser is None and self.complete:
            raise ConfigError("complete = true has no effect without [fuse]", "add a fuser, or drop it")

    def run(
        self,
        query: Query,
        snapshot: Snapshot,
        embed: Callable[[str], Vector] | None = None,
        *,
        k: int | None = None,
        clock: Callable[[], float] = lambda: 0.0,
        asker: Executor | None = None,
    ) -> Answer:
        """Answer a query from a snapshot. `embed` makes the query's vector; `clock` (seconds) only measures; `asker`
        sends the legs and steps and keeps their times, by the plan's own costs when none is given."""
        start = clock()
        run = _Run(snapshot, clock, asker or CostExecutor(self.budget_ms))
        query = run.embed(query, self.needs("vector"), embed)
        found: dict[str, Ranking] = {plan.name: Ranking.empty(plan.leg.gives().scale) for plan in self.legs}
        with run.begun(self, query):
            for plan in self.legs:
                found[plan.name] = run.leg(plan, query, found, self)
        ranking = run.fuse(self, self.fuser, query, found) if self.fuser else next(iter(found.values()))
        for step in self.steps:
            ranking = run.step(step, query, ranking)
        chosen = top(ranking, self.k if k is None else k)
        return Answer(
            query=query,
            chosen=chosen,
            trace=tuple(run.spans),
            verdict=Status(len(chosen), tuple(run.degraded)),
            digests={
                "pipeline": self.digest,
                "snapshot": snapshot.digest,
                "query": query_digest(query),
                **run.brought,
            },
            snapshot=run.snapshot,
            ms=(clock() - start) * 1000.0,
        )

    def seeds(self, after: tuple[str, ...], query: Query, found: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        """What a leg with `after` may see: those legs' rankings, merged by this pipeline's own fuser."""
        if len(after) == 1 or self.fuser is None:
            return found[after[0]]
        seen = {n: r if n in after else Ranking.empty(r.scale) for n, r in found.items()}
        return self.fuser.fuse(query, seen, snapshot)

    def counted(self, found: Mapping[str, Ranking], snapshot: Snapshot) -> Mapping[str, Ranking]:
        """Rankings as a trigger reads them: where the fuser makes one candidate of several chunks, its candidates."""
        if self.fuser is None or not offers(type(self.fuser), Grouping):
            return found
        return cast(Grouping, self.fuser).grouped(found, snapshot)

    def needs(self, what: str) -> bool:
        parts = (*(p.leg for p in self.legs), self.fuser, *(s.step for s in self.steps))
        return any(what in getattr(part, "wants", part.needs) for part in parts if part is not None)


class _Run:
    """One run's trace in the making; every step passes through here, so every law is checked in one place."""

    def __init__(self, snapshot: Snapshot, clock: Callable[[], float], asker: Executor) -> None:
        self.snapshot = snapshot
        self.clock = clock
        self.asker = asker
        self.brought: dict[str, str] = {}
        self.spans: list[Span] = []
        self.degraded: list[str] = []
        self.no_vector = "the pipeline did not ask for a query vector"
        self._ahead: dict[str, Task[Ranking]] = {}
        self._took: dict[str, float] = {}

    def embed(self, query: Query, needed: bool, embed: Callable[[str], Vector] | None) -> Query:
        """Fill `query.vector` once. Without a model, what needs a vector is skipped, on the record."""
        if query.vector is not None:
            return replace(query, vector=unit(query.vector))
        if not needed:
            return query
        start = self.clock()
        missing = self.snapshot.lacks("dense")
        if missing:
            self.no_vector = missing
        elif not query.text.strip():
            self.no_vector = "the query is empty"
        elif embed is None:
            self.no_vector = "no embedding model is loaded; cure: assay model install"
        else:
            try:
                query = replace(query, vector=embed(query.text))
                self.no_vector = ""
            except ModelError as error:
                self.no_vector = f"{error.message}; cure: {error.cure}"
        fate: Fate = "unable" if self.no_vector else "ran"
        self._span("embed", "embed", 0, Ranking.empty("unit"), start, self.no_vector, fate)
        return query

    @contextmanager
    def begun(self, pipeline: Pipeline, query: Query) -> Iterator[None]:
        """Legs that wait for nothing and may run in another thread are begun together; see ahead.py. The heaviest is
        done here and now: its work may be shared once the others have ended.

        Not under a budget or a cap: what a leg may cost is then decided when its turn comes.
        """
        free = [
            plan
            for plan in pipeline.legs
            if getattr(plan.leg, "ahead", 0) and plan.when is None and not plan.after and plan.cap_ms is None
            if pipeline.budget_ms is None and not self._lacking(plan.leg.needs, query)
        ]
        try:
            if len(free) > 1:
                *others, mine = sorted(free, key=lambda plan: getattr(plan.leg, "ahead", 0))
                self._ahead |= {plan.name: submit(partial(self._timed, plan, query)) for plan in others}
                self._ahead[mine.name] = Task(partial(self._timed, mine, query))
                self._ahead[mine.name].help()
            yield
        finally:
            for begun in self._ahead.values():
                begun.drop()

    def _timed(self, plan: LegPlan, query: Query) -> Ranking:
        start = self.clock()
        found = plan.leg.find(query, self.snapshot, plan.k)
        self._took[plan.name] = self.clock() - start
        return found

    def leg(self, plan: LegPlan, query: Query, found: Mapping[str, Ranking], pipeline: Pipeline) -> Ranking:
        start = self.clock()
        empty, fired = found[plan.name], None
        if plan.when is not None:
            before = {p.name: found[p.name] for p in pipeline.legs[: pipeline.legs.index(plan)]}
            fired = plan.when.fires(query, pipeline.counted(before, self.snapshot), self.snapshot, pipeline.k)
            if not fired.yes:
                # A leg that was not wanted is no degradation: the plan says so.
                why = f"not triggered: {fired.why}"
                return self._span(plan.name, "leg", 0, empty, start, why, "not_triggered", fired)
        why_not = self._lacking(plan.leg.needs, query)
        if why_not:
            return self._skip(plan.name, "leg", empty, start, why_not, "unable", fired)
        seeds = pipeline.seeds(plan.after, query, found, self.snapshot) if plan.after else None
        try:
            errand = leg_job(plan, query, self.snapshot, seeds)
            if plan.name in self._ahead:
                errand = replace(errand, run=self._ahead[plan.name].result)
            ranking = self.asker.ask(errand)
            start = self.clock() - self._took.get(plan.name, self.clock() - start)
        except (LawBroken, QueryError):
            raise
        except AssayError as error:
            late = isinstance(error, OutOfTime)
            if plan.required and not late:
                raise
            return self._skip(plan.name, "leg", empty, start, _said(error), "out_of_time" if late else "failed", fired)
        if isinstance(ranking, SourceResult):
            self.snapshot, ranking = attach(self.snapshot, ranking, query)
            self.brought[f"legs.{plan.name}"] = ranking_digest(top(ranking, plan.k))
        self._check_rows(ranking, plan.leg, plan.name)
        ranking = as_source(top(first_kept(ranking), plan.k), plan.priority)
        if fired is not None:
            ranking = ranking.noted(Note("info", f"triggered: {fired.why}"))
        return self._span(plan.name, "leg", 0 if seeds is None else len(seeds), ranking, start, fired=fired)

    def fuse(self, pipeline: Pipeline, fuser: Fuser, query: Query, found: Mapping[str, Ranking]) -> Ranking:
        start = self.clock()
        seen: Mapping[str, Ranking] = found
        notes: tuple[Note, ...] = ()
        if pipeline.complete:
            legs = {plan.name: plan.leg for plan in pipeline.legs}
            seen, notes = completed(query, found, legs, self.snapshot)
        fused = fuser.fuse(query, seen, self.snapshot).noted(*notes)
        self._check_rows(fused, fuser, "fuse")
        check_united(found.values(), fused, "fuse")
        return self._span("fuse", "fuse", sum(map(len, found.values())), fused, start)

    def step(self, plan: StepPlan, query: Query, before: Ranking) -> Ranking:
        start = self.clock()
        chosen = plan.step
        stage = cast(Stage, chosen) if hasattr(chosen, "apply") else None  # to ask the protocol itself is slow
        kind: SpanKind = "stage" if stage else "select"
        why_not = self._lacking(plan.step.needs, query)
        if why_not:
            return self._skip(plan.name, kind, before, start, why_not, "unable")
        given, view = before.silent(), self.snapshot
        work = stage.apply if stage else cast(Selector, chosen).select
        errand = Job(plan.name, lambda: work(query, given, view), plan.cap_ms, plan.cost_ms)
        if offers(type(chosen), Preparable):
            errand = replace(errand, prepare=cast(Preparable, chosen).prepare)
        try:
            after = self.asker.ask(errand)
        except OutOfTime as late:
            return self._skip(plan.name, kind, before, start, _said(late), "out_of_time")
        if after is given and _ours(chosen):  # it changed nothing, and the laws hold for what it was given
            return self._span(plan.name, kind, len(before), after, start, checked=True)
        if stage:
            check_same_ids(before, after, plan.name)
            check_tier_kept(before, after, plan.name)
        else:
            check_subset(before, after, plan.name)
        self._check_rows(after, chosen, plan.name)
        return self._span(plan.name, kind, len(before), after, start)

    def _lacking(self, needs: frozenset[str], query: Query) -> str:
        for need in sorted(needs):
            if need == "vector":
                if query.vector is None:
                    return self.no_vector
            elif need not in self.snapshot.capabilities:
                return self.snapshot.lacks(need)
        return ""

    def _check_rows(self, gave: Ranking, component: object, name: str) -> None:
        """A plug-in's rows are checked against its ids; those of our own components are, by their tests."""
        if not _ours(component):
            check_rows(gave, self.snapshot, name)

    def _skip(
        self,
        name: str,
        kind: SpanKind,
        ranking: Ranking,
        start: float,
        why: str,
        fate: Fate,
        fired: Fired | None = None,
    ) -> Ranking:
        self.degraded.append(f"{name} skipped: {why}")
        return self._span(name, kind, len(ranking), ranking, start, why, fate, fired)

    def _span(
        self,
        name: str,
        kind: SpanKind,
        took: int,
        gave: Ranking,
        start: float,
        skipped: str = "",
        fate: Fate = "ran",
        fired: Fired | None = None,
        checked: bool = False,
    ) -> Ranking:
        if not skipped and not checked:
            check_ranking(gave, name)
        self.degraded.extend(f"{name}: {note.text}" for note in gave.notes if note.kind in ("degraded", "skipped"))
        ms = (self.clock() - start) * 1000.0
        notes, gave = gave.notes, gave.silent()
        self.spans.append(Span(name, kind, took, gave, skipped, notes, ms, fate, fired))
        return gave


def _ours(component: object) -> bool:
    """Is it one of Assay's own? What somebody else wrote may have written into the columns it was given."""
    return type(component).__module__.startswith("assay.")


def _said(error: AssayError) -> str:
    return f"{error.message}; cure: {error.cure}" if error.cure else error.message
