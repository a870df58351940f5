"""A leg that is a pipeline: its legs find, its fuser merges, its steps rescore, and it gives one ranking."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar, cast

from assay.config.preflight import check_scales
from assay.engine.answer import Answer
from assay.engine.executor import CostExecutor, Job
from assay.engine.foreign_chunks import source_result
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError, OutOfTime
from assay.protocols import Preparable, Snapshot, implements
from assay.types import Note, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Nested:
    """Runs an inner pipeline and gives its ranking. What degraded inside becomes a note, so the status shows it.

    Asked for more than the k of its pipeline (over-fetching, engine/overfetch.py), its legs return as many times more.
    It `wants` a query vector where one of its parts does, but runs without: only that part is then skipped. Past its
    cap the part that runs is cancelled, and the ones after it are not started.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    digest_name: ClassVar[str] = "assay.nested:Nested"

    pipeline: Pipeline

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"vector"}) if self.pipeline.needs("vector") else frozenset()

    def gives(self) -> Range:
        return check_scales(self.pipeline)[-1][2]

    def prepare(self) -> None:
        """Prepare its parts; one that fails says so when it runs, and only it is skipped."""
        for part in (*(plan.leg for plan in self.pipeline.legs), *(plan.step for plan in self.pipeline.steps)):
            if implements(type(part), Preparable):
                with contextlib.suppress(AssayError):
                    cast(Preparable, part).prepare()

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        return self.begin(query, snapshot, k).result()

    def begin(self, query: Query, snapshot: Snapshot, k: int) -> InnerRun:
        return InnerRun(self._deepened(k), query, snapshot, k)

    def _deepened(self, k: int) -> Pipeline:
        times = ceil(k / self.pipeline.k)
        if times <= 1:
            return self.pipeline
        return replace(self.pipeline, legs=tuple(replace(plan, k=plan.k * times) for plan in self.pipeline.legs))


class InnerRun(CostExecutor):
    """One run of an inner pipeline, and the executor of its parts: the part that runs can be cancelled."""

    def __init__(self, pipeline: Pipeline, query: Query, snapshot: Snapshot, k: int) -> None:
        super().__init__()
        self._pipeline, self._query, self._snapshot, self._k = pipeline, query, snapshot, k
        self._running: Job | None = None
        self._cancelled = False
        self._lock = threading.Lock()

    def result(self) -> Ranking:
        answer = self._pipeline.run(self._query, self._snapshot, k=self._k, executor=self)
        ranking = answer.chosen.noted(*_notes(answer))
        if _asks_sources(self._pipeline):  # also when no source answered: a replay must not ask again
            return source_result(ranking, answer.snapshot.chunks(answer.snapshot.rows(ranking.ids)))
        return ranking

    def run(self, job: Job) -> Ranking:
        with self._lock:
            if self._cancelled:
                raise OutOfTime("called off")
            self._running = job
        try:
            return super().run(job)
        finally:
            self._running = None

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            running = self._running
        if running is not None:
            running.cancel()


def _asks_sources(pipeline: Pipeline) -> bool:
    """Does a part of it, at any depth, ask an external source?"""
    return any(
        _asks_sources(plan.leg.pipeline) if isinstance(plan.leg, Nested) else getattr(plan.leg, "is_source", False)
        for plan in pipeline.legs
    )


def _notes(answer: Answer) -> Iterator[Note]:
    for problem in answer.status.problems:
        yield problem.as_note()
    for span in answer.trace:
        for note in span.notes:
            if note.kind in ("info", "dropped") or note.data:
                yield Note(note.kind, f"{span.name}: {note.text}", note.ids, data=note.data)
