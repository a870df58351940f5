"""Paired comparisons: the parts agree with their functions; missing values are excluded on both sides."""

import json

import numpy as np
import pytest

from assay.bench.stats import (
    StatisticsError,
    bootstrap_ci,
    compare_pair,
    compare_pairs,
    effect_size,
    minimum_effect,
    power,
    sign_flip,
)

RANDOM = np.random.default_rng(11)
A = RANDOM.random(50)
B = np.clip(A + RANDOM.normal(0.05, 0.2, 50), 0.0, 1.0)


def test_hand_computed() -> None:
    found = compare_pair(np.array([0.5, 0.5, 0.0, 1.0]), np.array([1.0, 0.5, 0.5, 1.0]))
    assert (found.n, found.mean_a, found.mean_b, found.difference, found.relative) == (4, 0.5, 0.75, 0.25, 0.5)
    assert (found.wins, found.ties, found.losses, found.rank_biserial) == (2, 2, 0, 1.0)
    assert found.p == 0.5  # two differences to flip
    assert found.d_z == pytest.approx(0.25 / np.sqrt(0.25 / 3))
    assert (found.ci_low, found.ci_high) == (0.0, 0.5)


def test_every_part_is_the_one_of_its_function() -> None:
    groups = [place // 5 for place in range(50)]
    found = compare_pair(A, B, level=0.9, draws=700, seed=3, groups=groups, effect=0.1, alpha=0.01)
    d = B - A
    size = effect_size(d, A)
    assert (found.ci_low, found.ci_high) == bootstrap_ci(d, 0.9, 700, 3, groups=groups)
    assert found.p == sign_flip(d, 700, 3)
    assert (found.difference, found.d_z, found.relative) == (size.mean, size.d_z, size.relative)
    assert found.power == pytest.approx(power(d.std(ddof=1), 50, 0.1, 0.01))
    assert found.minimum_effect == pytest.approx(minimum_effect(d.std(ddof=1), 50, alpha=0.01))
    assert found.effect == 0.1


def test_a_query_without_a_value_leaves_both_sides() -> None:
    a, b = A.copy(), B.copy()
    a[3] = np.nan
    b[[3, 8]] = np.nan
    keep = np.setdiff1d(np.arange(50), [3, 8])
    groups = np.arange(50) // 5
    assert compare_pair(a, b, groups=groups) == compare_pair(A[keep], B[keep], groups=groups[keep])
    assert compare_pair(a, b).n == 48


def test_the_other_way_round() -> None:
    forward, back = compare_pair(A, B), compare_pair(B, A)
    assert back.difference == pytest.approx(-forward.difference)
    assert (back.ci_low, back.ci_high) == pytest.approx((-forward.ci_high, -forward.ci_low), abs=1e-9)
    assert (back.p, back.wins, back.losses) == (forward.p, forward.losses, forward.wins)


def test_many_pairs_come_out_as_each_alone() -> None:
    gaps = B.copy()
    gaps[5] = np.nan
    pairs = [(A, B), (B, A), (A, gaps), (A, A), (gaps, A), *((A, np.roll(B, shift)) for shift in range(12))]
    together = compare_pairs(pairs, draws=300, groups=np.arange(50) % 7)
    assert together == [compare_pair(a, b, draws=300, groups=np.arange(50) % 7) for a, b in pairs]
    assert compare_pairs([]) == []


def test_equal_systems() -> None:
    found = compare_pair(A, A)
    assert (found.difference, found.ci_low, found.ci_high, found.p, found.ties) == (0.0, 0.0, 0.0, 1.0, 50)
    assert found.d_z is None


def test_one_query_shows_nothing() -> None:
    found = compare_pair(np.array([0.0]), np.array([1.0]))
    assert (found.p, found.ci_low, found.ci_high) == (1.0, 1.0, 1.0)
    assert (found.relative, found.d_z, found.power, found.minimum_effect) == (None, None, None, None)


def test_a_receipt_can_hold_it() -> None:
    for a, b in ((A, B), (A, A), (np.zeros(1), np.ones(1)), (A, A - 1e-14)):
        text = json.dumps(compare_pair(a, b).to_dict(), allow_nan=False)
        assert "-0.0," not in text
        assert json.loads(text)["n"] == len(a)


@pytest.mark.parametrize(
    ("a", "b", "groups"),
    [
        (A, B[:-1], None),
        (A[None, :], B[None, :], None),
        (A, B, ["x"] * 49),
        (np.full(3, np.nan), np.ones(3), None),
        (np.array([]), np.array([]), None),
        (A, np.full(50, np.inf), None),
    ],
    ids=["lengths", "rows", "groups", "gaps", "nothing", "infinite"],
)
def test_what_are_no_pairs_is_refused(a: np.ndarray, b: np.ndarray, groups: list[str] | None) -> None:
    with pytest.raises(StatisticsError):
        compare_pair(a, b, groups=groups)
