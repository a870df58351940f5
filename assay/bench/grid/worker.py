"""A helper of a sweep: opens the dataset once, then measures cell after cell.

python -m assay.bench.grid.worker     speaks `assay.util.parallel`'s protocol on its standard input and output
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from assay.bench.datasets import load
from assay.bench.grid.cells import CellJob, checked, measure
from assay.bench.runner import Bench
from assay.bench.systems import from_spec
from assay.bench.workspace import prepare
from assay.util.parallel import serve


def opened(job: CellJob) -> Callable[[Any], Iterable[str]]:
    """What answers a task: (name, spec) in, the name out when its receipt is written."""
    dataset = checked(load(job.where.source, job.split), job.digest)
    bench = Bench(dataset, prepare(dataset, job.where.settings, cache=job.where.cache), job.plan)

    def answer(task: tuple[str, dict[str, Any]]) -> Iterable[str]:
        measure(bench, job, from_spec(*task))
        yield task[0]

    return answer


if __name__ == "__main__":
    serve(opened)
