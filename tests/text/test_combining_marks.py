"""A tower of accents costs no more than a text of its length, and ordinary texts are left as they are."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.analyser import Analyser
from assay.text.combining_marks import MAX_MARKS, limit_marks
from assay.text.normalisation import fold, normalise
from assay.text.wordpiece import count_pieces

TOWER = "a" + "\u0301\u0323" * 300_000
"""With every mark sorted against every other this would take an hour."""


def test_a_tower_is_cut():
    assert limit_marks(TOWER) == TOWER[: MAX_MARKS + 1]
    assert limit_marks(f"x {TOWER} y") == f"x {TOWER[: MAX_MARKS + 1]} y"


@pytest.mark.parametrize("work", [normalise, fold, Analyser().terms, Analyser().query_terms, count_pieces])
def test_whoever_reads_it_comes_to_an_end(work):
    assert work(TOWER)


@given(st.text(alphabet=st.sampled_from("aé\u0301\u0323ק\u05b0東 "), max_size=300))
def test_nobody_else_loses_anything(text):
    runs = "".join("m" if unicodedata.combining(c) else " " for c in text).split()
    if all(len(run) <= MAX_MARKS for run in runs):
        assert limit_marks(text) == text
    assert limit_marks(limit_marks(text)) == limit_marks(text)
