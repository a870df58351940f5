"""A whole run: findings first, then every system, then the clock; receipts are on disk as soon as they are whole."""

from __future__ import annotations

import os
import platform
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.bench import suspicion
from assay.bench.receipt import Receipt, ReceiptError, read, write
from assay.bench.runner import Bench, RunPlan, legs
from assay.bench.systems import System
from assay.bench.timing import latency
from assay.bench.types import Dataset
from assay.bench.workspace import Workspace
from assay.config.preflight import Finding
from assay.types import Progress


@dataclass(frozen=True)
class Outcome:
    """What a run found: receipts by system, those that were there already, and what is doubtful about each."""

    receipts: Mapping[str, Receipt]
    reused: tuple[str, ...]
    doubts: Mapping[str, Sequence[Finding]]

    @property
    def broken(self) -> list[tuple[str, Finding]]:
        """Results that cannot be: worse than chance, or better than the judgements."""
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
    progress: Progress = lambda *_: None,
) -> Outcome:
    """Measure systems on a dataset. With `out`, receipts are written there, and a receipt that is there already for
    the same inputs is taken as it is (unless `again`): a killed run goes on where it was."""
    bench = Bench(dataset, workspace, plan)
    start = time.perf_counter()
    findings = suspicion.of_dataset(dataset, workspace)
    receipts: dict[str, Receipt] = {}
    by_leg: dict[str, Any] = {}
    reused = []
    for system in systems:
        path = out / file_name(dataset, system.name) if out else None
        kept = None if again or path is None else known(path, bench, system)
        if kept is not None and kept.measured:  # without it the run was killed before its clock
            reused.append(system.name)
            receipts[system.name] = kept
            continue
        results = bench.run(system, progress)
        by_leg[system.name] = legs(results)
        receipts[system.name] = bench.receipt(system, results, findings)
        if path:
            write(receipts[system.name], path)
    fresh = [system for system in systems if system.name not in reused]
    times = _times(fresh, bench, progress) if timed and fresh and dataset.scored else {}
    measured: dict[str, Any] = {**_about(start), "turns_with": sorted(times)}
    if with_text:
        measured["texts"] = {topic: dataset.topics[topic].text for topic in dataset.scored}
    for system in fresh:
        own = {"latency_ms": times[system.name]} if system.name in times else {}
        if len(by_leg[system.name]) > 1:
            own["legs"] = by_leg[system.name]
        receipts[system.name] = replace(receipts[system.name], measured={**measured, **own})
        if out:
            write(receipts[system.name], out / file_name(dataset, system.name))
    metric = bench.plan.metrics[0]
    return Outcome(receipts, tuple(reused), suspicion.of_results(receipts, metric))


def _times(systems: Sequence[System], bench: Bench, progress: Progress) -> dict[str, dict[str, Any]]:
    queries = [bench.query(topic) for topic in bench.dataset.scored]
    return latency(systems, queries, bench.workspace.snapshot, progress)


def file_name(dataset: Dataset, system: str) -> str:
    return f"{_plain(dataset.name)}.{_plain(dataset.split)}.{_plain(system)}.json"


def _plain(name: str) -> str:
    """A name as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-") or "unnamed"


def known(path: Path, bench: Bench, system: System) -> Receipt | None:
    """The receipt that is already there, when a new run could only say the same."""
    try:
        found = read(path)
    except ReceiptError:
        return None
    return found if bench.fits(found, system) else None


def _about(start: float) -> dict[str, Any]:
    """The half of a receipt that no digest covers: the machine and the clock."""
    return {
        "run": uuid.uuid4().hex[:12],
        "clock": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - start, 1),
        "host": {
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        },
    }
