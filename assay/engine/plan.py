"""A leg or step in a pipeline: its name, and what the pipeline says about it beside its own settings."""

from __future__ import annotations

from dataclasses import dataclass

from assay.protocols import Leg, Selector, Stage, Trigger


@dataclass(frozen=True, slots=True)
class LegPlan:
    """A leg of a pipeline: how many candidates it returns, who wins its ties, when it runs, which legs it may see.

    `cap_ms` is the most it may take, `cost_ms` what it is expected to take. A leg that fails is skipped, on the trace;
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
    """A stage or selector under its name in the config, with the most it may take and what it is expected to take."""

    name: str
    step: Stage | Selector
    cap_ms: float | None = None
    cost_ms: float | None = None
