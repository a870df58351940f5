"""Cells measured, here or in helper processes. A cell is on disk as soon as it is whole, and is never run again.

Each process opens the dataset once and remembers its look-ups, so cells that search alike and fuse differently
cost one search. Cells are not timed: what runs beside others cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.bench import suspicion
from assay.bench.grid.sweep import SweepCell
from assay.bench.lab import file_name, known
from assay.bench.receipt import Receipt, write
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import System
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings
from assay.config.preflight import Finding
from assay.errors import AssayError
from assay.types import Progress
from assay.util.parallel import Crashed, Crew, NoHelpers

WORKER = "assay.bench.grid.worker"


@dataclass(frozen=True)
class CellPlace:
    """Which dataset, indexed how: what a helper process needs to open the same."""

    source: str
    settings: IndexSettings = field(default_factory=IndexSettings)
    cache: Path | None = None


@dataclass(frozen=True)
class CellJob:
    """What every cell of a sweep shares."""

    where: CellPlace
    split: str
    digest: str
    plan: RunPlan
    findings: tuple[Finding, ...]
    folder: Path


@dataclass(frozen=True)
class CellResult:
    """Receipts by system; cells that could not be measured, and why; how many were there already."""

    receipts: Mapping[str, Receipt]
    failed: Mapping[str, str]
    kept: int


def job_of(bench: Bench, where: CellPlace, split: str, folder: Path) -> CellJob:
    """The job of measuring on this bench."""
    findings = tuple(suspicion.of_dataset(bench.dataset, bench.workspace))
    return CellJob(where, split, bench.dataset.digest, bench.plan, findings, folder)


def run_cells(
    bench: Bench,
    cells: Sequence[SweepCell],
    job: CellJob,
    workers: int,
    progress: Progress = lambda *_: None,
) -> CellResult:
    """Every cell on the bench's dataset; `job` is how helper processes open the same. `workers` changes no result."""
    systems = [cell.system for cell in cells]
    kept = {one.name: there for one in systems if (there := _there(bench, job, one)) is not None}
    missing = [one for one in systems if one.name not in kept]
    failed: dict[str, str] = {}
    progress("cells", len(kept), len(systems))

    def tell(done: int) -> None:
        progress("cells", len(kept) + done, len(systems))

    if min(workers, len(missing)) > 1:
        try:
            failed = _in_helpers(job, missing, workers, tell)
        except NoHelpers:
            _here(bench, job, missing, tell)
    else:
        _here(bench, job, missing, tell)
    found = {one.name: kept.get(one.name) or _there(bench, job, one) for one in systems}
    lost = {name: failed.get(name, "its receipt is gone") for name, receipt in found.items() if receipt is None}
    return CellResult({name: receipt for name, receipt in found.items() if receipt is not None}, lost, len(kept))


def measure(bench: Bench, job: CellJob, system: System) -> None:
    """One cell, written when it is whole."""
    receipt = bench.receipt(system, bench.run(system), job.findings)
    write(receipt, job.folder / file_name(bench.dataset, system.name))


def _there(bench: Bench, job: CellJob, system: System) -> Receipt | None:
    return known(job.folder / file_name(bench.dataset, system.name), bench, system)


def checked(dataset: Dataset, digest: str) -> Dataset:
    """The dataset, when it still is the one the sweep was begun with."""
    if dataset.digest != digest:
        raise AssayError(f"{dataset.name} changed while it was swept", "leave it alone, then run the sweep again")
    return dataset


def _here(bench: Bench, job: CellJob, systems: Sequence[System], tell: Callable[[int], None]) -> None:
    for done, system in enumerate(systems, 1):
        measure(bench, job, system)
        tell(done)


def _in_helpers(job: CellJob, systems: Sequence[System], workers: int, tell: Callable[[int], None]) -> dict[str, str]:
    """Cells in helper processes; one that takes its process down is reported, the others go on."""
    failed = {}
    tasks = [(system.name, dict(system.spec)) for system in systems]
    with Crew(WORKER, job, tasks, workers) as crew:
        for done, (system, parts) in enumerate(zip(systems, crew, strict=True), 1):
            try:
                for _ in parts:
                    pass
            except Crashed as error:
                failed[system.name] = error.message
            tell(done)
    return failed
