"""The pipelines that the benchmark of reranking compares."""

from __future__ import annotations

import json

import pytest

from assay.config.load import load, to_config
from assay.errors import ConfigError
from benchmarks.measure import RECEIPTS
from benchmarks.rerank_pipeline import ROWS, load_pipeline


def steps(name: str, source: str = "cranfield", cache: bool = False) -> dict[str, dict[str, object]]:
    return {step["use"]: step for step in to_config(load_pipeline(name, source, cache))["step"]}


def test_a_preset_stays_as_it_is() -> None:
    assert to_config(load_pipeline("default-0.1", "cranfield")) == to_config(load("default-0.1"))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("source", ["cranfield", "locomo"])
def test_weights_are_those_fitted_without_the_set(name: str, source: str) -> None:
    receipt = json.loads((RECEIPTS / "ranker_encoders.json").read_text("utf-8"))["measured"]["gte-small"]
    fitted = receipt["weights"][source][ROWS[name]]
    found = steps(name, source)["learned"]["weights"]
    assert found == {feature: weight for feature, weight in fitted.items() if weight}
    assert found != steps("default")["learned"]["weights"]


def test_a_suffix_adds_a_cross_encoder_behind_everything() -> None:
    weak, strong = steps("default+")["cross_encoder"], steps("five*", cache=True)["cross_encoder"]
    assert list(steps("five*"))[-1] == "cross_encoder"
    assert (weak["pool"], weak["weight"], weak["cache"]) == (10, 0.5, False)
    assert (strong["pool"], strong["weight"], strong["cache"]) == (20, 1.0, True)


def test_a_misspelt_preset_is_refused() -> None:
    with pytest.raises(ConfigError, match="defaul"):
        load_pipeline("defaul", "cranfield")
