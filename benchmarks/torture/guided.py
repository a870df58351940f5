"""Coverage-guided search in every parser: input that reaches new code is kept and changed further.

The campaign `fuzz` draws its input blindly and asks whole servers and reader processes; this one sees the code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.torture._guided_run import search_with_hypothesis
from benchmarks.torture.task import Task

ABOUT = "coverage-guided search in files, filters, configs, NPZ, receipts, recordings, MCP and HTTP: no exception"
TARGETS = ("files", "filters", "configs", "npz", "receipts", "recordings", "mcp", "http")
RUNS, SHORT = 2_500, 25
"""Inputs for each target."""


def campaign(task: Task) -> dict[str, Any]:
    """Trial n searches in one target."""
    runs = task.count(RUNS, SHORT)
    results = task.each(len(TARGETS), lambda number: _search(TARGETS[number], runs, number, task.stores))
    counts: dict[str, int] = {}
    for result in results:
        for outcome, count in result["counts"].items():
            counts[outcome] = counts.get(outcome, 0) + count
    return {
        "trials": sum(counts.values()),
        "outcomes": counts,
        "failures": [f"{result['target']}: {sentence}" for result in results for sentence in result["found"]],
        "engine": "hypothesis, target() on the lines reached",
        "inputs_per_target": runs,
        "reached": {result["target"]: result["reached"] for result in results},
        "planned": runs * len(TARGETS),
    }


def _search(target: str, runs: int, seed: int, stores: Path) -> dict[str, Any]:
    return {"target": target, **search_with_hypothesis(target, stores / target, runs, seed)}
