"""Triggers that combine other triggers.

when = { use = "any_of", of = [{ use = "fewer_than" }, { use = "margin_below" }] }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.protocols import Snapshot, Trigger, TriggerDecision
from assay.types import Query, Range, Ranking


def _evaluate(
    of: tuple[Trigger, ...], query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int
) -> tuple[list[TriggerDecision], list[TriggerDecision]]:
    """Run every trigger, so that the trace is complete; return the decisions that fired and those that did not."""
    decisions = [trigger.fires(query, rankings, snapshot, k) for trigger in of]
    return [decision for decision in decisions if decision.yes], [
        decision for decision in decisions if not decision.yes
    ]


def _check_nested(component: str, of: tuple[Trigger, ...]) -> None:
    if not of:
        raise ConfigError(f"{component}.of is empty", 'name at least one trigger: of = [{ use = "fewer_than" }]')


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Fires when at least one of its triggers does; the trace names those that did, the first of them decides."""

    of: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        _check_nested("any_of", self.of)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        fired, silent = _evaluate(self.of, query, rankings, snapshot, k)
        first, why = (fired or silent)[0], "; ".join(decision.why for decision in fired or silent)
        return TriggerDecision(bool(fired), why, first.name, first.observed)

    def check(self, legs: Mapping[str, Range]) -> None:
        for trigger in self.of:
            trigger.check(legs)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Fires when every one of its triggers does; the trace names those that did not, the first of them decides."""

    of: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        _check_nested("all_of", self.of)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        fired, silent = _evaluate(self.of, query, rankings, snapshot, k)
        first, why = (silent or fired)[0], "; ".join(decision.why for decision in silent or fired)
        return TriggerDecision(not silent, why, first.name, first.observed)

    def check(self, legs: Mapping[str, Range]) -> None:
        for trigger in self.of:
            trigger.check(legs)
