"""What is believed of a provider's answer. The answer comes from outside: nothing in it is taken on trust."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.types import Floats

ScoreScale = Literal["unit", "logit"]
Pairs = list[tuple[object, object]]
"""What an answer says, unchecked: (index of the text, score)."""

MALFORMED = "malformed entries"
NO_SUCH = "indices out of range"
TWICE = "indices given twice"
NO_NUMBER = "scores that are no finite number"


class Unreadable(ValueError):
    """An answer without the list of results that its format promises; the message says where it should stand."""


@dataclass(frozen=True, slots=True, eq=False)
class ProviderScores:
    """One unit score per text asked about, NaN where none came back; what was not believed, by kind; how many scores
    lay below 0 and above 1."""

    scores: Floats
    odd: tuple[tuple[str, int], ...] = ()
    below: int = 0
    above: int = 0

    @property
    def returned(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.scores)))


def listed(*path: str, score: str = "relevance_score") -> Callable[[Any], Pairs]:
    """A reader of answers whose results are a list of {"index": …, score: …} under `path`."""

    def read(answer: Any) -> Pairs:
        found = answer
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, list):
            raise Unreadable(f"no list of results under {'.'.join(path)}" if path else "no list of results")
        missing: dict[str, object] = {}
        entries = [entry if isinstance(entry, dict) else missing for entry in found]
        return [(entry.get("index"), entry.get(score)) for entry in entries]

    return read


def joined(judgements: Sequence[ProviderScores]) -> ProviderScores:
    """What several answers say of the texts that each was asked about, one after the other."""
    odd: Counter[str] = Counter()
    for judgement in judgements:
        odd.update(dict(judgement.odd))
    return ProviderScores(
        np.concatenate([judgement.scores for judgement in judgements]),
        tuple(odd.items()),
        sum(judgement.below for judgement in judgements),
        sum(judgement.above for judgement in judgements),
    )


def judged(pairs: Pairs, asked: int, scale: ScoreScale) -> ProviderScores:
    """The scores of `asked` texts, from what an answer says; the first sound entry of an index is the one that counts.

    unit    held to [0, 1]                  logit    1 / (1 + exp(−x))
    """
    scores = np.full(asked, np.nan)
    odd: Counter[str] = Counter()
    for index, score in pairs:
        trouble = _trouble(index, score, scores)
        if trouble:
            odd[trouble] += 1
        else:
            scores[index] = score  # type: ignore[call-overload]  # _trouble has seen that both are numbers
    if scale == "logit":
        return ProviderScores(sigmoid(scores), tuple(odd.items()))
    below, above = int(np.count_nonzero(scores < 0.0)), int(np.count_nonzero(scores > 1.0))
    return ProviderScores(np.clip(scores, 0.0, 1.0), tuple(odd.items()), below, above)


def _trouble(index: object, score: object, so_far: Floats) -> str:
    """Why an entry is not believed; empty when it is."""
    if type(index) is not int:
        return MALFORMED
    if not 0 <= index < len(so_far):
        return NO_SUCH
    if not math.isnan(so_far[index]):
        return TWICE
    try:
        sound = type(score) in (int, float) and math.isfinite(score)  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond every float
        sound = False
    return "" if sound else NO_NUMBER


def sigmoid(logits: Floats) -> Floats:
    """1 / (1 + exp(−x)), without overflow at either end; NaN stays NaN."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))
