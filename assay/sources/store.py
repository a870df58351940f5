"""Asks another Assay store with a pipeline of its own."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import ClassVar

from assay.backend.addresses import redact_password
from assay.config.effects import find_effects, find_reads
from assay.config.load import load
from assay.config.preflight import check_scales
from assay.engine.foreign_chunks import SourceResult, source_result
from assay.engine.pipeline import LegPlan, StepPlan
from assay.errors import ConfigError, ModelError
from assay.kb import KnowledgeBase
from assay.kb import open as open_kb
from assay.protocols import Snapshot
from assay.sources.open_cache import open_once
from assay.types import Query, Range, Ranking
from assay.util.permissions import Effect, address_effects, require


@dataclass(frozen=True, slots=True)
class AnotherStore:
    """The ranking of `pipeline` (a preset or a TOML file) in the store at `path`, whichever backend keeps it.

    The question goes there as text and is embedded with that store's own model; filters, scope and moment go with it.
    Its pipeline has no caps and no budget of its own: the time it may take is this leg's `cap_ms`.
    Chunks come back whole, so everything after it reads them like this store's own. Two stores that hold the same text
    under the same name give it the same id, and it counts as found by both.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    is_source: ClassVar[bool] = True

    path: str
    pipeline: str = "default"

    def __post_init__(self) -> None:
        if not self.path:
            raise ConfigError("store.path is empty", "name the other store's folder or address")
        if redact_password(self.path) != self.path:
            raise ConfigError("store.path holds a password, and pipelines are printed", "keep it in PGPASSWORD")

    def gives(self) -> Range:
        try:
            pipeline = load(self.pipeline)
        except RecursionError:
            raise ConfigError(f"store.pipeline {self.pipeline!r} asks itself", "name another pipeline") from None
        plans: list[LegPlan | StepPlan] = [*pipeline.legs, *pipeline.steps]
        timed = ["budget_ms"] if pipeline.budget_ms is not None else []
        timed += [f"cap_ms of {plan.name}" for plan in plans if plan.cap_ms is not None]
        if timed:  # two clocks would decide, and one of them in the lab, too
            raise ConfigError(f"store.pipeline {self.pipeline!r} has a {timed[0]}", "give this leg itself a cap_ms")
        return check_scales(pipeline)[-1][2]

    def effects(self) -> tuple[Effect, ...]:
        """The host of a store that is not on this machine, and what its own pipeline would do."""
        return (*address_effects(self.path), *(effect for _, effect in find_effects(load(self.pipeline))))

    def reads(self) -> tuple[str, ...]:
        """The store, if it is on this machine, and what its own pipeline reads."""
        own = () if address_effects(self.path) else (self.path,)
        return (*own, *(path for _, path in find_reads(load(self.pipeline))))

    def prepare(self) -> None:
        """Open the store and load its model."""
        with contextlib.suppress(ModelError):  # the search reports it, and goes on with words
            _ = self._base().embedder

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> SourceResult:
        answer = self._base().search(
            query.text, k, pipeline=self.pipeline, where=query.where, at=query.at, scope=query.scope
        )
        notes = [problem.as_note() for problem in answer.status.problems]
        view, ranking = answer.snapshot, answer.chosen.noted(*notes)
        return source_result(ranking, view.chunks(view.rows(ranking.ids)))

    def _base(self) -> KnowledgeBase:
        require(*address_effects(self.path))
        return open_once(("store", self.path), lambda: open_kb(self.path, create=False))
