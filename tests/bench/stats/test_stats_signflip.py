"""The sign-flip test: enumeration as oracle, hand-made p-values, ties, zeros, seeds."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.stats import StatisticsError, sign_flip, sign_flips


def enumerated(differences: list[float]) -> float:
    """Every sign vector, in whole numbers of 1e-10; means closer than one are equal."""
    units = [round(d * 10**10) for d in differences]
    moved = [unit for unit in units if unit]
    least = abs(sum(moved)) - len(moved)
    flips = list(product((1, -1), repeat=len(moved)))
    return sum(abs(sum(s * u for s, u in zip(signs, moved, strict=True))) >= least for signs in flips) / len(flips)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0], 1.0),
        ([1.0, 1.0], 0.5),
        ([1.0, 1.0, 1.0], 0.25),
        ([1.0, 2.0, 3.0, 4.0], 0.125),
        ([1.0, 2.0, 3.0, -4.0], 0.875),  # ±1 ±2 ±3 ±4: only two of sixteen sums are 0
        ([0.1, 0.2, -0.3], 1.0),  # a sum of 0 in decimals, 5.6e-17 in floats
        ([0.3, -0.1, -0.2, 0.0, 0.0], 1.0),
        ([0.5, 0.0, 0.5, 0.0], 0.5),
        ([0.0, 0.0], 1.0),
        ([1e-13, 1e-13, 1e-13], 1.0),  # what a receipt cannot hold is no difference
        ([1e9, 1e9, 1e9], 0.25),
    ],
)
def test_hand_computed(differences: list[float], p: float) -> None:
    assert sign_flip(np.array(differences)) == pytest.approx(p, abs=1e-15)


tenths = st.integers(-10, 10).map(lambda whole: whole / 10)
thirds = st.integers(-9, 9).map(lambda whole: whole / 9)


@given(st.lists(tenths | thirds | st.floats(-1, 1), min_size=1, max_size=9))
def test_exact_when_every_flip_can_be_tried(differences: list[float]) -> None:
    assert sign_flip(np.array(differences)) == enumerated(differences)


def test_the_border_between_exact_and_sampled() -> None:
    row = np.array([0.1, 0.2, 0.4, 0.8, 1.6])  # two of 32 flips are as far as this
    assert sign_flip(row, draws=32) == 2 / 32
    assert (sign_flip(row, draws=31) * 32) % 1 == 0.0  # (b + 1) / (31 + 1)
    assert sign_flip(np.append(row, np.zeros(50)), draws=32) == 2 / 32  # zeros have no sign


def test_sampled_p_comes_near_the_exact_one() -> None:
    row = np.array([0.3, -0.1, 0.2, 0.5, -0.4, 0.25, 0.15, 0.05, -0.2, 0.35])
    exact = sign_flip(row, draws=1024)
    sampled = sign_flip(row, draws=1023)
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=0.04)


def test_p_is_never_zero() -> None:
    assert sign_flip(np.ones(100), draws=999) == 1 / 1000


def test_a_row_is_judged_alone() -> None:
    rows = np.random.default_rng(3).normal(0.02, 0.2, (20, 60))
    rows[4] = 0.0
    rows[7, 5:] = 0.0  # few differences: exact beside sampled
    together = sign_flips(rows, draws=500)
    assert together.tolist() == [sign_flip(row, draws=500) for row in rows]
    order = np.random.default_rng(4).permutation(20)
    assert sign_flips(rows[order], draws=500).tolist() == together[order].tolist()


@given(st.lists(tenths, min_size=10, max_size=40), st.integers(0, 5))
@settings(max_examples=40)
def test_two_sided_and_repeatable(differences: list[float], seed: int) -> None:
    row = np.array(differences)
    p = sign_flip(row, draws=200, seed=seed)
    assert 0.0 < p <= 1.0
    assert sign_flip(-row, draws=200, seed=seed) == p
    assert sign_flip(row, draws=200, seed=seed) == p


def test_seeds_matter() -> None:
    row = np.random.default_rng(1).normal(0.03, 0.2, 50)
    assert len({sign_flip(row, draws=300, seed=seed) for seed in range(8)}) > 1


def test_without_a_difference_p_is_uniform() -> None:
    ps = sign_flips(np.random.default_rng(7).normal(0.0, 0.2, (600, 80)), draws=999)
    for alpha in (0.05, 0.25, 0.5, 0.75):
        assert (ps <= alpha).mean() == pytest.approx(alpha, abs=0.07)


@pytest.mark.parametrize("bad", [[], [np.nan, 1.0], [np.inf], [[1.0, 2.0]], 3.0])
def test_what_is_no_row_is_refused(bad: object) -> None:
    with pytest.raises(StatisticsError):
        sign_flip(bad)  # type: ignore[arg-type]


def test_no_draws_are_refused() -> None:
    with pytest.raises(StatisticsError, match="draws"):
        sign_flip([1.0], draws=0)
