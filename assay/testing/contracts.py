"""Contract suites: what every leg, fuser, stage and selector must do, whoever wrote it.

Each check runs a component over generated rankings (short, full of ties, some empty) and raises LawBroken naming
the law, or whatever the component itself raises. Call them from a test:

    def test_contract() -> None:
        check_stage(MyStage(weight=0.3))

The laws are numbered as in ARCHITECTURE.md. Examples are generated from a fixed seed, so a failure repeats.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.engine.foreign_chunks import SourceResult, attach
from assay.engine.laws import check_ranking, check_same_ids, check_subset, check_tier_kept
from assay.errors import AssayError, LawBroken
from assay.protocols import Fuser, Leg, Rater, Selector, Snapshot, Stage, Trigger
from assay.testing.sample import CHUNKS, QUERIES, sample_snapshot
from assay.testing.strategies import UNIT, leg_rankings, rankings
from assay.types import Query, Range, Ranking

NEEDS = frozenset({"vector", "lexical", "dense", "exact", "graph"})
TWO_LEGS: Mapping[str, Range] = {"bm25": UNIT, "dense": UNIT}
_IDS = tuple(chunk.id for chunk in CHUNKS)
_generated = settings(
    max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def check_leg(leg: Leg, snapshot: Snapshot, queries: Sequence[Query] = QUERIES) -> None:
    """A leg finds live chunks, in the one order, the same twice; fewer is a prefix of more (law 9).

    One that rates gives what it found the same parts as when it found it. One that may be asked ahead gives the same
    from another thread.
    """
    _check_component(leg, Leg)
    for query in queries:
        if _lacking(leg.needs, query, snapshot):
            continue
        most = leg.find(query, snapshot, 50)
        check_ranking(most, _name(leg))
        _check_range(most, leg.gives(), _name(leg))
        _check_known(most, snapshot, _name(leg))
        _same(most, leg.find(query, snapshot, 50), f"{_name(leg)}: two runs differ (law 5)")
        if getattr(leg, "ahead", 0):
            _same(most, _elsewhere(leg, query, snapshot), f"{_name(leg)}: another thread is answered otherwise (law 5)")
        for k in (1, 3):
            fewer = leg.find(query, snapshot, k)
            if fewer.ids.tolist() != most.ids[:k].tolist():
                raise LawBroken(f"{_name(leg)}: asking for {k} is not a prefix of asking for 50 (law 9)")
        if isinstance(leg, Rater) and len(most):
            rated = leg.rate(query, snapshot, snapshot.rows(most.ids))
            _same(most, dataclasses.replace(most, parts=tuple(rated)), f"{_name(leg)}: rates otherwise than it finds")


def _elsewhere(leg: Leg, query: Query, snapshot: Snapshot) -> Ranking:
    with ThreadPoolExecutor(1) as other:
        return other.submit(leg.find, query, snapshot, 50).result()


def check_source(source: Leg, queries: Sequence[Query] = QUERIES, snapshot: Snapshot | None = None) -> None:
    """A leg that looks elsewhere brings a chunk for every id, in the one order, the same twice; fewer is a prefix."""
    _check_component(source, Leg)
    name, view = _name(source), snapshot or sample_snapshot()
    for query in queries:
        try:
            most = source.find(query, view, 50)
        except AssayError as error:
            if not error.message:
                raise LawBroken(f"{name}: an error without a word") from error
            continue  # it cannot answer this one, and says why: the pipeline records the skip
        if not isinstance(most, SourceResult):
            raise LawBroken(f"{name}: looks elsewhere, but brings no chunks")
        ranking = attach(view, most)[1]
        check_ranking(ranking, name)
        _check_range(ranking, source.gives(), name)
        _same(ranking, attach(view, _brought(source, query, view, 50))[1], f"{name}: two runs differ (law 5)")
        for k in (1, 3):
            if _brought(source, query, view, k).ids.tolist() != most.ids[:k].tolist():
                raise LawBroken(f"{name}: asking for {k} is not a prefix of asking for 50 (law 9)")


def _brought(source: Leg, query: Query, view: Snapshot, k: int) -> SourceResult:
    found = source.find(query, view, k)
    assert isinstance(found, SourceResult)
    return found


def check_trigger(trigger: Trigger, legs: Mapping[str, Range] = TWO_LEGS) -> None:
    """A trigger says which one decided, why, and the same twice, whatever was found."""
    trigger.check(legs)
    snapshot, name = sample_snapshot(), _name(trigger)

    @_generated
    @given(st.sampled_from(QUERIES), leg_rankings(legs, _IDS), st.integers(1, 20))
    def holds(query: Query, found: dict[str, Ranking], k: int) -> None:
        fired = trigger.fires(query, found, snapshot, k)
        if not fired.why or not fired.name:
            raise LawBroken(f"{name}: decided without saying why")
        if fired.observed is None or not np.isfinite(fired.observed):
            raise LawBroken(f"{name}: decided without the value it saw")
        if fired != trigger.fires(query, found, snapshot, k):
            raise LawBroken(f"{name}: two runs differ (law 5)")

    holds()


def check_fuser(fuser: Fuser, legs: Mapping[str, Range] = TWO_LEGS) -> None:
    """A fuser adds no id (1), keeps the one order (2 to 4), ignores empty legs (6) and, if it says so, order (7)."""
    _check_component(fuser, Fuser)
    name, made = _name(fuser), fuser.gives(legs)
    snapshot, query = sample_snapshot(), QUERIES[0]

    @_generated
    @given(leg_rankings(legs, _IDS))
    def holds(found: dict[str, Ranking]) -> None:
        before = [_bytes(r) for r in found.values()]
        fused = fuser.fuse(query, found, snapshot)
        check_ranking(fused, name)
        _check_range(fused, made, name)
        known = {str(chunk) for r in found.values() for chunk in r.ids}
        if not set(fused.ids.tolist()) <= known:
            raise LawBroken(f"{name}: added an id that no leg found (law 1)")
        _same(fused, fuser.fuse(query, found, snapshot), f"{name}: two runs differ (law 5)")
        if before != [_bytes(r) for r in found.values()]:
            raise LawBroken(f"{name}: changed the rankings it was given")
        without = fuser.fuse(query, {leg: r for leg, r in found.items() if len(r)}, snapshot)
        if without.ids.tolist() != fused.ids.tolist():
            raise LawBroken(f"{name}: an empty leg changes the order (law 6)")
        if fuser.symmetric:
            turned = fuser.fuse(query, dict(reversed(found.items())), snapshot)
            _same(fused, turned, f"{name}: symmetric, yet the order of the legs matters (law 7)")

    holds()


def check_stage(stage: Stage, within: Range = UNIT, snapshot: Snapshot | None = None) -> None:
    """A stage keeps ids and tiers, the one order, its range, and the ranking it was given."""
    _check_component(stage, Stage)

    def check(before: Ranking, after: Ranking) -> None:
        check_same_ids(before, after, _name(stage))
        check_tier_kept(before, after, _name(stage))

    _check_step(stage.apply, stage.gives(within), stage, within, snapshot or sample_snapshot(), check)


def check_selector(selector: Selector, within: Range = UNIT, snapshot: Snapshot | None = None) -> None:
    """A selector adds nothing (1), rescores nothing, and gives every drop a reason."""
    _check_component(selector, Selector)
    name = _name(selector)

    def check(before: Ranking, after: Ranking) -> None:
        check_subset(before, after, name)
        scores = dict(zip(before.ids.tolist(), before.score.tolist(), strict=True))
        if any(scores[i] != s for i, s in zip(after.ids.tolist(), after.score.tolist(), strict=True)):
            raise LawBroken(f"{name}: a selector must not rescore; that is a stage's work")
        reasons = {i for note in after.notes if note.kind == "dropped" for i in note.ids}
        if set(before.ids.tolist()) - set(after.ids.tolist()) - reasons:
            raise LawBroken(f"{name}: dropped an id without a reason")

    _check_step(selector.select, selector.gives(within), selector, within, snapshot or sample_snapshot(), check)


def _check_step(
    run: Callable[[Query, Ranking, Snapshot], Ranking],
    made: Range,
    step: Stage | Selector,
    within: Range,
    snapshot: Snapshot,
    check: Callable[[Ranking, Ranking], None],
) -> None:
    name = _name(step)
    queries = [query for query in QUERIES if not _lacking(step.needs, query, snapshot)]

    @_generated
    @given(st.sampled_from(queries), rankings(_IDS, within, tiers=True))
    def holds(query: Query, before: Ranking) -> None:
        was = _bytes(before)
        after = run(query, before, snapshot)
        check_ranking(after, name)
        check(before, after)
        _check_known(after, snapshot, name)
        ran = all(note.kind not in ("skipped", "degraded") for note in after.notes)
        _check_range(after, made if ran else within, name)
        _same(after, run(query, before, snapshot), f"{name}: two runs differ (law 5)")
        if was != _bytes(before):
            raise LawBroken(f"{name}: changed the ranking it was given")
        other = dataclasses.replace(before, rows=snapshot.rows(before.ids) if before.rows is None else None)
        if run(query, other, snapshot).ids.tolist() != after.ids.tolist():
            raise LawBroken(f"{name}: knowing the rows beforehand changes the order")

    holds()


def _check_component(component: object, protocol: type) -> None:
    if not isinstance(component, protocol):
        raise LawBroken(f"{_name(component)} lacks a method or field of {protocol.__name__}")
    parameters = getattr(component, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise LawBroken(f"{_name(component)}: a component is a frozen dataclass; its fields are its config")
    needs = getattr(component, "needs", None)
    if not isinstance(needs, frozenset) or not needs <= NEEDS:
        raise LawBroken(f"{_name(component)}: needs is a frozenset of {', '.join(sorted(NEEDS))}")


def _check_range(ranking: Ranking, made: Range, where: str) -> None:
    if len(ranking) and ranking.scale != made.scale:
        raise LawBroken(f"{where}: said {made.scale} scores, gave {ranking.scale} ones (law 8)")
    slack = 1e-9  # ranges are worked out in one rounding, scores in several
    if len(ranking) and not (made.lo - slack <= ranking.score.min() and ranking.score.max() <= made.hi + slack):
        raise LawBroken(f"{where}: gave a score outside [{made.lo:g}, {made.hi:g}], which it promised (law 8)")
    if ranking.scale == "unit" and len(ranking) and not (ranking.score.min() >= 0.0 and ranking.score.max() <= 1.0):
        raise LawBroken(f"{where}: a unit score outside [0, 1] (law 8)")


def _check_known(ranking: Ranking, snapshot: Snapshot, where: str) -> None:
    rows = snapshot.rows(ranking.ids)
    if (rows < 0).any():
        raise LawBroken(f"{where}: gave an id that is not in the snapshot (law 10)")
    if ranking.rows is not None and not np.array_equal(rows, ranking.rows):
        raise LawBroken(f"{where}: rows and ids do not belong together")


def _same(one: Ranking, other: Ranking, complaint: str) -> None:
    if _bytes(one) != _bytes(other):
        raise LawBroken(complaint)


def _bytes(ranking: Ranking) -> tuple[object, ...]:
    """Everything a ranking says, bit for bit."""
    columns = (ranking.score, ranking.tier, ranking.priority, ranking.source_rank)
    parts = [(part.name, part.op, part.column.tobytes()) for part in ranking.parts]
    rows = None if ranking.rows is None else ranking.rows.tolist()
    return ranking.ids.tolist(), [c.tobytes() for c in columns], parts, rows, ranking.scale, ranking.notes


def _lacking(needs: frozenset[str], query: Query, snapshot: Snapshot) -> bool:
    """Whether the pipeline would skip a component for this query: it never sees what it cannot work with."""
    return any(query.vector is None if need == "vector" else need not in snapshot.capabilities for need in needs)


def _name(component: object) -> str:
    return type(component).__name__
