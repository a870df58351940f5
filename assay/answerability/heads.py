"""The two logistic regressions: `demand` (it asks for more than the budget holds) and `scope` (the store lacks it).

    P = 1 / (1 + exp(−(intercept + Σ weight · value)))          impossible when P ≥ threshold

Every feature is measured so that more of it makes a question less answerable, and no weight is negative. Cosines of
two models do not compare, so a head that reads them belongs to one model, named by its digest; with another model, or
without vectors, the head that reads words alone is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class LogisticHead:
    """A logistic regression; a feature without a weight does not count."""

    intercept: float
    threshold: float
    weights: Mapping[str, float]

    def probability(self, values: Mapping[str, float]) -> float:
        total = self.intercept + sum(weight * values[name] for name, weight in self.weights.items())
        return 1.0 / (1.0 + math.exp(-total)) if total > -700.0 else 0.0

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> LogisticHead:
        return LogisticHead(float(data["intercept"]), float(data["threshold"]), dict(data["weights"]))


@dataclass(frozen=True)
class JudgeModel:
    """The heads for one embedding model, or for words alone. `near` is the cosine from which on a passage is about a
    question even if it shares no word with it; None where cosines are not read."""

    demand: LogisticHead
    scope: LogisticHead
    near: float | None = None


@cache
def load_shipped_heads() -> Mapping[str, Any]:
    """The shipped heads with their origin: datasets and digests, seed, results."""
    heads: Mapping[str, Any] = json.loads(files("assay.answerability").joinpath("data/heads.json").read_text("utf-8"))
    return heads


@cache
def load_model(digest: str) -> JudgeModel:
    """The heads for the embedding model with this digest; those for words alone where it is not calibrated."""
    data = load_shipped_heads()
    demand = LogisticHead.from_json(data["demand"])
    calibrated = data["models"].get(digest)
    if calibrated is None:
        return JudgeModel(demand, LogisticHead.from_json(data["words"]))
    return JudgeModel(demand, LogisticHead.from_json(calibrated["scope"]), float(calibrated["near"]))
