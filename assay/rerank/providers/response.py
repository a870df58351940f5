"""Parses and checks a provider's response. It is external input, so every entry is validated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.types import Floats

ScoreScale = Literal["unit", "logit"]
ScorePairs = list[tuple[object, object]]
"""Unchecked entries of a response: (index of the text, score)."""

MALFORMED = "malformed entries"
OUT_OF_RANGE = "indices out of range"
REPEATED = "indices given twice"
NOT_FINITE = "scores that are no finite number"


class UnreadableResponse(ValueError):
    """A response lacks the list of results that its format requires; the message says where it should be."""


@dataclass(frozen=True, slots=True, eq=False)
class ProviderScores:
    """One unit score per text, NaN where none was returned; rejected entries by kind; how many scores were below 0
    and above 1."""

    scores: Floats
    rejected: tuple[tuple[str, int], ...] = ()
    below: int = 0
    above: int = 0

    @property
    def returned(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.scores)))


def result_reader(*path: str, score: str = "relevance_score") -> Callable[[Any], ScorePairs]:
    """Make a function that reads responses whose results are a list of {"index": …, score: …} under `path`."""

    def read(response: Any) -> ScorePairs:
        results = response
        for key in path:
            results = results.get(key) if isinstance(results, dict) else None
        if not isinstance(results, list):
            raise UnreadableResponse(f"no list of results under {'.'.join(path)}" if path else "no list of results")
        missing: dict[str, object] = {}
        entries = [entry if isinstance(entry, dict) else missing for entry in results]
        return [(entry.get("index"), entry.get(score)) for entry in entries]

    return read


def join_scores(batches: Sequence[ProviderScores]) -> ProviderScores:
    """Concatenate the scores of several requests."""
    rejected: Counter[str] = Counter()
    for scores in batches:
        rejected.update(dict(scores.rejected))
    return ProviderScores(
        np.concatenate([scores.scores for scores in batches]),
        tuple(rejected.items()),
        sum(scores.below for scores in batches),
        sum(scores.above for scores in batches),
    )


def parse_scores(pairs: ScorePairs, count: int, scale: ScoreScale) -> ProviderScores:
    """Turn entries into the scores of `count` texts; the first valid entry of an index counts.

    unit    clipped to [0, 1]               logit    1 / (1 + exp(−x))
    """
    scores = np.full(count, np.nan)
    rejected: Counter[str] = Counter()
    for index, score in pairs:
        problem = _entry_problem(index, score, scores)
        if problem:
            rejected[problem] += 1
        else:
            scores[index] = score  # type: ignore[call-overload]  # _entry_problem checked both
    if scale == "logit":
        return ProviderScores(sigmoid(scores), tuple(rejected.items()))
    below, above = int(np.count_nonzero(scores < 0.0)), int(np.count_nonzero(scores > 1.0))
    return ProviderScores(np.clip(scores, 0.0, 1.0), tuple(rejected.items()), below, above)


def _entry_problem(index: object, score: object, scores_so_far: Floats) -> str:
    """Why an entry is rejected; empty when it is valid."""
    if type(index) is not int:
        return MALFORMED
    if not 0 <= index < len(scores_so_far):
        return OUT_OF_RANGE
    if not math.isnan(scores_so_far[index]):
        return REPEATED
    try:
        is_number = type(score) in (int, float) and math.isfinite(score)  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond every float
        is_number = False
    return "" if is_number else NOT_FINITE


def sigmoid(logits: Floats) -> Floats:
    """1 / (1 + exp(−x)), without overflow at either end; NaN stays NaN."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))
