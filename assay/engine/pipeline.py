"""Runs a pipeline: legs find candidates, a fuser merges them, steps rescore and select; every step is on the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from assay.engine.answer import Answer, Degradation, Outcome, Span, SpanKind, Status
from assay.engine.answerability import AnswerabilityJudgement, Judge
from assay.engine.complete import complete_scores
from assay.engine.context import PackCandidate, PackedContext, Packer
from assay.engine.digests import contents_digest, normalise_vector, query_digest, ranking_digest
from assay.engine.executor import CostExecutor, Executor, Job, leg_job, step_job
from assay.engine.facts import chunks_of
from assay.engine.foreign_chunks import SourceResult, attach, base_snapshot
from assay.engine.laws import (
    check_context,
    check_ranking,
    check_rows,
    check_same_ids,
    check_subset,
    check_tier_kept,
    check_united,
)
from assay.engine.order import deduplicate, stamp_ranks, top
from assay.engine.overfetch import cut_to_candidates
from assay.engine.plan import LegPlan, StepPlan
from assay.errors import AssayError, ConfigError, LawBroken, ModelError, OutOfTime, QueryError, Reason
from assay.protocols import Fuser, GroupingFuser, Snapshot, TriggerDecision, implements
from assay.types import Note, Query, Ranking, Vector

__all__ = ["LegPlan", "Pipeline", "StepPlan"]

_NOT_ASKED = Reason("the pipeline did not ask for a query vector")
_EMPTY_QUERY = Reason("the query is empty")
_NO_JUDGE = Reason("nobody judges whether the question can be answered", "search through a knowledge base")
_NO_MODEL = Reason("no embedding model is loaded", "assay model install")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole way of answering. `digest` covers the config, defaults included, and nothing else.

    `k` is what triggers read, and the length of an answer when the caller names none; asking for fewer gives a prefix
    (law 9). With `complete` the fuser sees every leg's score of every candidate, see complete.py. `budget_ms` bounds
    all legs and steps together, but never drops the first leg, unless that has a trigger. With `abstain` a question
    that is judged impossible gets no results; they are on the trace. `packer` makes a context for a prompt from the
    ranking, which stays as it is; a question from which the pipeline abstains has none.
    """

    name: str
    legs: tuple[LegPlan, ...]
    fuser: Fuser | None
    steps: tuple[StepPlan, ...] = ()
    k: int = 10
    complete: bool = False
    digest: str = field(default="", compare=False)
    budget_ms: float | None = None
    abstain: bool = False
    packer: Packer | None = None

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
        executor: Executor | None = None,
        judge: Judge | None = None,
    ) -> Answer:
        """Answer a query from a snapshot. `embed` makes the query's vector; `clock` (seconds) only measures; `executor`
        runs the legs and steps, by default a CostExecutor with this pipeline's budget; `judge` says whether the
        question can be answered, at once where the pipeline abstains, otherwise when the answer's `answerability` is
        read."""
        start = clock()
        run = _Run(snapshot, clock, executor or CostExecutor(self.budget_ms))
        query = run.embed(query, self.needs("vector"), embed)
        rankings: dict[str, Ranking] = {plan.name: Ranking.empty(plan.leg.gives().scale) for plan in self.legs}
        with run.executor.start(run.independent_jobs(self, query)):
            for plan in self.legs:
                rankings[plan.name] = run.leg(plan, query, rankings, self)
        ranking = run.fuse(self, self.fuser, query, rankings) if self.fuser else next(iter(rankings.values()))
        for step in self.steps:
            ranking = run.step(step, query, ranking)
        chosen = top(ranking, self.k if k is None else k)
        judgement = None if judge is None else AnswerabilityJudgement(judge, query, run.snapshot, run.spans)
        kept = run.abstain(judgement, chosen) if self.abstain else chosen
        abstained = len(kept) < len(chosen)
        context = run.pack(self.packer, query, ranking) if self.packer and not abstained else None
        run.report_trouble()
        return Answer(
            query=query,
            chosen=kept,
            trace=tuple(run.spans),
            search_status=Status(len(kept), tuple(run.problems), abstained=abstained),
            digests={
                "pipeline": self.digest,
                "snapshot": contents_digest(snapshot, self.uses),
                "query": query_digest(query),
                **run.source_digests,
                **({} if context is None else {"context": context.digest}),
            },
            snapshot=run.snapshot,
            judgement=judgement,
            context=context,
            ms=(clock() - start) * 1000.0,
        )

    def seeds(
        self, after: tuple[str, ...], query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot
    ) -> Ranking:
        """What a leg with `after` may see: those legs' rankings, merged by this pipeline's own fuser."""
        if len(after) == 1 or self.fuser is None:
            return rankings[after[0]]
        visible = {
            name: ranking if name in after else Ranking.empty(ranking.scale) for name, ranking in rankings.items()
        }
        return self.fuser.fuse(query, visible, snapshot)

    def group_rankings(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Mapping[str, Ranking]:
        """Rankings as a trigger reads them: where the fuser makes one candidate of several chunks, its candidates."""
        return cast(GroupingFuser, self.fuser).group_candidates(rankings, snapshot) if self.groups else rankings

    @property
    def groups(self) -> bool:
        """Whether the fuser makes one candidate of several chunks; the k of a leg then counts candidates."""
        return self.fuser is not None and implements(type(self.fuser), GroupingFuser)

    def first_candidates(self, ranking: Ranking, plan: LegPlan, snapshot: Snapshot) -> Ranking:
        """The part of a leg's ranking that holds its first k candidates."""
        if not self.groups:
            return top(ranking, plan.k)
        return cut_to_candidates(ranking, self.group_rankings({plan.name: ranking}, snapshot)[plan.name], plan.k)

    @property
    def uses(self) -> frozenset[str]:
        """What its components would use."""
        parts = (*(p.leg for p in self.legs), self.fuser, *(s.step for s in self.steps), self.packer)
        return frozenset().union(*(wanted(part) for part in parts if part is not None))

    def needs(self, what: str) -> bool:
        return what in self.uses


class _Run:
    """One run of a pipeline and its trace so far. Every step passes through here, and every law is checked here."""

    def __init__(self, snapshot: Snapshot, clock: Callable[[], float], executor: Executor) -> None:
        self.snapshot = snapshot
        self.clock = clock
        self.executor = executor
        self.source_digests: dict[str, str] = {}
        self.spans: list[Span] = []
        self.problems: list[Degradation] = []
        self._no_vector: Reason | None = _NOT_ASKED
        self._seconds: dict[str, float] = {}

    def embed(self, query: Query, needed: bool, embed: Callable[[str], Vector] | None) -> Query:
        """Fill `query.vector` once. Without a model, what needs a vector is skipped, on the trace."""
        if query.vector is not None:
            return replace(query, vector=normalise_vector(query.vector))
        if not needed:
            return query
        start = self.clock()
        self._no_vector = self.snapshot.lacks("dense")
        if self._no_vector is None and not query.text.strip():
            self._no_vector = _EMPTY_QUERY
        elif self._no_vector is None and embed is None:
            self._no_vector = _NO_MODEL
        elif self._no_vector is None and embed is not None:
            try:
                query = replace(query, vector=embed(query.text))
            except ModelError as error:
                self._no_vector = error.reason
        outcome: Outcome = "unable" if self._no_vector else "ran"
        self._span("embed", "embed", 0, Ranking.empty("unit"), start, self._no_vector, outcome)
        return query

    def independent_jobs(self, pipeline: Pipeline, query: Query) -> list[Job]:
        """The legs that wait for nothing and have what they need; the executor may run them beside each other."""
        jobs = [
            self._leg_job(plan, query, pipeline) for plan in pipeline.legs if not self._lacking(plan.leg.needs, query)
        ]
        return [replace(job, run=partial(self._timed, job)) for job in jobs if job.weight]

    def _timed(self, job: Job) -> Ranking:
        start = self.clock()
        ranking = job.run()
        self._seconds[job.name] = self.clock() - start
        return ranking

    def leg(self, plan: LegPlan, query: Query, rankings: Mapping[str, Ranking], pipeline: Pipeline) -> Ranking:
        start = self.clock()
        empty, trigger = rankings[plan.name], None
        if plan.when is not None:
            before = {p.name: rankings[p.name] for p in pipeline.legs[: pipeline.legs.index(plan)]}
            trigger = plan.when.fires(query, pipeline.group_rankings(before, self.snapshot), self.snapshot, pipeline.k)
            if not trigger.yes:
                # A leg that its trigger did not ask for is no degradation: the plan says so.
                reason = Reason(f"not triggered: {trigger.why}")
                return self._span(plan.name, "leg", 0, empty, start, reason, "not_triggered", trigger)
        lacking = self._lacking(plan.leg.needs, query)
        if lacking:
            return self._skip(plan.name, "leg", empty, start, lacking, "unable", trigger)
        seeds = pipeline.seeds(plan.after, query, rankings, self.snapshot) if plan.after else None
        try:
            ranking = self.executor.run(self._leg_job(plan, query, pipeline, seeds))
            start = self.clock() - self._seconds.get(plan.name, self.clock() - start)
        except (LawBroken, QueryError):
            raise
        except AssayError as error:
            late = isinstance(error, OutOfTime)
            if plan.required and not late:
                raise
            outcome: Outcome = "out_of_time" if late else "failed"
            return self._skip(plan.name, "leg", empty, start, error.reason, outcome, trigger)
        is_source = isinstance(ranking, SourceResult)
        if isinstance(ranking, SourceResult):
            self.snapshot, ranking = attach(self.snapshot, ranking, query)
        self._check_rows(ranking, plan.leg, plan.name)
        ranking = pipeline.first_candidates(deduplicate(ranking), plan, self.snapshot)
        if is_source:
            self.source_digests[f"legs.{plan.name}"] = ranking_digest(ranking)
        ranking = stamp_ranks(ranking, plan.priority)
        if trigger is not None:
            ranking = ranking.noted(Note("info", f"triggered: {trigger.why}"))
        return self._span(plan.name, "leg", 0 if seeds is None else len(seeds), ranking, start, trigger=trigger)

    def _leg_job(self, plan: LegPlan, query: Query, pipeline: Pipeline, seeds: Ranking | None = None) -> Job:
        snapshot = self.snapshot

        def count(ranking: Ranking) -> int:
            view = snapshot
            if isinstance(ranking, SourceResult):
                view, ranking = attach(view, ranking, query)
            return len(pipeline.group_rankings({plan.name: ranking}, view)[plan.name])

        first = plan is pipeline.legs[0] and plan.when is None
        return leg_job(plan, query, snapshot, seeds, count=count if pipeline.groups else None, first=first)

    def fuse(self, pipeline: Pipeline, fuser: Fuser, query: Query, rankings: Mapping[str, Ranking]) -> Ranking:
        start = self.clock()
        inputs: Mapping[str, Ranking] = rankings
        notes: tuple[Note, ...] = ()
        if pipeline.complete:
            legs = {plan.name: plan.leg for plan in pipeline.legs}
            inputs, notes = complete_scores(query, rankings, legs, self.snapshot)
        fused = fuser.fuse(query, inputs, self.snapshot).noted(*notes)
        self._check_rows(fused, fuser, "fuse")
        check_united(rankings.values(), fused, "fuse")
        return self._span("fuse", "fuse", sum(map(len, rankings.values())), fused, start)

    def step(self, plan: StepPlan, query: Query, before: Ranking) -> Ranking:
        start = self.clock()
        is_stage = hasattr(plan.step, "apply")  # isinstance of the protocol is slow
        kind: SpanKind = "stage" if is_stage else "select"
        lacking = self._lacking(plan.step.needs, query)
        if lacking:
            return self._skip(plan.name, kind, before, start, lacking, "unable")
        silent = before.silent()
        try:
            after = self.executor.run(step_job(plan, query, silent, self.snapshot))
        except OutOfTime as late:
            return self._skip(plan.name, kind, before, start, late.reason, "out_of_time")
        if after is silent and _is_ours(plan.step):  # it changed nothing, and its input obeys the laws
            return self._span(plan.name, kind, len(before), after, start, checked=True)
        if is_stage:
            check_same_ids(before, after, plan.name)
            check_tier_kept(before, after, plan.name)
        else:
            check_subset(before, after, plan.name)
        self._check_rows(after, plan.step, plan.name)
        return self._span(plan.name, kind, len(before), after, start)

    def report_trouble(self) -> None:
        """Put on the status what was wrong with the store's index, if something was: answers may be slower then."""
        trouble: Reason | None = getattr(base_snapshot(self.snapshot), "trouble", None)
        if trouble is not None:
            self.problems.append(Degradation("index", trouble))

    def abstain(self, judgement: AnswerabilityJudgement | None, chosen: Ranking) -> Ranking:
        """Withhold the results of an impossible question; the trace names each of them with the reason. Where the
        judge fails, the results stand and the status says why."""
        start = self.clock()
        answerability = None if judgement is None else judgement.read()
        if answerability is None:
            return self._skip("abstain", "select", chosen, start, _NO_JUDGE, "unable")
        if answerability.answerable or not len(chosen):
            return self._span("abstain", "select", len(chosen), chosen, start, checked=True)
        why = f"{answerability.kind}: {answerability.why}"
        kept = chosen.take(slice(0)).noted(Note("dropped", why, tuple(chosen.ids.tolist())))
        return self._span("abstain", "select", len(chosen), kept, start)

    def pack(self, packer: Packer, query: Query, ranking: Ranking) -> PackedContext:
        """Make the context. Packing is neither leg nor step: no deadline skips it, and it changes no ranking."""
        start = self.clock()
        candidates = list(read_candidates(packer, ranking, self.snapshot))
        context = packer.pack(query, candidates, self.snapshot)
        check_context(context, candidates)
        self._span("context", "pack", len(candidates), ranking.silent().noted(*context.notes), start, checked=True)
        return context

    def _lacking(self, needs: frozenset[str], query: Query) -> Reason | None:
        """Why a component that needs these cannot run; None when it can."""
        for need in sorted(needs):
            if need == "vector":
                if query.vector is None:
                    return self._no_vector
            elif need not in self.snapshot.capabilities:
                return self.snapshot.lacks(need)
        return None

    def _check_rows(self, ranking: Ranking, component: object, name: str) -> None:
        """Check a plug-in's rows against its ids; our own components are covered by their tests."""
        if not _is_ours(component):
            check_rows(ranking, self.snapshot, name)

    def _skip(
        self,
        name: str,
        kind: SpanKind,
        ranking: Ranking,
        start: float,
        reason: Reason,
        outcome: Outcome,
        trigger: TriggerDecision | None = None,
    ) -> Ranking:
        self.problems.append(Degradation(name, reason, skipped=True))
        return self._span(name, kind, len(ranking), ranking, start, reason, outcome, trigger)

    def _span(
        self,
        name: str,
        kind: SpanKind,
        candidates_in: int,
        ranking: Ranking,
        start: float,
        reason: Reason | None = None,
        outcome: Outcome = "ran",
        trigger: TriggerDecision | None = None,
        checked: bool = False,
    ) -> Ranking:
        """Check the ranking, put the step on the trace, and return the ranking without its notes."""
        if reason is None and not checked:
            check_ranking(ranking, name)
        degraded = (note for note in ranking.notes if note.kind in ("degraded", "skipped"))
        self.problems.extend(Degradation(name, note.reason) for note in degraded)
        ms = (self.clock() - start) * 1000.0
        notes, ranking = ranking.notes, ranking.silent()
        self.spans.append(Span(name, kind, candidates_in, ranking, reason, notes, ms, outcome, trigger))
        return ranking


def read_candidates(packer: Packer, ranking: Ranking, snapshot: Snapshot) -> Iterator[PackCandidate]:
    """The first candidates: as many as the packer asks for, and more until they hold twice the budget."""
    tokens = first = 0
    while first < len(ranking) and (first < packer.pool or tokens < 2 * packer.tokens):
        part = ranking.take(slice(first, first + packer.pool))
        for place, chunk in enumerate(chunks_of(part, snapshot), first + 1):
            if chunk is not None:
                tokens += chunk.tokens
                yield PackCandidate(place, chunk, float(ranking.score[place - 1]))
        first += packer.pool


def wanted(component: Any) -> frozenset[str]:
    """What a component would use: what it needs, or more."""
    found: frozenset[str] = getattr(component, "wants", getattr(component, "needs", frozenset()))
    return found


def _is_ours(component: object) -> bool:
    """Is it one of Assay's own? A plug-in may have written into the columns it was given."""
    return type(component).__module__.startswith("assay.")
