"""What is believed of an answer: by hand, and whatever a server may say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rerank.providers.response import UnreadableResponse, parse_scores, result_reader, sigmoid

NAN = float("nan")


def test_by_hand():
    pairs = [
        (2, 0.5),
        (0, NAN),  # no number: does not claim the index
        (0, 0.25),
        (0, 0.75),  # twice: the first sound one counts
        (4, 0.1),
        (-1, 0.1),
        (True, 0.1),
        (1.0, 0.1),
        (None, 0.1),
        ("1", 0.1),
        (1, "0.5"),
        (1, None),
        (1, True),
        (1, float("inf")),
        (1, 10**400),
        (3, 1),
    ]
    judgement = parse_scores(pairs, 4, "unit")
    assert judgement.scores.tolist() == pytest.approx([0.25, NAN, 0.5, 1.0], nan_ok=True)
    assert judgement.returned == 3
    assert dict(judgement.rejected) == {
        "scores that are no finite number": 6,
        "indices given twice": 1,
        "indices out of range": 2,
        "malformed entries": 4,
    }


def test_sigmoid_by_hand():
    assert sigmoid(np.array([0.0, math.log(3), -math.log(3), 1e9, -1e9])).tolist() == pytest.approx(
        [0.5, 0.75, 0.25, 1.0, 0.0]
    )


@pytest.mark.parametrize("answer", [None, [], "x", 1, {}, {"output": None}, {"output": {"results": {}}}])
def test_no_list_where_it_should_be(answer):
    with pytest.raises(UnreadableResponse, match=r"under output\.results"):
        result_reader("output", "results")(answer)


def test_entries_of_any_kind():
    assert result_reader()([1, None, {"index": 0}, {"relevance_score": 2}, [], "x"]) == [
        (None, None),
        (None, None),
        (0, None),
        (None, 2),
        (None, None),
        (None, None),
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 6) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["index", "score", "data"]), inner),
    max_leaves=8,
)


@given(
    st.lists(st.fixed_dictionaries({}, optional={"index": anything, "score": anything}) | anything), st.integers(0, 4)
)
def test_whatever_comes_every_score_is_unit_or_absent(entries, questions):
    for scale in ("unit", "logit"):
        judgement = parse_scores(result_reader("data", score="score")({"data": entries}), questions, scale)
        assert len(judgement.scores) == questions
        known = judgement.scores[~np.isnan(judgement.scores)]
        assert ((known >= 0.0) & (known <= 1.0)).all()
        assert judgement.returned + sum(count for _, count in judgement.rejected) == len(entries)
