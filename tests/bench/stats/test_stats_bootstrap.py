"""Bootstrap intervals: distributions that can be written down, coverage, groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.stats import Interval, StatisticsError, bootstrap_ci, bootstrap_cis


def test_of_two_values() -> None:
    """The mean of a draw is 0, .5 or 1 with chances .25, .5 and .25."""
    assert bootstrap_ci([0.0, 1.0]) == (0.0, 1.0)
    assert bootstrap_ci([0.0, 1.0], level=0.4) == (0.5, 0.5)
    assert bootstrap_ci([0.0, 1.0], level=0.6) == (0.0, 1.0)


def test_of_equal_values_there_is_no_width() -> None:
    assert bootstrap_ci([0.3] * 7) == pytest.approx((0.3, 0.3), abs=1e-12)
    assert bootstrap_ci([0.3]) == pytest.approx((0.3, 0.3), abs=1e-12)


def test_groups_are_drawn_first() -> None:
    """Within a group all is equal, so only the drawing of groups moves the mean: 0, .5 or 1."""
    values = [0.0] * 50 + [1.0] * 50
    groups = ["a"] * 50 + ["b"] * 50
    assert bootstrap_ci(values, groups=groups) == (0.0, 1.0)
    assert bootstrap_ci(values, level=0.4, groups=groups) == (0.5, 0.5)
    plain = bootstrap_ci(values)
    assert 0.35 < plain.low < plain.high < 0.65


def test_queries_weigh_alike_whatever_the_size_of_their_group() -> None:
    """One query of 1 and three of 0: drawn groups aa, ab, bb give 1, 1/4 and 0."""
    values, groups = [1.0, 0.0, 0.0, 0.0], ["a", "b", "b", "b"]
    assert bootstrap_ci(values, level=0.4, groups=groups) == (0.25, 0.25)
    assert bootstrap_ci(values, level=0.9, groups=groups) == (0.0, 1.0)


def test_one_group_is_no_group_and_single_queries_are_groups_of_their_own() -> None:
    values = np.random.default_rng(0).random(40)
    assert bootstrap_ci(values, groups=["x"] * 40) == bootstrap_ci(values)
    alone = bootstrap_ci(values, groups=np.arange(40))
    assert alone == pytest.approx(bootstrap_ci(values), abs=0.01)


def test_within_a_group_queries_are_drawn_again() -> None:
    """Two groups alike: drawing groups alone would give no width at all."""
    low, high = bootstrap_ci([0.0, 1.0, 0.0, 1.0], groups=[0, 0, 1, 1])
    assert (low, high) == (0.0, 1.0)


def test_agrees_with_a_plain_loop() -> None:
    """Another generator and one group at a time: the ends agree within the noise of 4,000 draws."""
    random = np.random.default_rng(5)
    members = [random.normal(random.normal(0.1, 0.3), 0.2, size) for size in (3, 8, 5, 9, 4, 6, 7)]
    groups = [place for place, group in enumerate(members) for _ in group]
    means = []
    for _ in range(4000):
        drawn = [random.choice(members[g], len(members[g])) for g in random.integers(0, 7, 7)]
        means.append(np.concatenate(drawn).mean())
    expected = np.quantile(means, [0.025, 0.975])
    assert bootstrap_ci(np.concatenate(members), draws=4000, groups=groups) == pytest.approx(expected, abs=0.02)


def test_wide_as_the_normal_interval() -> None:
    values = np.random.default_rng(2).normal(0.4, 0.2, 500)
    half = 1.96 * values.std(ddof=1) / np.sqrt(500)
    low, high = bootstrap_ci(values)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)


def test_covers_the_truth_as_often_as_it_says() -> None:
    rows = np.random.default_rng(9).normal(0.1, 0.3, (500, 60))
    ends = bootstrap_cis(rows, level=0.9, draws=600)
    assert ((ends[:, 0] <= 0.1) & (ends[:, 1] >= 0.1)).mean() == pytest.approx(0.9, abs=0.04)


def test_a_row_is_judged_alone() -> None:
    rows = np.random.default_rng(3).normal(0.0, 1.0, (19, 30)) * np.logspace(-6, 12, 19)[:, None]
    together = bootstrap_cis(rows, draws=300)
    assert [Interval(*ends) for ends in together.tolist()] == [bootstrap_ci(row, draws=300) for row in rows]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.integers(0, 3), st.booleans())
@settings(max_examples=50)
def test_laws(values: list[float], seed: int, grouped: bool) -> None:
    groups = [place // 3 for place in range(len(values))] if grouped else None
    found = bootstrap_ci(values, draws=200, seed=seed, groups=groups)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found == bootstrap_ci(values, draws=200, seed=seed, groups=groups)
    narrow = bootstrap_ci(values, 0.5, draws=200, seed=seed, groups=groups)
    assert found.low <= narrow.low <= narrow.high <= found.high


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ([], {}),
        ([np.nan], {}),
        ([[1.0]], {}),
        ([1.0], {"level": 1.0}),
        ([1.0], {"level": 95.0}),
        ([1.0], {"draws": 0}),
        ([1.0, 2.0], {"groups": ["a"]}),
    ],
)
def test_bad_input_is_refused(values: list[float], settings: dict[str, float]) -> None:
    with pytest.raises(StatisticsError):
        bootstrap_ci(values, **settings)  # type: ignore[arg-type]
