"""The worker process of a sweep: opens the dataset once, then measures cell after cell.

python -m assay.bench.grid.worker     speaks `assay.util.worker_pool`'s protocol on its standard input and output
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from assay.bench.datasets import load
from assay.bench.grid.cells import SweepJob, check_unchanged, measure_cell
from assay.bench.runner import Bench
from assay.bench.systems import from_spec
from assay.bench.workspace import prepare
from assay.util.worker_pool import serve_tasks


def open_worker(job: SweepJob) -> Callable[[Any], Iterable[str]]:
    """Open the dataset and return the task function: (name, spec) → the name once its receipt is written."""
    dataset = check_unchanged(load(job.where.source, job.split), job.digest)
    bench = Bench(dataset, prepare(dataset, job.where.settings, cache=job.where.cache), job.plan)

    def answer(task: tuple[str, dict[str, Any]]) -> Iterable[str]:
        measure_cell(bench, job, from_spec(*task))
        yield task[0]

    return answer


if __name__ == "__main__":
    serve_tasks(open_worker)
