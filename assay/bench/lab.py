"""Runs systems on a dataset: sanity checks, every system, then latency; a receipt is written once it is complete."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.bench import sanity_checks
from assay.bench.host import describe_host
from assay.bench.losses import KEPT
from assay.bench.receipt import Receipt, ReceiptError, read, write
from assay.bench.runner import Bench, RunPlan, count_contributions
from assay.bench.systems import System
from assay.bench.timing import measure_latency
from assay.bench.types import Dataset
from assay.bench.workspace import Workspace
from assay.config.findings import Finding
from assay.types import Progress


@dataclass(frozen=True)
class LabResult:
    """The outcome of a run: receipts by system, the names of those that were reused, and findings about each result."""

    receipts: Mapping[str, Receipt]
    reused: tuple[str, ...]
    doubts: Mapping[str, Sequence[Finding]]

    @property
    def broken(self) -> list[tuple[str, Finding]]:
        """Impossible results: worse than random, or better than the oracle."""
        return [(name, f) for name, found in self.doubts.items() for f in found if f.level == "error"]


def run(
    dataset: Dataset,
    systems: Sequence[System],
    workspace: Workspace,
    plan: RunPlan | None = None,
    *,
    out: Path | None = None,
    again: bool = False,
    timed: bool = True,
    with_text: bool = False,
    with_rankings: bool = False,
    progress: Progress = lambda *_: None,
) -> LabResult:
    """Measure systems on a dataset. With `out`, receipts are written there, and a receipt that is there already for
    the same inputs is reused (unless `again`), so an interrupted run continues. `with_rankings` keeps the first
    documents of every ranking in the measured half."""
    bench = Bench(dataset, workspace, plan)
    start = time.perf_counter()
    findings = sanity_checks.check_dataset(dataset, workspace)
    receipts: dict[str, Receipt] = {}
    by_leg: dict[str, Any] = {}
    kept: dict[str, dict[str, list[str]]] = {}
    reused = []
    for system in systems:
        path = out / file_name(dataset, system.name) if out else None
        existing = None if again or path is None else read_fitting(path, bench, system)
        lacks_rankings = with_rankings and existing is not None and "rankings" not in existing.measured
        # Without "clock" the run was killed before it was timed.
        if existing is not None and "clock" in existing.measured and not lacks_rankings:
            reused.append(system.name)
            receipts[system.name] = existing
            continue
        results = bench.run(system, progress)
        by_leg[system.name] = count_contributions(results)
        if with_rankings:
            kept[system.name] = {result.topic: list(result.documents[:KEPT]) for result in results}
        receipts[system.name] = bench.receipt(system, results, findings)
        if path:
            write(receipts[system.name], path)
    fresh = [system for system in systems if system.name not in reused]
    times = _measure_latency(fresh, bench, progress) if timed and fresh and dataset.scored else {}
    measured: dict[str, Any] = {**_describe_run(start), "turns_with": sorted(times)}
    if with_text:
        measured["texts"] = {topic: dataset.topics[topic].text for topic in dataset.scored}
    for system in fresh:
        own = {"latency_ms": times[system.name]} if system.name in times else {}
        if len(by_leg[system.name]) > 1:
            own["legs"] = by_leg[system.name]
        if with_rankings:
            own["rankings"] = kept[system.name]
        receipts[system.name] = replace(
            receipts[system.name], measured={**receipts[system.name].measured, **measured, **own}
        )
        if out:
            write(receipts[system.name], out / file_name(dataset, system.name))
    metric = bench.plan.metrics[0]
    return LabResult(receipts, tuple(reused), sanity_checks.check_results(receipts, metric))


def _measure_latency(systems: Sequence[System], bench: Bench, progress: Progress) -> dict[str, dict[str, Any]]:
    with_vector = any(system.pipeline is not None and system.pipeline.needs("vector") for system in systems)
    queries = [bench.query(topic, with_vector) for topic in bench.dataset.scored]
    return measure_latency(systems, [(query, bench.uncached_snapshot(query)) for query in queries], progress)


def file_name(dataset: Dataset, system: str) -> str:
    return f"{_file_part(dataset.name)}.{_file_part(dataset.split)}.{_file_part(system)}.json"


def _file_part(name: str) -> str:
    """A name as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-") or "unnamed"


def read_fitting(path: Path, bench: Bench, system: System) -> Receipt | None:
    """The receipt at `path`, when a new run would give the same one."""
    try:
        receipt = read(path)
    except ReceiptError:
        return None
    return receipt if bench.fits(receipt, system) else None


def _describe_run(start: float) -> dict[str, Any]:
    """The measured half: the machine and the clock."""
    return {
        "run": uuid.uuid4().hex[:12],
        "clock": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - start, 1),
        "host": describe_host(),
    }
