"""MaxSim against values computed by hand, and against two loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.embed.token_codes import BITS, quantise_vectors, unpack_codes
from assay.rerank.max_sim import max_sim


def codes(*rows):
    return np.array(rows, np.int8).reshape(len(rows), -1)


QUERY = codes([100, 0], [0, 100])
TEXT = codes([60, 80], [127, 0], [-5, 0])


def test_by_hand():
    # The first token finds (127, 0), cosine 1; the second finds (60, 80), cosine .8.
    assert max_sim(QUERY, [TEXT]).tolist() == pytest.approx([0.9])


def test_both_ways_by_hand():
    # The text's tokens find .8, 1 and 0 in the query: .6. The mean of .9 and .6.
    assert max_sim(QUERY, [TEXT], both=True).tolist() == pytest.approx([0.75])


def test_length_does_not_matter():
    assert max_sim(codes([1, 0], [0, 3]), [TEXT]).tolist() == pytest.approx([0.9])


def test_opposites():
    assert max_sim(codes([1, 0]), [codes([-7, 0])]).tolist() == [-1.0]
    assert max_sim(codes([1, 0]), [codes([-7, 0])], both=True).tolist() == [-1.0]


@pytest.mark.parametrize("both", [False, True])
def test_who_has_no_tokens_is_unknown(both):
    nothing = np.empty((0, 2), np.int8)
    assert max_sim(QUERY, [], both=both).tolist() == []
    assert np.isnan(max_sim(nothing, [TEXT, nothing], both=both)).all()
    assert np.isnan(max_sim(QUERY, [nothing, nothing], both=both)).all()
    unknown = max_sim(QUERY, [nothing, TEXT, nothing, nothing, QUERY, nothing], both=both)
    assert np.isnan(unknown).tolist() == [True, False, True, True, False, True]
    assert unknown[[1, 4]].tolist() == pytest.approx([0.75 if both else 0.9, 1.0])


def test_a_token_without_direction_is_like_nothing():
    assert max_sim(codes([0, 0], [1, 0]), [codes([1, 0])]).tolist() == [0.5]
    assert max_sim(codes([1, 0]), [codes([0, 0])]).tolist() == [0.0]


def test_signs_by_hand():
    # Against (1, 1, 1, -1) of length 2: (100, 0, 0, 0) has 100 / (100 · 2), and (0, 30, 0, -40) has 70 / (50 · 2).
    signs = quantise_vectors(np.array([[0.9, 0.1, 0.0, -0.2]], np.float32), 1)
    assert max_sim(codes([100, 0, 0, 0], [0, 30, 0, -40]), [signs]).tolist() == pytest.approx([(0.5 + 0.7) / 2])


@pytest.mark.parametrize("bits", BITS)
def test_more_tokens_than_one_block(bits):
    """Against exact whole numbers, at the width of a real model."""
    rng = np.random.default_rng(3)
    query, *text_codes = (
        quantise_vectors(rng.standard_normal((size, 384)).astype(np.float32), 8) for size in (9, 500, 700, 1)
    )
    stored = [quantise_vectors(text.astype(np.float32), bits) for text in text_codes]
    for text, got in zip(stored, max_sim(query, stored).tolist(), strict=True):
        rows = unpack_codes(text, 384).astype(np.int64)
        dots = query.astype(np.int64) @ rows.T
        lengths = np.sqrt((query.astype(np.int64) ** 2).sum(1))[:, None] * np.sqrt((rows**2).sum(1))
        assert got == pytest.approx(float((dots / lengths).max(axis=1).mean()), abs=1e-12)


def texts(least):
    row = st.lists(st.integers(-127, 127), min_size=5, max_size=5)
    return st.lists(row, min_size=least, max_size=6).map(lambda rows: np.array(rows, np.int8).reshape(-1, 5))


def cosine(a, b):
    a, b = a.astype(int), b.astype(int)
    length = math.sqrt(int(a @ a)) * math.sqrt(int(b @ b))
    return int(a @ b) / length if length else 0.0


def one_way(query, text):
    return sum(max(cosine(i, j) for j in text) for i in query) / len(query)


@given(texts(1), st.lists(texts(0), max_size=5))
def test_two_loops_give_the_same(query, text_codes):
    one, both = max_sim(query, text_codes), max_sim(query, text_codes, both=True)
    for place, text in enumerate(text_codes):
        if len(text):
            there, back = one_way(query, text), one_way(text, query)
            assert (one[place], both[place]) == pytest.approx((there, (there + back) / 2), abs=1e-12)
        else:
            assert np.isnan([one[place], both[place]]).all()


@given(texts(1), st.lists(texts(1), min_size=2, max_size=5))
def test_a_text_is_judged_as_if_it_were_alone(query, text_codes):
    """To the bit: neighbours in the pool, and their number, change nothing."""
    for both in (False, True):
        alone = [max_sim(query, [text], both=both)[0] for text in text_codes]
        assert max_sim(query, text_codes, both=both).tolist() == alone
