"""Sums of units are exact, so a p-value does not depend on the machine."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.stats.units import exact_mean, exact_sums, standard_deviation, to_units

values = st.floats(-1, 1) | st.sampled_from([1e-10, 0.1, 0.2, 1 / 3, -1.0]) | st.floats(-1e15, 1e15)


@given(st.lists(st.lists(values, min_size=5, max_size=5), min_size=1, max_size=20), st.integers(0, 99))
def test_every_sum_is_the_one_of_whole_numbers(rows: list[list[float]], seed: int) -> None:
    units, _ = to_units(np.array(rows), most=40)
    weights = np.random.default_rng(seed).multinomial(40, [0.2] * 5, size=7).astype(np.float64)
    found = exact_sums(weights, units)
    for draw, weight in enumerate(weights):
        for row, unit in enumerate(units):
            assert found[draw, row] == sum(int(w) * int(u) for w, u in zip(weight, unit, strict=True))


def test_a_unit_is_a_decimal_of_a_receipt_unless_values_are_too_large() -> None:
    units, size = to_units(np.array([[0.1, -0.3], [0.0, 0.0], [4e6, 1.0]]), most=1000)
    assert units[:2].tolist() == [[1e9, -3e9], [0.0, 0.0]]
    assert size.tolist() == pytest.approx([1e-10, 1e-10, 1e-6])
    assert units[2].tolist() == [4e12, 1e6]


def test_average_and_spread() -> None:
    assert exact_mean(np.array([1e16, 1.0, -1e16])) == pytest.approx(1 / 3)
    assert standard_deviation(np.array([1.0, 2.0, 4.0])) == pytest.approx((7 / 3) ** 0.5)
    assert standard_deviation(np.array([5.0])) == 0.0
    assert standard_deviation(np.array([0.3, 0.1 + 0.2])) == 0.0
