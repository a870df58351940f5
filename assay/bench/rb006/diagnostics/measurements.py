"""The records of a run, and columns of values over its queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.bench.rb006.measure.suite_bench import Record
from assay.bench.rb006.measures.curves import BUDGETS, GRID, area_under_budget
from assay.bench.rb006.measures.detection import DetectionDecision
from assay.bench.rb006.subject import Subject, SuiteQuery
from assay.bench.types import Scores

RACE, FLAT, BEAM, COLLAPSED, NO_LINKS = "race", "flat-strong", "beam-only", "collapsed-only", "xlink-off"
STRATA = ("thematic", "entity", "dpi", "hop2", "hop3", "comparative", "listing", "temporal", "ambiguous", "ood")


@dataclass(frozen=True, eq=False)
class ScaleMeasurements:
    """What was measured at one scale: system → query → record, and what the detector said of every query."""

    scale: int
    subject: Subject
    records: Mapping[str, Mapping[str, Record]]
    detected: Mapping[str, Record] = field(default_factory=dict)
    tree: Mapping[str, Any] = field(default_factory=dict)
    """Intrinsic measures of the tree."""

    @property
    def feasible(self) -> tuple[SuiteQuery, ...]:
        return self.subject.feasible

    def has(self, system: str, queries: Sequence[SuiteQuery]) -> bool:
        """Whether a system was asked all of these queries."""
        known = self.records.get(system, {})
        return bool(queries) and all(query.id in known for query in queries)

    def column(
        self, system: str, measure: str, budget: int | str, queries: Sequence[SuiteQuery] | None = None
    ) -> Scores | None:
        """One value per query (NaN: none), by default of the feasible ones; None where the system was not asked all."""
        chosen = self.feasible if queries is None else queries
        if not self.has(system, chosen):
            return None
        values = [self.records[system][query.id][measure][str(budget)] for query in chosen]
        return np.array([np.nan if value is None else value for value in values], np.float64)

    def mean(
        self, system: str, measure: str, budget: int | str, queries: Sequence[SuiteQuery] | None = None
    ) -> float | None:
        column = self.column(system, measure, budget, queries)
        return None if column is None or np.isnan(column).all() else float(np.nanmean(column))

    def curve(self, system: str) -> dict[int, float] | None:
        """A@T over the feasible queries, on the parity grid where it was measured."""
        if not self.has(system, self.feasible):
            return None
        rows = [self.records[system][query.id] for query in self.feasible]
        if all("grid" in row for row in rows):
            grid = np.array([row["grid"] for row in rows], np.float64).mean(axis=0)
            return {budget: float(value) for budget, value in zip(GRID, grid, strict=True)}
        return {budget: float(np.mean([row["A"][str(budget)] for row in rows])) for budget in BUDGETS}

    def areas(self, system: str) -> Scores | None:
        """AUCbudget of every feasible query."""
        if not self.has(system, self.feasible):
            return None
        rows = [self.records[system][query.id]["A"] for query in self.feasible]
        return np.array([area_under_budget({budget: row[str(budget)] for budget in BUDGETS}) for row in rows])

    @property
    def judged(self) -> tuple[SuiteQuery, ...]:
        """The queries that are in scope here, impossible ones included."""
        return tuple(query for query in self.subject.queries if query.in_scope)

    def decisions(self, queries: Sequence[SuiteQuery] | None = None) -> list[DetectionDecision]:
        """What is true and what the detector said, of the queries in scope."""
        chosen = self.judged if queries is None else queries
        if any(query.id not in self.detected for query in chosen):
            return []
        return [DetectionDecision(query.kind, self.detected[query.id]["said"]) for query in chosen]

    def right(self, system: str, budget: int = 400, queries: Sequence[SuiteQuery] | None = None) -> Scores | None:
        """1 where a system is right, over all queries in scope: a feasible query is answered and not refused, an
        impossible one is refused. The detector is the same for every system."""
        chosen = self.judged if queries is None else queries
        asked = [query for query in chosen if query.is_feasible]
        if not self.has(system, asked) or any(query.id not in self.detected for query in chosen):
            return None
        values = []
        for query in chosen:
            refused = bool(self.detected[query.id]["said"])
            answered = query.is_feasible and self.records[system][query.id]["A"][str(budget)] == 1.0
            values.append(refused if not query.is_feasible else answered and not refused)
        return np.array(values, np.float64)

    def routing(self, system: str, queries: Sequence[SuiteQuery] | None = None) -> list[dict[str, Any]]:
        """The routing events of a system's walks; none where it does not walk or was not asked."""
        chosen = self.feasible if queries is None else queries
        if not self.has(system, chosen):
            return []
        found = [self.records[system][query.id].get("routing") for query in chosen]
        return [events for events in found if events is not None]


@dataclass(frozen=True, eq=False)
class Measurements:
    """What was measured at every scale; `gated` is the scale that is judged."""

    scales: Mapping[int, ScaleMeasurements]
    gated: int
    slice: tuple[str, ...]
    """The queries of the dev slice, at the smallest scale."""

    @property
    def at_gate(self) -> ScaleMeasurements:
        return self.scales[self.gated]

    @property
    def first(self) -> ScaleMeasurements:
        return self.scales[min(self.scales)]


def choose_slice(subject: Subject, size: int) -> tuple[str, ...]:
    """So many feasible queries, evenly from the suite."""
    feasible = subject.feasible
    size = min(size, len(feasible))
    return tuple(feasible[place * len(feasible) // size].id for place in range(size))


def strata_of(queries: Sequence[SuiteQuery]) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    """stratum → places of its queries; strata without a query are left out."""
    found = {tag: [place for place, query in enumerate(queries) if tag in query.tags] for tag in STRATA}
    return {tag: np.array(places, np.int64) for tag, places in found.items() if places}
