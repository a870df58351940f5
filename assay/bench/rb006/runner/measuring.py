"""Fills the record files of one scale: the systems of a stage, batch by batch, so that they share what they search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.bench.rb006.measure.detector import DETECTOR, detect_query
from assay.bench.rb006.measure.suite_bench import Record
from assay.bench.rb006.runner.record_files import RecordFile
from assay.bench.rb006.runner.worlds import BenchPool
from assay.bench.rb006.subject import SuiteQuery
from assay.bench.rb006.systems import BenchmarkSystem
from assay.bench.runner import collect_versions
from assay.types import Progress

BATCH = 10
"""Queries whose records are written together: an interruption loses at most so many."""


@dataclass(frozen=True)
class ScaleRecords:
    """The record files of one scale."""

    folder: Path
    benches: BenchPool

    def of(self, system: BenchmarkSystem) -> RecordFile:
        bench = self.benches.of(system)
        inputs = self._inputs(system.digest, bench.workspace.snapshot.digest)
        return RecordFile(self.folder / f"{system.name}.jsonl", inputs)

    def of_detector(self, baseline: BenchmarkSystem) -> RecordFile:
        inputs = self._inputs(f"detector {baseline.digest}", self.benches.plain.workspace.snapshot.digest)
        return RecordFile(self.folder / f"{DETECTOR}.jsonl", inputs)

    def _inputs(self, system: str, index: str) -> dict[str, Any]:
        versions = collect_versions()
        return {
            "system": system,
            "index": index,
            "dataset": self.benches.plain.subject.dataset.digest,
            "assay": versions["assay"],
        }


def measure_systems(
    records: ScaleRecords, systems: Sequence[BenchmarkSystem], queries: Sequence[SuiteQuery], progress: Progress
) -> None:
    """Ask each system those of the queries that its file lacks."""
    files = {system.name: records.of(system) for system in systems}
    done = {name: file.read().keys() for name, file in files.items()}
    total = sum(query.id not in done[system.name] for system in systems for query in queries)
    task, finished = f"{records.folder.name} chunks: {', '.join(files)}"[:60], 0
    for batch in _batches(queries):
        for system in systems:
            missing = [query for query in batch if query.id not in done[system.name]]
            bench = records.benches.of(system)
            fresh = []
            for query in missing:
                fresh.append(_timed(partial(bench.measure, system, query)))
                finished += 1
                progress(task, finished, total)
            if fresh:
                files[system.name].append(fresh)


def measure_detector(
    records: ScaleRecords, baseline: BenchmarkSystem, queries: Sequence[SuiteQuery], progress: Progress
) -> None:
    """Judge those of the queries that the file lacks, not yet present ones included."""
    file = records.of_detector(baseline)
    known = file.read()
    missing = [query for query in queries if query.id not in known]
    task, finished = f"{records.folder.name} chunks: impossible queries", 0
    for batch in _batches(missing):
        file.append([_timed(partial(detect_query, records.benches.plain, baseline, query)) for query in batch])
        finished += len(batch)
        progress(task, finished, len(missing))


def _timed(measure: Callable[[], Record]) -> Record:
    start = time.perf_counter()
    record = measure()
    return {**record, "ms": round((time.perf_counter() - start) * 1000.0, 1)}


def _batches(queries: Sequence[SuiteQuery]) -> Iterator[Sequence[SuiteQuery]]:
    for start in range(0, len(queries), BATCH):
        yield queries[start : start + BATCH]
