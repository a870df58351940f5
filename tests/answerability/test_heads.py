"""The logistic regressions: by hand, and what ships."""

import math

import pytest

from assay import embed
from assay.answerability.heads import LogisticHead, load_model, load_shipped_heads
from assay.answerability.judge import AnswerabilityJudge


def test_probability_by_hand() -> None:
    head = LogisticHead(-1.0, 0.5, {"a": 2.0, "b": 4.0})
    assert head.probability({"a": 0.5, "b": 0.0, "c": 9.0}) == 0.5
    assert head.probability({"a": 0.0, "b": 0.5}) == pytest.approx(1.0 / (1.0 + math.exp(-1.0)))
    assert head.probability({"a": -1e6, "b": 0.0}) == 0.0  # no overflow


def test_shipped_weights_are_never_negative() -> None:
    data = load_shipped_heads()
    heads = [data["demand"], data["words"], *(one["scope"] for one in data["models"].values())]
    assert all(weight >= 0.0 for head in heads for weight in head["weights"].values())
    assert all(0.0 < head["threshold"] < 1.0 for head in heads)
    assert "distance" not in data["words"]["weights"]


def test_cosines_count_only_for_a_calibrated_model() -> None:
    assert load_model("another model").near is None
    assert "distance" not in load_model("another model").scope.weights
    model = embed.load("minilm") if embed.default_spec() == "minilm" else None
    if model is not None:
        assert load_model(model.digest).near is not None


def test_the_judge_is_a_value() -> None:
    assert AnswerabilityJudge("m", 200) == AnswerabilityJudge("m", 200)
