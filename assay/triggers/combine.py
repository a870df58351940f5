"""Triggers of triggers: `when = { use = "any_of", of = [{ use = "fewer_than" }, { use = "margin_below" }] }`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.protocols import Fired, Snapshot, Trigger
from assay.types import Query, Range, Ranking


def _asked(
    of: tuple[Trigger, ...], query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int
) -> tuple[list[Fired], list[Fired]]:
    """All decisions, those that fired and those that did not; every trigger is asked, so that the trace is whole."""
    every = [trigger.fires(query, rankings, snapshot, k) for trigger in of]
    return [one for one in every if one.yes], [one for one in every if not one.yes]


def _check(who: str, of: tuple[Trigger, ...]) -> None:
    if not of:
        raise ConfigError(f"{who}.of is empty", 'name at least one trigger: of = [{ use = "fewer_than" }]')


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Fires when at least one of its triggers does; the trace names those that did, the first of them decides."""

    of: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        _check("any_of", self.of)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        yes, no = _asked(self.of, query, rankings, snapshot, k)
        first, said = (yes or no)[0], "; ".join(one.why for one in yes or no)
        return Fired(bool(yes), said, first.name, first.observed)

    def check(self, legs: Mapping[str, Range]) -> None:
        for trigger in self.of:
            trigger.check(legs)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Fires when every one of its triggers does; the trace names those that did not, the first of them decides."""

    of: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        _check("all_of", self.of)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        yes, no = _asked(self.of, query, rankings, snapshot, k)
        first, said = (no or yes)[0], "; ".join(one.why for one in no or yes)
        return Fired(not no, said, first.name, first.observed)

    def check(self, legs: Mapping[str, Range]) -> None:
        for trigger in self.of:
            trigger.check(legs)
