"""Whether a question can be answered from a store within a token budget: the value that every answer carries.

The engine knows the value and the function that makes it, not how it is made (assay/answerability).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.engine.trace import Span
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
