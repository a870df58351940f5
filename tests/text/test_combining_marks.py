"""A tower of accents costs no more than a text of its length, and ordinary texts are left as they are."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.analyse import Analyser
from assay.text.fold import fold, normal
from assay.text.marks import MOST, bounded
from assay.text.wordpiece import count

TOWER = "a" + "\u0301\u0323" * 300_000
"""With every mark sorted against every other this would take an hour."""


def test_a_tower_is_cut():
    assert bounded(TOWER) == TOWER[: MOST + 1]
    assert bounded(f"x {TOWER} y") == f"x {TOWER[: MOST + 1]} y"


@pytest.mark.parametrize("work", [normal, fold, Analyser().terms, Analyser().query_terms, count])
def test_whoever_reads_it_comes_to_an_end(work):
    assert work(TOWER)


@given(st.text(alphabet=st.sampled_from("aé\u0301\u0323ק\u05b0東 "), max_size=300))
def test_nobody_else_loses_anything(text):
    runs = "".join("m" if unicodedata.combining(c) else " " for c in text).split()
    if all(len(run) <= MOST for run in runs):
        assert bounded(text) == text
    assert bounded(bounded(text)) == bounded(text)
