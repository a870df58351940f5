"""Metrics over rankings: hand-computed values, trec_eval as oracle, invalid results."""

import math
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.metrics import MetricError, score, sort_like_trec_eval
from assay.bench.types import Dataset, Topic, TopicResult
from assay.errors import MissingExtra


def dataset(judgements: Mapping[str, Mapping[str, int]]) -> Dataset:
    topics = {name: Topic(name) for name in judgements}
    return Dataset("d", "test", "0", "human", (), 0, topics, judgements)


def one(name: str, judged: Mapping[str, int], documents: Sequence[str]) -> float:
    (values,) = score([name], dataset({"q": judged}), [TopicResult("q", tuple(documents))]).values()
    return float(values[0])


JUDGED = {"a": 2, "b": 1, "c": 0, "d": 1, "e": -1}
FOUND = ("c", "a", "x", "b", "e")
"""Relevant at places 2 and 4, of three; judged at 1, 2, 4 and 5."""

IDEAL = 2 + 1 / math.log2(3) + 1 / 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nDCG@10", (2 / math.log2(3) + 1 / math.log2(5)) / IDEAL),
        ("nDCG@2", (2 / math.log2(3)) / (2 + 1 / math.log2(3))),
        ("nDCG", (2 / math.log2(3) + 1 / math.log2(5)) / IDEAL),
        ("RR@10", 1 / 2),
        ("RR@1", 0.0),
        ("RR", 1 / 2),
        ("AP@10", (1 / 2 + 2 / 4) / 3),
        ("AP@2", (1 / 2) / 3),
        ("AP", (1 / 2 + 2 / 4) / 3),
        ("P@5", 2 / 5),
        ("P@10", 2 / 10),  # places that were not filled count
        ("R@2", 1 / 3),
        ("R@10", 2 / 3),
        ("AllR@10", 0.0),
        ("Success@1", 0.0),
        ("Success@2", 1.0),
        ("Judged@3", 2 / 3),
        ("Judged@10", 4 / 5),  # of the documents found, not of ten
    ],
)
def test_hand_computed(name: str, value: float) -> None:
    assert one(name, JUDGED, FOUND) == pytest.approx(value, abs=1e-12)


def test_all_recall_wants_every_relevant_document() -> None:
    assert one("AllR@2", {"a": 1, "b": 3, "z": 0}, ["b", "a"]) == 1.0
    assert one("AllR@1", {"a": 1, "b": 3, "z": 0}, ["b", "a"]) == 0.0


def test_grades_below_zero_are_judged_and_not_relevant() -> None:
    assert one("nDCG@10", {"a": 1, "b": -3}, ["b", "a"]) == one("nDCG@10", {"a": 1, "b": 0}, ["b", "a"])
    assert one("Judged@1", {"a": 1, "b": -3}, ["b", "a"]) == 1.0
    assert one("RR", {"a": 1, "b": -(10**30)}, ["b", "a"]) == 0.5  # more than a machine's number holds


def test_a_grade_that_trec_eval_could_not_count_is_refused() -> None:
    assert one("nDCG@10", {"a": 1000, "b": 1}, ["a", "b"]) == 1.0
    for grade in (1001, 10**6, 5 * 10**9):
        with pytest.raises(MetricError, match="topic 'q' has a grade of"):
            one("nDCG@10", {"a": grade, "b": 1}, ["b", "a"])


def test_a_failed_and_an_empty_result_score_zero_and_end_nothing() -> None:
    data = dataset({"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}})
    run = [TopicResult("p", ("a",), failed="timed out"), TopicResult("q"), TopicResult("r", ("a",))]
    for values in score(
        ["nDCG@10", "RR@10", "AP", "P@5", "R@5", "AllR@5", "Success@1", "Judged@10"], data, run
    ).values():
        assert values[:2].tolist() == [0.0, 0.0]
        assert values[2] > 0.0


def test_columns_stand_in_the_order_asked_for_under_their_canonical_names() -> None:
    found = score(["mrr@10", "ndcg@10", "RR@10"], dataset({"q": {"a": 1}}), [TopicResult("q", ("a",))])
    assert list(found) == ["RR@10", "nDCG@10"]
    assert score([], dataset({"q": {"a": 1}}), [TopicResult("q", ("a",))]) == {}


def test_a_document_twice_is_refused() -> None:
    with pytest.raises(MetricError, match="twice"):
        one("P@5", {"a": 1}, ["a", "b", "a"])


@pytest.mark.parametrize("topics", [("q",), ("r", "q"), ("q", "r", "s"), ("q", "q"), ()])
def test_a_run_of_other_topics_is_refused(topics: tuple[str, ...]) -> None:
    with pytest.raises(MetricError, match="scored topics"):
        score(["P@5"], dataset({"q": {"a": 1}, "r": {"a": 1}}), [TopicResult(topic) for topic in topics])


@given(st.lists(st.text(st.characters(), min_size=1, max_size=4), min_size=2, max_size=6, unique=True))
def test_ids_may_be_any_text(ids: list[str]) -> None:
    """Blanks, quotes, NUL, lone surrogates: nothing of an id reaches the code that counts."""
    assert one("RR", {ids[-1]: 1}, ids) == 1 / len(ids)


def test_without_the_extra_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"pip install -e .\.\[lab\]"):
        one("P@5", {"a": 1}, ["a"])


TREC = {
    "nDCG@10": "ndcg_cut_10",
    "nDCG@3": "ndcg_cut_3",
    "nDCG": "ndcg",
    "AP": "map",
    "AP@5": "map_cut_5",
    "RR": "recip_rank",
    "P@5": "P_5",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "Success@1": "success_1",
    "Success@5": "success_5",
}

ids = st.sampled_from([f"{letter}{digit}" for letter in "aBé" for digit in range(6)])
tied = st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-12, 1.0 + 1e-6, -2.0])
topics = st.tuples(
    st.dictionaries(ids, st.integers(-2, 3), min_size=1, max_size=12).filter(lambda judged: max(judged.values()) > 0),
    st.dictionaries(ids, tied | st.floats(-1e6, 1e6), min_size=1, max_size=16),
)


@settings(max_examples=150)
@given(st.lists(topics, min_size=1, max_size=4))
def test_agrees_with_trec_eval_whatever_the_ties(cases: list[tuple[dict[str, int], dict[str, float]]]) -> None:
    judgements = {f"q{place}": judged for place, (judged, _) in enumerate(cases)}
    scored = {f"q{place}": found for place, (_, found) in enumerate(cases)}
    oracle = pytrec_eval.RelevanceEvaluator(judgements, set(TREC.values())).evaluate(scored)
    values = score(list(TREC), dataset(judgements), [sort_like_trec_eval(topic, scored[topic]) for topic in judgements])
    for name, column in values.items():
        expected = [oracle[topic][TREC[name]] for topic in judgements]
        np.testing.assert_allclose(column, expected, rtol=0, atol=1e-9, err_msg=name)


@given(st.lists(topics, min_size=1, max_size=3), st.integers(1, 12))
def test_cut_reciprocal_rank_and_all_recall_against_plain_python(
    cases: list[tuple[dict[str, int], dict[str, float]]], k: int
) -> None:
    data = dataset({f"q{place}": judged for place, (judged, _) in enumerate(cases)})
    run = [TopicResult(f"q{place}", tuple(found)) for place, (_, found) in enumerate(cases)]
    columns = score([f"RR@{k}", f"AllR@{k}", f"Judged@{k}"], data, run)
    for place, (judged, found) in enumerate(cases):
        top = list(found)[:k]
        relevant = {document for document, grade in judged.items() if grade > 0}
        first = [rank for rank, document in enumerate(top, 1) if document in relevant][:1]
        assert columns[f"RR@{k}"][place] == (1 / first[0] if first else 0.0)
        assert columns[f"AllR@{k}"][place] == float(relevant <= set(top))
        assert columns[f"Judged@{k}"][place] == sum(document in judged for document in top) / len(top)


@pytest.mark.parametrize("levels", [2, 10, 1_000_000])
def test_agrees_with_trec_eval_on_long_runs(levels: int) -> None:
    """Fifty topics of a hundred documents; with two levels of score nearly all of them are ties."""
    random = np.random.default_rng(levels)
    names = [f"d{place}" for place in range(400)]
    judgements, scored = {}, {}
    for place in range(50):
        judged = random.choice(names, 30, replace=False)
        found = random.choice(names, 100, replace=False)
        judgements[f"q{place:02}"] = {str(d): int(g) for d, g in zip(judged, random.integers(0, 4, 30), strict=True)}
        scored[f"q{place:02}"] = {
            str(d): float(s) / levels for d, s in zip(found, random.integers(0, levels, 100), strict=True)
        }
    oracle = pytrec_eval.RelevanceEvaluator(judgements, set(TREC.values())).evaluate(scored)
    values = score(list(TREC), dataset(judgements), [sort_like_trec_eval(topic, scored[topic]) for topic in judgements])
    for name, column in values.items():
        expected = [oracle[topic][TREC[name]] for topic in judgements]
        np.testing.assert_allclose(column, expected, rtol=0, atol=1e-9, err_msg=name)
