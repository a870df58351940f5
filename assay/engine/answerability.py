"""Whether a question can be answered from a store within a token budget: the value, and the judgement of one search.

The engine knows the value and the function that makes it, not how it is made (assay/answerability).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from assay.engine.trace import Degradation, Span, Status
from assay.errors import AssayError, LawBroken
from assay.protocols import Snapshot
from assay.types import Query

AnswerabilityKind = Literal["listing", "diff", "long_evidence", "out_of_scope"]
"""Why a question cannot be answered: it asks for more passages than the budget holds (a list, the differences of two
versions, a long account), or the store does not hold the answer."""


@dataclass(frozen=True, slots=True)
class JudgedFeature:
    """One measurement behind a judgement: its value and its weight in the logistic regression of `head`."""

    head: Literal["demand", "scope"]
    name: str
    value: float
    weight: float

    def to_json(self) -> dict[str, Any]:
        return {"head": self.head, "name": self.name, "value": round(self.value, 6), "weight": self.weight}


@dataclass(frozen=True, slots=True)
class Answerability:
    """The judgement of one question.

    kind             None: answerable
    probability      of being impossible, from the head that decided; the larger one where the question is answerable
    evidence_tokens  how many tokens the evidence takes, estimated; None where the question names no list
    budget           the tokens it was judged against
    why              the decision as a sentence
    """

    kind: AnswerabilityKind | None
    probability: float
    evidence_tokens: int | None
    budget: int
    why: str
    features: tuple[JudgedFeature, ...] = ()

    @property
    def answerable(self) -> bool:
        return self.kind is None

    @property
    def word(self) -> str:
        return "answerable" if self.answerable else "impossible"

    def to_json(self) -> dict[str, Any]:
        return {
            "word": self.word,
            "kind": self.kind,
            "probability": round(self.probability, 6),
            "evidence_tokens": self.evidence_tokens,
            "budget": self.budget,
            "why": self.why,
            "features": [feature.to_json() for feature in self.features],
        }


Judge = Callable[[Query, Snapshot, Sequence[Span]], Answerability]
"""Judges a query from the snapshot and the trace of its search."""


class AnswerabilityJudgement:
    """What a judge says about one search, computed when `read` is first called and then kept.

    A judge is a function of the query, an immutable snapshot and the trace, so the moment of reading changes nothing.
    Two threads that read at the same time may both compute it; they get equal values.
    """

    def __init__(self, judge: Judge, query: Query, snapshot: Snapshot, trace: Sequence[Span]) -> None:
        self._judge, self._query, self._snapshot, self._trace = judge, query, snapshot, tuple(trace)
        self._outcome: tuple[Answerability | None, Degradation | None] | None = None

    def read(self) -> Answerability | None:
        """The judgement; None where the judge fails, for example because the store is closed. `amend` says why."""
        if self._outcome is None:
            try:
                self._outcome = self._judge(self._query, self._snapshot, self._trace), None
            except LawBroken:
                raise
            except AssayError as error:
                self._outcome = None, Degradation("answerability", error.reason, skipped=True)
        return self._outcome[0]

    def amend(self, status: Status) -> Status:
        """The status with the reason why the judge failed, if it was read and did."""
        problem = None if self._outcome is None else self._outcome[1]
        return status if problem is None else replace(status, problems=(*status.problems, problem))
