"""Measures latency: systems take turns query by query, so that noise of the machine affects all of them alike.

Queries have their vectors already, so embedding is not measured; texts are not read; no look-up is cached.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.bench.systems import System
from assay.protocols import Snapshot
from assay.types import Progress, Query

MOST_TIMED = 100
"""Most topics that are timed, spread over all."""


def measure_latency(
    systems: Sequence[System], queries: Sequence[tuple[Query, Snapshot]], progress: Progress = lambda *_: None
) -> dict[str, dict[str, Any]]:
    """system → step → {p50, p95, p99} in milliseconds, "total" first. Each query comes with what answers it.

    The order of the systems changes from query to query. A first round, not counted, warms all caches.
    """
    timed = [system for system in systems if system.pipeline is not None]
    chosen = [queries[place] for place in np.unique(np.linspace(0, len(queries) - 1, MOST_TIMED).astype(int))]
    times: dict[str, dict[str, list[float]]] = {system.name: {} for system in timed}
    for turn in range(2):
        for place, (query, snapshot) in enumerate(chosen):
            shift = place % len(timed) if timed else 0
            for system in timed[shift:] + timed[:shift]:
                steps = _time_query(system, query, snapshot)
                if turn:
                    for name, ms in steps.items():
                        times[system.name].setdefault(name, []).append(ms)
            progress("timing", turn * len(chosen) + place + 1, 2 * len(chosen))
    return {name: {step: _percentiles(values) for step, values in steps.items()} for name, steps in times.items()}


def _time_query(system: System, query: Query, snapshot: Snapshot) -> dict[str, float]:
    assert system.pipeline is not None
    start = time.perf_counter()
    try:
        answer = system.pipeline.run(query, snapshot, clock=time.perf_counter)
    except Exception:  # a failed query has no time; the canonical half counts it
        return {}
    total = (time.perf_counter() - start) * 1000.0
    return {"total": total, **{span.name: span.ms for span in answer.trace}}


def _percentiles(times: list[float]) -> dict[str, float]:
    p50, p95, p99 = np.percentile(np.array(times), [50, 95, 99])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3), "p99": round(float(p99), 3)}
