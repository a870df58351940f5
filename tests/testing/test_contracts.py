"""The contract suites must be able to fail: for each law, a component that breaks it and nothing else."""

import threading
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from assay.engine.order import arrange
from assay.errors import LawBroken
from assay.fuse.rrf import Rrf
from assay.fuse.weighted_merge import WeightedMerge
from assay.testing.contracts import check_fuser, check_leg, check_selector, check_stage
from assay.testing.sample import sample_snapshot
from assay.types import Part
from tests.testing.any_component import AnyFuser, AnyLeg, AnySelector, AnyStage, same


def backwards(ranking):
    return ranking.take(slice(None, None, -1))


def plus(amount):
    return lambda ranking: arrange(ranking.scored(Part("plus", "add", np.full(len(ranking), amount))))


def stranger(ranking):
    return replace(ranking, ids=np.array([f"not {name}" for name in ranking.ids], np.str_), rows=None)


def twins(ranking):
    return ranking.take(np.repeat(np.arange(len(ranking)), 2))


def unfolded(ranking):
    return replace(ranking, score=ranking.score * 0.5)


def one_tier_down(ranking):
    return replace(ranking, tier=ranking.tier + 1)


def in_place(ranking):
    ranking.source_rank[:] = 9
    return ranking


def first_only(ranking):
    return ranking.take(slice(0, 1))


def strange_rows(ranking):
    return replace(ranking, rows=np.arange(len(ranking))[::-1].copy())


class Moody:
    """Answers differently every time."""

    def __init__(self):
        self.times = 0

    def __call__(self, ranking):
        self.times += 1
        part = Part("mood", "mul", np.full(len(ranking), 1.0 / (1 + self.times % 2)))
        return arrange(ranking.scored(part))


def test_honest_components_pass():
    check_leg(AnyLeg(same), sample_snapshot())
    check_fuser(AnyFuser(same))
    check_stage(AnyStage(same))
    check_selector(AnySelector(same))


EVERYWHERE = [(backwards, "law 2"), (twins, "law 3"), (unfolded, "law 4"), (plus(1.5), "law 8"), (stranger, "law 1")]


def _name(value):
    """A name without a memory address: test ids must be the same in every process."""
    return value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)


@pytest.mark.parametrize(("change", "law"), [*EVERYWHERE, (Moody(), "law 5"), (plus(np.nan), "law 3")], ids=_name)
def test_fusers(change, law):
    with pytest.raises(LawBroken, match=law):
        check_fuser(AnyFuser(change))


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (backwards, "law 2"),
        (unfolded, "law 4"),
        (plus(1.5), "law 8"),
        (stranger, "law 1"),
        (Moody(), "law 5"),
        (one_tier_down, "law 2"),
        (in_place, "changed the ranking"),
        (first_only, "keep every id"),
        (strange_rows, "do not belong together"),
    ],
    ids=_name,
)
def test_stages(change, law):
    with pytest.raises(LawBroken, match=law):
        check_stage(AnyStage(change))


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (backwards, "law 2"),
        (stranger, "law 1"),
        (plus(-0.0625), "rescore"),
        (first_only, "without a reason"),
        (in_place, "changed the ranking"),
    ],
    ids=_name,
)
def test_selectors(change, law):
    with pytest.raises(LawBroken, match=law):
        check_selector(AnySelector(change))


def deep(ranking):
    """Scores that depend on how many were asked for: the top k of one k is not a prefix of another's."""
    return arrange(ranking.scored(Part("turn", "mul", np.linspace(0.1, 1.0, len(ranking)))))


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (backwards, "law 2"),
        (stranger, "law 10"),
        (deep, "law 9"),
        (Moody(), "law 5"),
        (plus(1.5), "law 8"),
        (strange_rows, "do not belong together"),
    ],
    ids=_name,
)
def test_legs(change, law):
    with pytest.raises(LawBroken, match=law):
        check_leg(AnyLeg(change), sample_snapshot())


def test_a_leg_that_another_thread_may_not_ask():
    home = threading.get_ident()

    class Homely(AnyLeg):
        parallel_weight: ClassVar[int] = 1

    def at_home_only(ranking):
        return ranking if threading.get_ident() == home else ranking.take(slice(1, None))

    with pytest.raises(LawBroken, match="another thread"):
        check_leg(Homely(at_home_only), sample_snapshot())
    check_leg(AnyLeg(at_home_only), sample_snapshot())  # it does not say that it may be


def test_an_empty_leg_that_counts():
    @dataclass(frozen=True)
    class Counting(AnyFuser):
        def fuse(self, query, rankings, snapshot):
            fused = Rrf().fuse(query, rankings, snapshot)
            return backwards_by_score(fused) if len(rankings) == 2 else fused

    def backwards_by_score(ranking):
        return arrange(ranking.scored(Part("turn", "mul", np.linspace(0.0, 1.0, len(ranking)))))

    with pytest.raises(LawBroken, match="law 6"):
        check_fuser(Counting(same))


def test_a_fuser_that_looks_at_the_order_of_its_legs():
    @dataclass(frozen=True)
    class First(AnyFuser):
        def fuse(self, query, rankings, snapshot):
            fullest = [leg for leg, found in rankings.items() if len(found)][:1]
            return Rrf(weights=dict.fromkeys(fullest, 2.0)).fuse(query, rankings, snapshot)

    with pytest.raises(LawBroken, match="law 7"):
        check_fuser(First(same))


def dropping(*columns):
    """Forget how ties are broken, then sort by what is left."""
    return lambda ranking: arrange(replace(ranking, **dict.fromkeys(columns, ranking.tier * 0)))


@pytest.mark.parametrize(
    ("columns", "tie"),
    [
        (
            ("priority", "source_rank"),
            "'food-1' (priority 1, source_rank 4) stands before 'food-2' (priority 1, source_rank 3)",
        ),
        (("priority",), "'keys-2' (priority 1, source_rank 1) stands before 'odd-2' (priority 0, source_rank 1)"),
        (("source_rank",), "'keys-3' (priority 0, source_rank 4) stands before 'long-1' (priority 0, source_rank 3)"),
    ],
    ids=["both", "priority", "source_rank"],
)
def test_fusers_that_drop_what_breaks_ties(columns, tie):
    @dataclass(frozen=True)
    class ByScore(AnyFuser):
        """Every candidate of the tied legs has the same score, so nothing but the two columns orders them."""

        def fuse(self, query, rankings, snapshot):
            return self.change(WeightedMerge().fuse(query, rankings, snapshot))

    check_fuser(ByScore(same))
    with pytest.raises(LawBroken, match="a tie is broken by priority, then by source_rank") as caught:
        check_fuser(ByScore(dropping(*columns)))
    assert tie in caught.value.message
    assert "unite" in caught.value.cure


def test_a_fuser_without_ties_must_carry_their_columns_too():
    @dataclass(frozen=True)
    class Uneven(AnyFuser):
        def fuse(self, query, rankings, snapshot):
            weights = {leg: weight for leg, weight in (("bm25", 0.3), ("dense", 0.7)) if leg in rankings}
            return self.change(Rrf(weights=weights).fuse(query, rankings, snapshot))

    check_fuser(Uneven(same))
    for columns in (("priority", "source_rank"), ("priority",), ("source_rank",)):
        with pytest.raises(LawBroken, match=r"which break ties \(law 2\)"):
            check_fuser(Uneven(dropping(*columns)))


@pytest.mark.parametrize(("check", "component"), [(check_stage, AnyStage), (check_selector, AnySelector)], ids=_name)
def test_steps_that_drop_what_breaks_ties(check, component):
    with pytest.raises(LawBroken, match=r"which break ties \(law 2\)"):
        check(component(dropping("priority", "source_rank")))


def test_what_is_no_component():
    @dataclass
    class Thawed:
        needs: ClassVar[frozenset[str]] = frozenset()

        def apply(self, query, ranking, snapshot):
            return ranking

        def gives(self, given):
            return given

    @dataclass(frozen=True)
    class Greedy(AnyStage):
        needs: ClassVar[frozenset[str]] = frozenset({"network"})

    with pytest.raises(LawBroken, match="class AnyStage has no method `select`: every selector needs it"):
        check_selector(AnyStage(same))  # type: ignore[arg-type]
    with pytest.raises(LawBroken, match="frozen dataclass"):
        check_stage(Thawed())
    with pytest.raises(LawBroken, match="needs is a frozenset of"):
        check_stage(Greedy(same))
