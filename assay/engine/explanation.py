"""Why a chunk has its rank in an answer, or why it is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.engine.answer import Answer, ChunkStep
from assay.types import Chunk


@dataclass(frozen=True)
class Explanation:
    """Why a chunk has its rank, or why it is not in the answer."""

    answer: Answer
    chunk: Chunk | None
    rank: int | None
    steps: tuple[ChunkStep, ...]
    reasons: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The documented form of an explanation (docs/reference/answer.md)."""
        whole = self.answer.to_json()
        return {
            "id": None if self.chunk is None else self.chunk.id,
            "rank": self.rank,
            "reasons": list(self.reasons),
            "steps": [
                {
                    "step": step.step,
                    "kind": step.kind,
                    "rank": step.rank,
                    "score": step.score,
                    "why": step.why or None,
                    "parts": [
                        {"part": line.name, "op": line.op, "value": line.value, "score": line.score}
                        for line in step.lines
                    ],
                }
                for step in self.steps
            ],
            "hit": None if self.rank is None else whole["hits"][self.rank - 1],
            **{key: whole[key] for key in ("query", "status", "trace", "digests")},
        }
