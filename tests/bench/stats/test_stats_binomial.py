"""Clopper and Pearson: closed forms, scipy, and exact binomial sums."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.stats import StatisticsError, clopper_pearson
from assay.bench.stats.binomial import beta_cdf, beta_quantile


def test_closed_forms() -> None:
    """With 0 of n the upper end is 1 − (α/2)^(1/n); with n of n the lower one is (α/2)^(1/n)."""
    assert clopper_pearson(0, 10) == pytest.approx((0.0, 1 - 0.025**0.1), abs=1e-12)
    assert clopper_pearson(10, 10) == pytest.approx((0.025**0.1, 1.0), abs=1e-12)
    assert clopper_pearson(1, 1, level=0.9) == pytest.approx((0.05, 1.0), abs=1e-12)


@pytest.mark.parametrize(("x", "a", "b", "value"), [(0.3, 1, 1, 0.3), (0.25, 2, 1, 0.0625), (0.5, 3, 3, 0.5)])
def test_beta_by_hand(x: float, a: float, b: float, value: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(value, abs=1e-14)
    assert beta_quantile(value, a, b) == pytest.approx(x, abs=1e-12)


@given(st.integers(1, 60), st.data())
def test_the_ends_are_where_binomial_tails_have_the_chance_said(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    low, high = clopper_pearson(k, n)

    def chance(rate: float, counts: range) -> float:
        return math.fsum(math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in counts)

    if k:
        assert chance(low, range(k, n + 1)) == pytest.approx(0.025, abs=1e-10)
    if k < n:
        assert chance(high, range(k + 1)) == pytest.approx(0.025, abs=1e-10)
    assert low <= k / n <= high
    mirrored = clopper_pearson(n - k, n)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(3, 180), (179, 180), (5000, 10_000), (1, 1_000_000), (400_000, 1_000_000)])
def test_agrees_with_scipy(k: int, n: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(k, n).proportion_ci(0.95, "exact")
    assert clopper_pearson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize(("k", "n", "level"), [(-1, 5, 0.95), (6, 5, 0.95), (0, 0, 0.95), (1, 5, 1.0), (1, 5, 0.0)])
def test_bad_input_is_refused(k: int, n: int, level: float) -> None:
    with pytest.raises(StatisticsError):
        clopper_pearson(k, n, level)
