"""Scores in and out of receipts."""

import json
import math
import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.metrics import from_json, mean, to_json


def test_a_mean_is_over_topics_that_have_a_value() -> None:
    assert mean(np.array([1.0, np.nan, 0.5])) == 0.75
    assert mean(np.array([np.nan])) is None
    assert mean(np.array([])) is None
    assert mean(np.array([1 / 3])) == 0.3333333333


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_topics_does_not_move_the_mean(values: list[float], order: random.Random) -> None:
    shuffled = values.copy()
    order.shuffle(shuffled)
    assert mean(np.array(values)) == mean(np.array(shuffled))


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=30))
def test_a_receipt_keeps_ten_decimals_and_the_gaps(values: list[float]) -> None:
    column = to_json(np.array(values))
    back = from_json(json.loads(json.dumps(column, allow_nan=False)))
    np.testing.assert_allclose(back, np.array(values), rtol=0, atol=5.1e-11)
    assert to_json(back) == column
