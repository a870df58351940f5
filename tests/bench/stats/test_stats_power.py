"""Power: textbook values, inverses, and a simulation of the sign-flip test."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.stats import StatisticsError, minimum_effect, needed_queries, power, sign_flips


def test_textbook_values() -> None:
    """z(.975) = 1.959964, z(.8) = .841621: n = 100 and σ = 1 detect .28016 four times of five."""
    assert minimum_effect(1.0, 100) == pytest.approx(0.2801585, abs=1e-7)
    assert power(1.0, 100, 0.2801585) == pytest.approx(0.8, abs=1e-5)
    assert power(1.0, 100, 0.0) == pytest.approx(0.05, abs=1e-12)
    assert needed_queries(1.0, 0.5) == 32  # (2.801585 / .5)² = 31.4


def test_without_spread_every_difference_shows() -> None:
    assert power(0.0, 5, 0.01) == 1.0
    assert power(0.0, 5, 0.0) == 0.05
    assert minimum_effect(0.0, 5) == 0.0
    assert needed_queries(0.0, 0.1) == 2


@given(st.floats(0.01, 2), st.integers(2, 2000), st.floats(0.5, 0.99), st.floats(0.001, 0.2))
def test_the_minimum_effect_has_the_power_asked_for(sd: float, n: int, target: float, alpha: float) -> None:
    effect = minimum_effect(sd, n, target, alpha)
    assert power(sd, n, effect, alpha) == pytest.approx(target, abs=0.006)  # the far tail
    assert power(sd, n, -effect, alpha) == power(sd, n, effect, alpha)
    enough = needed_queries(sd, effect, target, alpha)
    assert enough <= max(2, n + 1)


@pytest.mark.parametrize(("effect", "n"), [(0.05, 100), (0.03, 180), (0.08, 60)])
def test_the_sign_flip_test_has_the_power_that_is_said(effect: float, n: int) -> None:
    rows = np.random.default_rng(n).normal(effect, 0.2, (3000, n))
    detected = (sign_flips(rows, draws=999) <= 0.05).mean()
    assert detected == pytest.approx(power(0.2, n, effect), abs=0.03)


@pytest.mark.parametrize(
    "call",
    [
        lambda: power(-1.0, 10, 0.1),
        lambda: power(math.nan, 10, 0.1),
        lambda: power(1.0, 0, 0.1),
        lambda: power(1.0, 10, 0.1, alpha=0.0),
        lambda: minimum_effect(1.0, 10, target=1.0),
        lambda: minimum_effect(1.0, 10, target=0.4),
        lambda: needed_queries(1.0, 0.0),
    ],
    ids=["sd", "nan", "n", "alpha", "certain", "worse than chance", "no effect"],
)
def test_bad_input_is_refused(call: Callable[[], float]) -> None:
    with pytest.raises(StatisticsError):
        call()
