"""Silence where there is no answer: shares by hand, the area by counting pairs, and a receipt that replays."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.abstention import measure_abstention
from assay.bench.datasets import load
from assay.bench.replay import replay
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import load_system
from assay.bench.types import TopicResult
from assay.bench.workspace import IndexSettings, prepare


def run(*best: float | None) -> list[TopicResult]:
    return [
        TopicResult(f"q{place}") if value is None else TopicResult(f"q{place}", ("d",), (value,))
        for place, value in enumerate(best)
    ]


def test_by_hand():
    # Pairs: .9 beats .5 and the silent one; .5 ties with .5 and beats the silent one; silence ties with silence.
    got = measure_abstention(run(0.9, 0.5, None), run(0.5, None))
    assert got == {
        "unanswerable": 2,
        "answerable": 3,
        "silent": 0.5,
        "wrongly_silent": pytest.approx(1 / 3),
        "separation": pytest.approx((2 + 1.5 + 0.5) / 6),
    }


BEST = st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0, -3.0])), min_size=1, max_size=12)


@given(BEST, BEST)
def test_the_area_is_the_share_of_pairs(answerable, unanswerable):
    def value(best):
        return -float("inf") if best is None else best

    pairs = [(value(a), value(b)) for a, b in itertools.product(answerable, unanswerable)]
    share = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)
    assert measure_abstention(run(*answerable), run(*unanswerable))["separation"] == pytest.approx(share)


def test_only_when_asked_for_and_it_replays(tmp_path):
    dataset = load("tiny", "all")
    assert dataset.abstain, "the shipped set has questions without an answer"
    words = load_system("bm25")
    with prepare(dataset, IndexSettings("none"), cache=tmp_path) as workspace:
        plain = Bench(dataset, workspace, RunPlan(("nDCG@10",)))
        without = plain.receipt(words, plain.run(words))
        asks = Bench(dataset, workspace, RunPlan(("nDCG@10",), abstention=True))
        receipt = asks.receipt(words, asks.run(words))
        assert "abstention" not in without.canonical
        assert receipt.canonical["abstention"]["unanswerable"] == len(dataset.abstain)
        assert receipt.canonical["scores"] == without.canonical["scores"]
        assert asks.fits(receipt, words)
        assert not asks.fits(without, words)
        assert not plain.fits(receipt, words)
        bound = load_system("random")
        assert "abstention" not in asks.receipt(bound, asks.run(bound)).canonical
        nothing = replace(dataset, abstain=frozenset())
        quiet = Bench(nothing, workspace, RunPlan(("nDCG@10",), abstention=True))
        assert "abstention" not in quiet.receipt(words, quiet.run(words)).canonical
    assert replay(receipt).same
