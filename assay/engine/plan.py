"""Legs and steps in their places: what a pipeline says about each beside its own settings."""

from __future__ import annotations

from dataclasses import dataclass

from assay.protocols import Leg, Selector, Stage, Trigger


@dataclass(frozen=True, slots=True)
class LegPlan:
    """A leg in its place: how deep it looks, who wins its ties, when it runs, whose finds it may see, what it may cost.

    `cap_ms` is the most it may take, `cost_ms` what it is expected to take. A leg that fails is skipped, on the record;
    one that is `required` fails the query instead.
    """

    name: str
    leg: Leg
    k: int = 100
    priority: int = 0
    when: Trigger | None = None
    after: tuple[str, ...] = ()
    cap_ms: float | None = None
    cost_ms: float | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class StepPlan:
    """A stage or selector under its name in the config, and what it may and should cost."""

    name: str
    step: Stage | Selector
    cap_ms: float | None = None
    cost_ms: float | None = None
