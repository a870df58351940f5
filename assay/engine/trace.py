"""What a run records: the span of every step, the status of the answer, and what happened to one chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from assay.errors import Reason
from assay.protocols import TriggerDecision
from assay.types import Note, Op, Ranking

SpanKind = Literal["embed", "leg", "fuse", "stage", "select", "pack"]
Outcome = Literal["ran", "not_triggered", "out_of_time", "failed", "unable"]
"""How a step ended: it ran; its trigger did not fire; its time was over, or would have been; it raised an error; the
store or the model lacks what it needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """One step of the trace: how many candidates went in, the ranking that came out, its notes.

    `reason` says why a step did not run (None when it ran), `trigger` what its trigger decided, if it has one. `ms` is
    measured, so it is no part of any digest.
    """

    name: str
    kind: SpanKind
    candidates_in: int
    ranking: Ranking
    reason: Reason | None = None
    notes: tuple[Note, ...] = ()
    ms: float = 0.0
    outcome: Outcome = "ran"
    trigger: TriggerDecision | None = None

    @property
    def skipped(self) -> str:
        """The reason as text; "" when the step ran."""
        return "" if self.reason is None else str(self.reason)


@dataclass(frozen=True, slots=True)
class Degradation:
    """A step that was skipped, or that ran otherwise than planned."""

    step: str
    reason: Reason
    skipped: bool = False

    def __str__(self) -> str:
        return f"{self.step} skipped: {self.reason}" if self.skipped else f"{self.step}: {self.reason}"

    def as_note(self) -> Note:
        """The same for the answer of an outer pipeline, as a note on the leg that ran this one."""
        without_cure = replace(self, reason=Reason(self.reason.text))
        return Note("degraded", str(without_cure), cure=self.reason.cure)


@dataclass(frozen=True, slots=True)
class Status:
    """How many chunks were found, and which steps did not run as planned: broken never looks like empty."""

    found: int
    problems: tuple[Degradation, ...] = ()
    abstained: bool = False
    """Results were found and withheld, because the caller asked for abstention and the question is impossible."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """The problems as text."""
        return tuple(map(str, self.problems))

    @property
    def word(self) -> str:
        if self.abstained:
            return "abstained"
        if self.problems:
            return "degraded" if self.found else "nothing found, degraded"
        return "answered" if self.found else "nothing found"


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One line of a score's waterfall: a part, how it acts, and the score after it."""

    name: str
    op: Op
    value: float
    score: float
    rank: int | None = None

    def __str__(self) -> str:
        rank = f" #{self.rank}" if self.rank is not None else ""
        sign = {"add": f"{self.value:+.4g}", "mul": f"×{self.value:.4g}", "set": f"→{self.value:.4g}"}[self.op]
        return f"{self.name}{rank} {sign}"


@dataclass(frozen=True, slots=True)
class ChunkStep:
    """What one step did with one chunk: its rank and score there, or the reason it is not there."""

    step: str
    kind: SpanKind
    rank: int | None
    score: float | None
    why: str = ""
    lines: tuple[ScorePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one leg did for an answer: candidates it found, how many of them were chosen, and how many of those no
    other leg found. A leg with `alone` 0 only reorders what the others found."""

    leg: str
    found: int
    chosen: int
    alone: int
