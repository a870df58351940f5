"""External runs are sorted as in trec_eval."""

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.metrics import MetricError, sort_like_trec_eval


def test_higher_scores_first_and_of_equal_ones_the_larger_id() -> None:
    found = sort_like_trec_eval("q", {"a": 1.0, "d10": 2.0, "d9": 2.0, "b": 3.0, "é": 1.0})
    assert found.documents == ("b", "d9", "d10", "é", "a")
    assert found.scores == (3.0, 2.0, 2.0, 1.0, 1.0)


def test_scores_that_single_precision_cannot_tell_apart_are_ties() -> None:
    assert sort_like_trec_eval("q", {"a": 1.0 + 1e-12, "b": 1.0}).documents == ("b", "a")
    assert sort_like_trec_eval("q", {"a": 1.0 + 1e-6, "b": 1.0}).documents == ("a", "b")
    assert sort_like_trec_eval("q", {"a": 1e300, "b": 1e200}).documents == ("b", "a")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(MetricError, match=r"topic 'q'.*document 'a'"):
        sort_like_trec_eval("q", {"b": 1.0, "a": value})


values = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-7, 16777216.0, 16777217.0, 1e300, 2e300, -1e300])
documents = st.text(st.characters(min_codepoint=33, exclude_categories=["Cs"]), min_size=1, max_size=3)


@given(st.dictionaries(documents, values, min_size=1, max_size=8))
def test_every_place_is_the_one_trec_eval_gives(scores: dict[str, float]) -> None:
    """Judging one document alone, its reciprocal rank shows where trec_eval put it."""
    run = dict.fromkeys(scores, scores)
    judged = {document: {document: 1} for document in scores}
    places = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(run)
    for rank, document in enumerate(sort_like_trec_eval("q", scores).documents, 1):
        assert places[document]["recip_rank"] == pytest.approx(1 / rank, abs=1e-12)
