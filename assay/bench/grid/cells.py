"""Measures the cells of a sweep, in this process or in worker processes. Finished cells are on disk and not run again.

Each process opens the dataset once and caches its searches, so cells with the same legs and other fusion settings cost
one search. Cells are not timed, since they run concurrently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.bench import sanity_checks
from assay.bench.grid.sweep import SweepCell
from assay.bench.lab import file_name, read_fitting
from assay.bench.receipt import Receipt, write
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import System
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings
from assay.config.findings import Finding
from assay.errors import AssayError
from assay.types import Progress
from assay.util.worker_pool import WorkerCrashed, WorkerPool, WorkersUnavailable

WORKER = "assay.bench.grid.worker"


@dataclass(frozen=True)
class SweepDataset:
    """A dataset and its index settings: what a worker process needs to open the same data."""

    source: str
    settings: IndexSettings = field(default_factory=IndexSettings)
    cache: Path | None = None


@dataclass(frozen=True)
class SweepJob:
    """The parameters shared by every cell of a sweep."""

    where: SweepDataset
    split: str
    digest: str
    plan: RunPlan
    findings: tuple[Finding, ...]
    folder: Path


@dataclass(frozen=True)
class CellResults:
    """Receipts by system; reasons of cells that could not be measured; `reused` counts receipts that existed before."""

    receipts: Mapping[str, Receipt]
    failed: Mapping[str, str]
    reused: int


def build_job(bench: Bench, where: SweepDataset, split: str, folder: Path) -> SweepJob:
    """The job that measures on this bench."""
    findings = tuple(sanity_checks.check_dataset(bench.dataset, bench.workspace))
    return SweepJob(where, split, bench.dataset.digest, bench.plan, findings, folder)


def run_cells(
    bench: Bench,
    cells: Sequence[SweepCell],
    job: SweepJob,
    workers: int,
    progress: Progress = lambda *_: None,
) -> CellResults:
    """Measure every cell on the bench's dataset; workers open it from `job`. Their number changes no result."""
    systems = [cell.system for cell in cells]
    existing = {one.name: cached for one in systems if (cached := _read_existing(bench, job, one)) is not None}
    missing = [one for one in systems if one.name not in existing]
    failed: dict[str, str] = {}
    progress("cells", len(existing), len(systems))

    def report_done(done: int) -> None:
        progress("cells", len(existing) + done, len(systems))

    if min(workers, len(missing)) > 1:
        try:
            failed = _run_in_workers(job, missing, workers, report_done)
        except WorkersUnavailable:
            _run_inline(bench, job, missing, report_done)
    else:
        _run_inline(bench, job, missing, report_done)
    found = {one.name: existing.get(one.name) or _read_existing(bench, job, one) for one in systems}
    lost = {name: failed.get(name, "its receipt is gone") for name, receipt in found.items() if receipt is None}
    return CellResults({name: receipt for name, receipt in found.items() if receipt is not None}, lost, len(existing))


def measure_cell(bench: Bench, job: SweepJob, system: System) -> None:
    """Measure one cell and write its receipt."""
    receipt = bench.receipt(system, bench.run(system), job.findings)
    write(receipt, job.folder / file_name(bench.dataset, system.name))


def _read_existing(bench: Bench, job: SweepJob, system: System) -> Receipt | None:
    return read_fitting(job.folder / file_name(bench.dataset, system.name), bench, system)


def check_unchanged(dataset: Dataset, digest: str) -> Dataset:
    """Return the dataset if it is still the one the sweep began with."""
    if dataset.digest != digest:
        raise AssayError(f"{dataset.name} changed while it was swept", "leave it alone, then run the sweep again")
    return dataset


def _run_inline(bench: Bench, job: SweepJob, systems: Sequence[System], report_done: Callable[[int], None]) -> None:
    for done, system in enumerate(systems, 1):
        measure_cell(bench, job, system)
        report_done(done)


def _run_in_workers(
    job: SweepJob, systems: Sequence[System], workers: int, report_done: Callable[[int], None]
) -> dict[str, str]:
    """Run cells in worker processes; a cell that crashes its process is reported, the others continue."""
    failed = {}
    tasks = [(system.name, dict(system.spec)) for system in systems]
    with WorkerPool(WORKER, job, tasks, workers) as crew:
        for done, (system, parts) in enumerate(zip(systems, crew, strict=True), 1):
            try:
                for _ in parts:
                    pass
            except WorkerCrashed as error:
                failed[system.name] = error.message
            report_done(done)
    return failed
