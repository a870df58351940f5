"""Contract suites: what every leg, source, trigger, fuser, stage, selector and packer must do, whoever wrote it.

Each check runs a component over generated rankings (short, full of ties, some empty) and raises LawBroken naming
the law or the missing method, or whatever the component itself raises. Call them from a test:

    def test_contract() -> None:
        check_stage(MyStage(weight=0.3))

Give a component settings with several keys (`weights`), where it has such: the suite reverses the keys of every
mapping and expects the same bytes. The laws are numbered as in ARCHITECTURE.md. Examples are generated from a fixed
seed, so a failure repeats.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.engine.context import Packer
from assay.engine.foreign_chunks import SourceResult, attach
from assay.engine.laws import check_context, check_ranking, check_same_ids, check_subset, check_tier_kept
from assay.engine.order import arrange, stamp_ranks
from assay.engine.pipeline import read_candidates
from assay.errors import AssayError, LawBroken
from assay.protocols import Fuser, GroupingFuser, Leg, RowScorer, Selector, Snapshot, Stage, Trigger
from assay.testing.components import check_component, class_name, reordered
from assay.testing.sample import CHUNKS, QUERIES, sample_snapshot
from assay.testing.strategies import UNIT, leg_rankings, rankings
from assay.text.token_count import count_tokens
from assay.types import Part, Query, Range, Ranking

TWO_LEGS: Mapping[str, Range] = {"bm25": UNIT, "dense": UNIT}
_IDS = tuple(chunk.id for chunk in CHUNKS)
_UNITE = "carry both columns into the fused ranking, as assay.fuse.union.unite does"
S = TypeVar("S", Stage, Selector)
_generated = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def check_leg(leg: Leg, snapshot: Snapshot, queries: Sequence[Query] = QUERIES) -> None:
    """A leg finds live chunks, in the one order, the same twice; fewer is a prefix of more (law 9).

    One that rates gives what it found the same parts as when it found it. One that may run in another thread gives the
    same there.
    """
    check_component(leg, Leg, "leg")
    name, variants = class_name(leg), reordered(leg)
    for setting, variant in variants:
        _check_key_order(leg.gives(), variant.gives(), name, setting)
    for query in queries:
        if _lacking(leg.needs, query, snapshot):
            continue
        most = leg.find(query, snapshot, 50)
        check_ranking(most, name)
        _check_range(most, leg.gives(), name)
        _check_known(most, snapshot, name)
        _check_rows(most, snapshot, name)
        _check_same(most, leg.find(query, snapshot, 50), f"{name}: two runs differ (law 5)")
        for setting, variant in variants:
            _check_key_order(_bytes(most), _bytes(variant.find(query, snapshot, 50)), name, setting)
        if getattr(leg, "parallel_weight", 0):
            other = _find_in_thread(leg, query, snapshot)
            _check_same(most, other, f"{name}: another thread is answered otherwise (law 5)")
        for k in (1, 3):
            fewer = leg.find(query, snapshot, k)
            if fewer.ids.tolist() != most.ids[:k].tolist():
                raise LawBroken(f"{name}: asking for {k} is not a prefix of asking for 50 (law 9)")
        if isinstance(leg, RowScorer) and len(most):
            rated = leg.rate(query, snapshot, snapshot.rows(most.ids))
            _check_same(most, dataclasses.replace(most, parts=tuple(rated)), f"{name}: rates otherwise than it finds")


def _find_in_thread(leg: Leg, query: Query, snapshot: Snapshot) -> Ranking:
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(leg.find, query, snapshot, 50).result()


def check_source(source: Leg, queries: Sequence[Query] = QUERIES, snapshot: Snapshot | None = None) -> None:
    """A leg that looks elsewhere brings a chunk for every id, in the one order, the same twice; fewer is a prefix."""
    check_component(source, Leg, "source")
    name, view, variants = class_name(source), snapshot or sample_snapshot(), reordered(source)
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
        _check_same(ranking, attach(view, _retrieve(source, query, view, 50))[1], f"{name}: two runs differ (law 5)")
        for setting, variant in variants:
            other = attach(view, _retrieve(variant, query, view, 50))[1]
            _check_key_order(_bytes(ranking), _bytes(other), name, setting)
        for k in (1, 3):
            if _retrieve(source, query, view, k).ids.tolist() != most.ids[:k].tolist():
                raise LawBroken(f"{name}: asking for {k} is not a prefix of asking for 50 (law 9)")


def _retrieve(source: Leg, query: Query, view: Snapshot, k: int) -> SourceResult:
    result = source.find(query, view, k)
    assert isinstance(result, SourceResult)
    return result


def check_trigger(trigger: Trigger, legs: Mapping[str, Range] = TWO_LEGS) -> None:
    """A trigger says which one decided, why, and the same twice, whatever was found."""
    check_component(trigger, Trigger, "trigger")
    trigger.check(legs)
    snapshot, name, variants = sample_snapshot(), class_name(trigger), reordered(trigger)

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
        for setting, variant in variants:
            _check_key_order(fired, variant.fires(query, found, snapshot, k), name, setting)

    holds()


def check_fuser(fuser: Fuser, legs: Mapping[str, Range] = TWO_LEGS) -> None:
    """A fuser adds no id (1), keeps the one order (2 to 4), ignores empty legs (6) and, if it says so, order (7).

    Every candidate keeps the priority and the source_rank of its best occurrence in a leg, since they break ties.
    """
    check_component(fuser, Fuser, "fuser")
    name, promised, variants = class_name(fuser), fuser.gives(legs), reordered(fuser)
    snapshot, query = sample_snapshot(), QUERIES[0]
    for setting, variant in variants:
        _check_key_order(promised, variant.gives(legs), name, setting)
    tied = _tied_legs(legs)
    _check_ties(fuser.fuse(query, tied, snapshot), tied, name)

    @_generated
    @given(leg_rankings(legs, _IDS))
    def holds(found: dict[str, Ranking]) -> None:
        before = [_bytes(r) for r in found.values()]
        fused = fuser.fuse(query, found, snapshot)
        check_ranking(fused, name)
        _check_range(fused, promised, name)
        known = {str(chunk) for r in found.values() for chunk in r.ids}
        if not set(fused.ids.tolist()) <= known:
            raise LawBroken(f"{name}: added an id that no leg found (law 1)")
        candidates = fuser.group_candidates(found, snapshot) if isinstance(fuser, GroupingFuser) else found
        _check_tie_keys(fused, list(candidates.values()), name)
        _check_same(fused, fuser.fuse(query, found, snapshot), f"{name}: two runs differ (law 5)")
        for setting, variant in variants:
            _check_key_order(_bytes(fused), _bytes(variant.fuse(query, found, snapshot)), name, setting)
        if before != [_bytes(r) for r in found.values()]:
            raise LawBroken(f"{name}: changed the rankings it was given")
        full = {leg: r for leg, r in found.items() if len(r)}
        if full and fuser.fuse(query, full, snapshot).ids.tolist() != fused.ids.tolist():
            raise LawBroken(f"{name}: an empty leg changes the order (law 6)")
        if fuser.symmetric:
            turned = fuser.fuse(query, dict(reversed(found.items())), snapshot)
            _check_same(fused, turned, f"{name}: symmetric, yet the order of the legs matters (law 7)")

    holds()


def _tied_legs(legs: Mapping[str, Range]) -> dict[str, Ranking]:
    """Legs with different candidates, all of the leg's middle score. Ids stand against priority and against rank: who
    breaks a tie by id alone gives the wrong order."""
    names = sorted(_IDS, reverse=True)
    size = max(1, len(names) // len(legs))
    rankings = {}
    for priority, (leg, within) in enumerate(legs.items()):
        ids = names[priority * size : (priority + 1) * size]
        middle = (max(within.lo, -1000.0) + min(within.hi, 1000.0)) / 2
        ranks = np.arange(1, len(ids) + 1, dtype=np.int32)
        column = Part("found", "add", np.full(len(ids), middle))
        rankings[leg] = stamp_ranks(arrange(Ranking.of(ids, [column], within.scale, source_rank=ranks)), priority)
    return rankings


def _check_ties(fused: Ranking, tied: Mapping[str, Ranking], name: str) -> None:
    """Neighbours of equal tier and score are ordered by (priority, source_rank) of the one leg that found each."""
    keys = _tie_keys(list(tied.values()))
    entries = list(zip(fused.ids.tolist(), fused.tier.tolist(), fused.score.tolist(), strict=True))
    for (one, *value), (other, *next_value) in itertools.pairwise(entries):
        if value == next_value and one in keys and other in keys and keys[one] > keys[other]:
            (p, rank), (other_p, other_rank) = keys[one][0], keys[other][0]
            raise LawBroken(
                f"{name}: {one!r} (priority {p}, source_rank {rank}) stands before {other!r} (priority {other_p}, "
                f"source_rank {other_rank}), and both score {value[1]:g}: a tie is broken by priority, then by "
                f"source_rank (law 2)",
                _UNITE,
            )


def _check_tie_keys(after: Ranking, before: Sequence[Ranking], name: str) -> None:
    """Each candidate carries the priority and source_rank of one of its occurrences, that of the smallest priority."""
    keys = _tie_keys(before)
    for chunk, *pair in zip(after.ids.tolist(), after.priority.tolist(), after.source_rank.tolist(), strict=True):
        first = keys[chunk][0]
        if tuple(pair) not in keys[chunk] or pair[0] != first[0]:
            raise LawBroken(
                f"{name}: {chunk!r} has priority {pair[0]} and source_rank {pair[1]}; it was given priority {first[0]} "
                f"and source_rank {first[1]}, which break ties (law 2)",
                _UNITE,
            )


def _tie_keys(rankings: Sequence[Ranking]) -> dict[str, list[tuple[int, int]]]:
    """id -> (priority, source_rank) of its occurrences, smallest first."""
    keys: dict[str, list[tuple[int, int]]] = {}
    for found in rankings:
        for chunk, *pair in zip(found.ids.tolist(), found.priority.tolist(), found.source_rank.tolist(), strict=True):
            keys.setdefault(chunk, []).append((pair[0], pair[1]))
    return {chunk: sorted(pairs) for chunk, pairs in keys.items()}


def check_stage(stage: Stage, within: Range = UNIT, snapshot: Snapshot | None = None) -> None:
    """A stage keeps ids and tiers, the one order, its range, and the ranking it was given."""
    check_component(stage, Stage, "stage")

    def check(before: Ranking, after: Ranking) -> None:
        check_same_ids(before, after, class_name(stage))
        check_tier_kept(before, after, class_name(stage))

    _check_step(lambda step: step.apply, stage, within, snapshot or sample_snapshot(), check)


def check_selector(selector: Selector, within: Range = UNIT, snapshot: Snapshot | None = None) -> None:
    """A selector adds nothing (1), rescores nothing, and gives every drop a reason."""
    check_component(selector, Selector, "selector")
    name = class_name(selector)

    def check(before: Ranking, after: Ranking) -> None:
        check_subset(before, after, name)
        scores = dict(zip(before.ids.tolist(), before.score.tolist(), strict=True))
        if any(scores[i] != s for i, s in zip(after.ids.tolist(), after.score.tolist(), strict=True)):
            raise LawBroken(f"{name}: a selector must not rescore; that is a stage's work")
        reasons = {i for note in after.notes if note.kind == "dropped" for i in note.ids}
        if set(before.ids.tolist()) - set(after.ids.tolist()) - reasons:
            raise LawBroken(f"{name}: dropped an id without a reason")

    _check_step(lambda step: step.select, selector, within, snapshot or sample_snapshot(), check)


def check_packer(packer: Packer, snapshot: Snapshot | None = None, queries: Sequence[Query] = QUERIES) -> None:
    """A packer stays within its budget and quotes what it cites (11), says what it left out, and repeats itself (5)."""
    check_component(packer, Packer, "packer")
    name, view = class_name(packer), snapshot or sample_snapshot()

    @_generated
    @given(st.sampled_from(queries), rankings(_IDS, UNIT))
    def holds(query: Query, ranking: Ranking) -> None:
        candidates = list(read_candidates(packer, ranking, view))
        context = packer.pack(query, candidates, view)
        check_context(context, candidates)
        if count_tokens(context.text) != context.tokens or context.budget != packer.tokens:
            raise LawBroken(f"{name}: its tokens are not those of its text, or its budget is another (law 11)")
        if sum(sentence.cost for sentence in context.sentences) != context.tokens:
            raise LawBroken(f"{name}: the costs of its sentences do not sum up to its tokens")
        cited = {source.chunk_id for source in context.sources} | {one.chunk_id for one in context.dropped}
        if cited != {candidate.chunk.id for candidate in candidates}:
            raise LawBroken(f"{name}: a candidate is neither cited nor dropped with a reason")
        if packer.pack(query, candidates, view) != context:
            raise LawBroken(f"{name}: two runs differ (law 5)")

    holds()


def _check_step(
    method: Callable[[S], Callable[[Query, Ranking, Snapshot], Ranking]],
    step: S,
    within: Range,
    snapshot: Snapshot,
    check: Callable[[Ranking, Ranking], None],
) -> None:
    name, run, promised, variants = class_name(step), method(step), step.gives(within), reordered(step)
    queries = [query for query in QUERIES if not _lacking(step.needs, query, snapshot)]
    for setting, variant in variants:
        _check_key_order(promised, variant.gives(within), name, setting)

    @_generated
    @given(st.sampled_from(queries), rankings(_IDS, within, tiers=True))
    def holds(query: Query, before: Ranking) -> None:
        bytes_before = _bytes(before)
        after = run(query, before, snapshot)
        check_ranking(after, name)
        _check_rows(after, snapshot, name)
        check(before, after)
        _check_tie_keys(after, [before], name)
        _check_known(after, snapshot, name)
        complete = all(note.kind not in ("skipped", "degraded") for note in after.notes)
        _check_range(after, promised if complete else within, name)
        _check_same(after, run(query, before, snapshot), f"{name}: two runs differ (law 5)")
        for setting, variant in variants:
            _check_key_order(_bytes(after), _bytes(method(variant)(query, before, snapshot)), name, setting)
        if bytes_before != _bytes(before):
            raise LawBroken(f"{name}: changed the ranking it was given")
        other = dataclasses.replace(before, rows=snapshot.rows(before.ids) if before.rows is None else None)
        if run(query, other, snapshot).ids.tolist() != after.ids.tolist():
            raise LawBroken(f"{name}: knowing the rows beforehand changes the order")

    holds()


def _check_range(ranking: Ranking, promised: Range, where: str) -> None:
    if len(ranking) and ranking.scale != promised.scale:
        raise LawBroken(f"{where}: promised {promised.scale} scores, gave {ranking.scale} ones (law 8)")
    slack = 1e-9  # ranges are worked out in one rounding, scores in several
    if len(ranking) and not (promised.lo - slack <= ranking.score.min() and ranking.score.max() <= promised.hi + slack):
        raise LawBroken(f"{where}: gave a score outside [{promised.lo:g}, {promised.hi:g}], which it promised (law 8)")
    if ranking.scale == "unit" and len(ranking) and not (ranking.score.min() >= 0.0 and ranking.score.max() <= 1.0):
        raise LawBroken(f"{where}: a unit score outside [0, 1] (law 8)")


def _check_known(ranking: Ranking, snapshot: Snapshot, where: str) -> None:
    if (snapshot.rows(ranking.ids) < 0).any():
        raise LawBroken(f"{where}: gave an id that is not in the snapshot (law 10)")


def _check_rows(ranking: Ranking, snapshot: Snapshot, where: str) -> None:
    if ranking.rows is not None and not np.array_equal(snapshot.rows(ranking.ids), ranking.rows):
        raise LawBroken(f"{where}: rows and ids do not belong together")


def _check_same(one: Ranking, other: Ranking, complaint: str) -> None:
    if _bytes(one) != _bytes(other):
        raise LawBroken(complaint)


def _check_key_order(one: object, other: object, name: str, setting: str) -> None:
    """Results of a component and of its variant with reversed keys; rankings are compared as bytes."""
    if one != other:
        raise LawBroken(
            f"{name}: the order of the keys of `{setting}` changes the result (law 5); both orders have one digest",
            "go through the keys in sorted order",
        )


def _bytes(ranking: Ranking) -> tuple[object, ...]:
    """Everything a ranking says, bit for bit."""
    columns = (ranking.score, ranking.tier, ranking.priority, ranking.source_rank)
    parts = [(part.name, part.op, part.column.tobytes()) for part in ranking.parts]
    rows = None if ranking.rows is None else ranking.rows.tolist()
    return ranking.ids.tolist(), [c.tobytes() for c in columns], parts, rows, ranking.scale, ranking.notes


def _lacking(needs: frozenset[str], query: Query, snapshot: Snapshot) -> bool:
    """Whether the pipeline would skip a component for this query: it never sees what it cannot work with."""
    return any(query.vector is None if need == "vector" else need not in snapshot.capabilities for need in needs)
