"""Findings about a pipeline, a dataset or a run: a code with its values; the sentence is made when it is shown.

Receipts hold codes and values, so a sentence can be reworded without changing a digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Level = Literal["error", "warning", "info"]

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        # A pipeline, before it runs.
        "leg_short": "looks {depth} deep, but an answer has k = {k}",
        "leg_short_alone": "looks {depth} deep, but an answer has k = {k}: when no other leg is triggered, the answer "
        "is short",
        "leg_cannot_enter": "a chunk that only this leg finds, at its rank 1, stands at place {place} when the other "
        "legs are full; it cannot enter the top {k}, so this leg can only reorder what others found",
        "cost_above_cap": "is expected to cost {cost_ms:g} ms, above its cap of {cap_ms:g}: it is skipped",
        "cap_above_budget": "its cap of {cap_ms:g} ms is above the whole budget of {budget_ms:g}",
        "threshold_too_high": "threshold {threshold:g} is above every possible score (at most {highest:.4g}): it drops "
        "everything",
        "threshold_too_low": "threshold {threshold:g} is below every possible score (at least {lowest:.4g}): it drops "
        "nothing",
        "threshold_needs_all_legs": "when {skipped} is skipped the best fused score is {best:.4g}, below the threshold "
        "{threshold:g}",
        # A dataset.
        "query_in_document": "{queries} of {scored} queries are the {part} of a relevant document, letter for letter "
        "(first: {first})",
        "self_judged": "{queries} queries are judged relevant to themselves (first: {first})",
        "equal_vectors": "{equal:,} of {chunks:,} chunks share their vector with another",
        # A run.
        "leg_found_nothing": "this leg found nothing for any query",
        "not_above_random": "{metric} {mean:.4f} is not above documents drawn by lot ({random:.4f})",
        "above_oracle": "{metric} is above what the judgements themselves reach for {queries} queries (first: {first})",
        "same_rankings": "gave the same ranking as {other} for every query: what differs between them changes nothing "
        "here",
        # Why a run says nothing about its system.
        "cannot_run": "{step} cannot run on this index",
        "all_failed": "every query failed, the first with: {error}",
        "all_degraded": "degraded for every query: {step} was {outcome}",
        # A sentence of an older version that no template fits.
        "text": "{text}",
    }
)
"""Code → the sentence, as a format string over the values."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark about a pipeline, a dataset or a run, by its code in `SENTENCES`.

    An `error` makes the pipeline useless as written, or the result impossible; a `warning` makes it doubtful.
    """

    level: Level
    where: str
    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return render(self.code, self.values)


def render(code: str, values: Mapping[str, Any]) -> str:
    """The sentence of a code; a code that this version does not know is shown with its values."""
    template = SENTENCES.get(code)
    try:
        if template is not None:
            return template.format_map(values)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        pass  # a receipt of another version may hold other values
    return " ".join([code, *(f"{key}={value}" for key, value in sorted(values.items()))])
