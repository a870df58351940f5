"""A leg that is a pipeline of its own: its legs find, its fuser merges, its steps rescore, and it gives one ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from assay.answer import Answer
from assay.beside import Beside, brought
from assay.pipeline import Pipeline
from assay.preflight import check_scales
from assay.protocols import Snapshot
from assay.types import Note, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Nested:
    """The inner pipeline's ranking. What degraded inside is a note outside, so the verdict says it.

    `wants` a query vector where one of its parts does, but runs without: only that part is then skipped.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    pipeline: Pipeline

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"vector"}) if self.pipeline.needs("vector") else frozenset()

    def gives(self) -> Range:
        return check_scales(self.pipeline)[-1][2]

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        answer = self.pipeline.run(query, snapshot, k=k)
        found = answer.chosen.noted(*_notes(answer))
        if isinstance(answer.snapshot, Beside):
            return brought(found, answer.snapshot.chunks(answer.snapshot.rows(found.ids)))
        return found


def _notes(answer: Answer) -> Iterator[Note]:
    for said in answer.verdict.degraded:
        yield Note("degraded", said)
    for span in answer.trace:
        for note in span.notes:
            if note.kind in ("info", "dropped"):
                yield Note(note.kind, f"{span.name}: {note.text}", note.ids)
