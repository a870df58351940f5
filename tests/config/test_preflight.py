"""Preflight: legs that cannot matter, thresholds that drop everything or nothing."""

import pytest

from assay.config.findings import Finding
from assay.config.load import loads
from assay.config.preflight import enough_weight, only_fills, preflight
from assay.errors import ConfigError

LEGS = "k = {k}\n[legs.bm25]\n[legs.dense]\n[legs.exact]\n[fuse]\nuse = 'rrf'\nweights = {{exact = {w}}}\n"


def warnings(text: str) -> list[Finding]:
    return [f for f in preflight(loads(text)) if f.level != "info"]


def test_a_leg_of_weight_035_cannot_enter_the_top_ten() -> None:
    # 0.35/61 = 0.005738 against 1/(60+r) > 0.005738 for r up to 114: both full legs stand before it with 100 each
    (finding,) = warnings(LEGS.format(k=10, w=0.35))
    assert finding.where == "legs.exact"
    assert "place 201" in finding.text
    assert "top 10" in finding.text


def test_a_leg_of_weight_one_can() -> None:
    assert warnings(LEGS.format(k=10, w=1.0)) == []


def test_the_place_is_counted_exactly() -> None:
    # 0.9/61 = 0.014754 stands behind 1/(60+r) >= 0.014754, i.e. r <= 7, in two legs: place 15
    (finding,) = warnings(LEGS.format(k=10, w=0.9))
    assert "place 15" in finding.text
    assert warnings(LEGS.format(k=15, w=0.9)) == []


def test_thresholds_against_ranges() -> None:
    hybrid = "[legs.bm25]\n[legs.dense]\n[fuse]\nuse = 'rrf'\n[[step]]\nuse = 'min_score'\nthreshold = {t}\n"
    lost = [f for f in warnings(hybrid.format(t=0.6)) if "skipped" in f.text]
    # one of two legs lost: the best score is (1/61)/(2/61) = 0.5
    assert {f.text.split()[1] for f in lost} == {"bm25", "dense"}
    assert all("0.5" in f.text for f in lost)
    assert [f for f in warnings(hybrid.format(t=0.4)) if "skipped" in f.text] == []
    assert "drops nothing" in warnings(hybrid.format(t=0.0))[0].text


def test_two_steps_of_one_name_are_judged_each_by_its_own_threshold() -> None:
    steps = "".join(f"[[step]]\nuse = 'min_score'\nthreshold = {t}\n" for t in (0.6, 0.4))
    found = warnings(f"[legs.bm25]\n[legs.dense]\n[fuse]\nuse = 'rrf'\n{steps}")
    # one of two legs lost: at most .5, below the first threshold and not below the second; after the first all have .6
    said = [f.text.partition("threshold ")[2] for f in found]
    assert said == ["0.6", "0.6", "0.4 is below every possible score (at least 0.6): it drops nothing"]


def test_a_leg_alone_must_look_as_deep_as_the_answer_is_long() -> None:
    assert warnings("k = 10\n[legs.bm25]\nk = 10") == []
    (finding,) = warnings("k = 10\n[legs.bm25]\nk = 9")
    assert (finding.where, finding.text) == ("legs.bm25", "looks 9 deep, but an answer has k = 10")


def test_a_threshold_on_raw_scores_is_refused_when_the_pipeline_is_built() -> None:
    with pytest.raises(ConfigError, match="unit"):
        loads("[legs.bm25]\n[[step]]\nuse = 'min_score'\nthreshold = 0.35")


def test_a_fuser_that_reads_scores_is_judged_by_its_kindest_case() -> None:
    # min-max, weight .4 against .6: behind the other leg's best chunk only, when that leg's scores fall steeply
    convex = "k = {k}\n[legs.bm25]\n[legs.dense]\n[fuse]\nuse = 'convex'\nweights = {{bm25 = 0.6, dense = {w}}}\n"
    assert warnings(convex.format(k=2, w=0.4)) == []
    (finding,) = [f for f in warnings(convex.format(k=1, w=0.4)) if f.where == "legs.dense"]
    assert "place 2" in finding.text


def test_the_weight_from_which_a_leg_can_matter_by_hand() -> None:
    # Of the first ten, two full legs hold five each: its chunk enters before their fifths, w/61 > 1/65, so w > .9385.
    pipeline = loads(LEGS.format(k=10, w=0.35))
    assert enough_weight(pipeline, "exact") == 0.94
    assert warnings(LEGS.format(k=10, w=0.94)) == []
    assert len(warnings(LEGS.format(k=10, w=0.93))) == 1
    # c = 0: w/1 against 1/5; a tie goes to the better rank in its own leg
    assert enough_weight(loads(LEGS.format(k=10, w=0.1).replace("'rrf'", "'rrf'\nc = 0")), "exact") == 0.2


def test_no_weight_is_named_where_none_would_do() -> None:
    assert enough_weight(loads("[legs.bm25]\n[legs.dense]\n[fuse]\nuse = 'append_fill'\n"), "dense") is None


def test_a_leg_that_only_fills_is_told_from_one_that_reorders() -> None:
    two = "[legs.bm25]\n[legs.dense]\npriority = 1\n[fuse]\nuse = '{fuser}'\n"
    assert only_fills(loads(two.format(fuser="append_fill")), "dense")
    assert not only_fills(loads(two.format(fuser="append_fill")), "bm25"), "the first keeps its ranking"
    assert not only_fills(loads(two.format(fuser="rrf")), "dense")
    assert not only_fills(loads(LEGS.format(k=10, w=0.01)), "exact"), "even a light leg moves what others found"
