"""Effect sizes by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.stats import StatisticsError, effect_size


def test_hand_computed() -> None:
    """d = .1 .3 −.2 0 .3: mean .1, squares around it 0 .04 .09 .01 .04, sd √(.18/4); ranks of |d| 1 3.5 2 – 3.5."""
    found = effect_size(np.array([0.1, 0.3, -0.2, 0.0, 0.3]), np.array([0.5, 0.1, 0.6, 0.4, 0.4]))
    assert found.mean == pytest.approx(0.1)
    assert found.relative == pytest.approx(0.1 / 0.4)
    assert found.d_z == pytest.approx(0.1 / math.sqrt(0.18 / 4))
    assert (found.wins, found.ties, found.losses) == (3, 1, 1)
    assert found.rank_biserial == pytest.approx((1 + 3.5 + 3.5 - 2) / 10)


def test_differences_equal_in_decimals_share_their_rank() -> None:
    assert effect_size([0.1 + 0.2, -0.3]).rank_biserial == 0.0


def test_a_tie_is_what_the_tolerance_says() -> None:
    row = [1e-12, -1e-12, 0.01, -0.02]
    assert (effect_size(row).wins, effect_size(row).ties, effect_size(row).losses) == (1, 2, 1)
    wide = effect_size(row, tie=0.01)
    assert (wide.wins, wide.ties, wide.losses, wide.rank_biserial) == (0, 3, 1, -1.0)


def test_what_has_no_value_is_none() -> None:
    assert effect_size([0.5]).d_z is None
    assert effect_size([0.3, 0.1 + 0.2]).d_z is None  # they differ by rounding only
    assert effect_size([0.5, 0.1]).relative is None
    assert effect_size([0.5, 0.1], [0.0, 0.0]).relative is None
    assert effect_size([0.0, 0.0]).rank_biserial == 0.0


@given(st.lists(st.integers(-20, 20).map(lambda whole: whole / 20), min_size=1, max_size=30))
def test_laws(row: list[float]) -> None:
    forward, back = effect_size(row), effect_size([-d for d in row])
    assert forward.wins + forward.ties + forward.losses == len(row)
    assert (forward.wins, forward.losses) == (back.losses, back.wins)
    assert forward.rank_biserial == pytest.approx(-back.rank_biserial)
    assert -1.0 <= forward.rank_biserial <= 1.0
    if forward.losses == 0 and forward.wins:
        assert forward.rank_biserial == 1.0


@pytest.mark.parametrize("tie", [-1.0, math.nan, math.inf])
def test_a_bad_tolerance_is_refused(tie: float) -> None:
    with pytest.raises(StatisticsError):
        effect_size([0.1], tie=tie)
