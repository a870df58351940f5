"""Latency on a noisy machine: systems take turns query by query, so that noise falls on all of them alike.

Queries come with their vectors, so the embedding of the query is outside; texts are not read. Every search is made
anew, nothing is remembered from another.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.bench.systems import System
from assay.protocols import Snapshot
from assay.types import Progress, Query

MOST = 100
"""Topics that are timed, spread over all."""


def latency(
    systems: Sequence[System], queries: Sequence[Query], snapshot: Snapshot, progress: Progress = lambda *_: None
) -> dict[str, dict[str, Any]]:
    """system → step → {p50, p95, p99} in milliseconds, "total" first.

    Who goes first changes from query to query. A first round, not counted, fills the caches of all alike.
    """
    timed = [system for system in systems if system.pipeline is not None]
    chosen = [queries[place] for place in np.unique(np.linspace(0, len(queries) - 1, MOST).astype(int))]
    spent: dict[str, dict[str, list[float]]] = {system.name: {} for system in timed}
    for turn in range(2):
        for place, query in enumerate(chosen):
            shift = place % len(timed) if timed else 0
            for system in timed[shift:] + timed[:shift]:
                steps = _once(system, query, snapshot)
                if turn:
                    for name, ms in steps.items():
                        spent[system.name].setdefault(name, []).append(ms)
            progress("timing", turn * len(chosen) + place + 1, 2 * len(chosen))
    return {name: {step: _percentiles(times) for step, times in steps.items()} for name, steps in spent.items()}


def _once(system: System, query: Query, snapshot: Snapshot) -> dict[str, float]:
    assert system.pipeline is not None
    start = time.perf_counter()
    try:
        answer = system.pipeline.run(query, snapshot, clock=time.perf_counter)
    except Exception:  # a query that fails is told of in the canonical half; it has no time
        return {}
    total = (time.perf_counter() - start) * 1000.0
    return {"total": total, **{span.name: span.ms for span in answer.trace}}


def _percentiles(times: list[float]) -> dict[str, float]:
    p50, p95, p99 = np.percentile(np.array(times), [50, 95, 99])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3), "p99": round(float(p99), 3)}
