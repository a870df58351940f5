"""Picks the best cell on dev and compares it with the base on test, once, by the promotion gates.

Only one cell is run on test, so its result there is not the best of many. Ties on dev go to the cell with fewer
changes, then to the smaller digest.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench import lab
from assay.bench.datasets import load_splits
from assay.bench.gates.rules import RuleSet
from assay.bench.gates.verdicts import GateVerdict, judge_receipt
from assay.bench.grid.axes import format_settings
from assay.bench.grid.cells import CellResults, SweepDataset, build_job, run_cells
from assay.bench.grid.sweep import Sweep, SweepCell
from assay.bench.messages import why
from assay.bench.metrics import parse
from assay.bench.receipt import Receipt
from assay.bench.runner import Bench, RunPlan, collect_versions, describe_dataset, get_mean
from assay.bench.systems import System
from assay.bench.types import Dataset
from assay.bench.workspace import prepare
from assay.errors import ConfigError
from assay.types import Progress

TIES = "fewer changes, then the smaller digest"


@dataclass(frozen=True)
class SweepResult:
    """The sweep as a receipt of kind "grid", the picked cell (None: the base), and its gates on test."""

    receipt: Receipt
    picked: SweepCell | None
    gate: Receipt | None
    verdict: GateVerdict


def promote(
    swept: Sweep,
    where: SweepDataset,
    rules: RuleSet,
    out: Path,
    *,
    pick: str = "nDCG@10",
    splits: tuple[str, str] = ("dev", "test"),
    workers: int = 1,
    progress: Progress = lambda *_: None,
) -> SweepResult:
    """Run every cell on dev, pick by the metric `pick`, confirm on test. Receipts of runs are written to `out`."""
    start = time.perf_counter()
    dev, test = load_splits(where.source, splits)
    _check_disjoint(dev, test)
    metric = str(parse(pick))
    plan = RunPlan(_metrics(metric, RunPlan().fit(dev), rules))
    with prepare(dev, where.settings, progress, where.cache) as workspace:
        bench = Bench(dev, workspace, plan)
        measured = run_cells(bench, swept.cells, build_job(bench, where, splits[0], out / "cells"), workers, progress)
        index = workspace.describe()
    rows = [_row(cell, measured, metric) for cell in swept.cells]
    best = _best(swept.cells, rows)
    picked = best if best is not swept.cells[0] else None
    runs: Sequence[Receipt] = ()
    gate: Receipt | None = None
    if picked is not None and rows[0]["status"] == "measured":
        runs = _confirm(test, [swept.base, picked.system], where, plan, out / "test", progress)
        gate = judge_receipt(runs[1], rules, runs[0])
    canonical = {
        "dataset": {
            "name": dev.name,
            "source": dev.source,
            "dev": describe_dataset(dev),
            "test": describe_dataset(test),
        },
        "base": _system(swept.base),
        "axes": [{"key": one.key, "values": list(one.values)} for one in swept.axes],
        "pick": {"metric": metric, "ties": TIES},
        "index": index,
        "notes": _notes(swept, measured),
        "cells": rows,
        "picked": None if picked is None else {**_system(picked.system), "settings": dict(picked.settings)},
        "confirmation": None if gate is None else {"runs": [run.digest for run in runs], "gate": gate.canonical},
        "verdict": _verdict(rows, picked, gate, "canonical"),
    }
    verdict = _verdict(rows, picked, gate, "measured")
    cost = {"seconds": round(time.perf_counter() - start, 1), "workers": workers, "cells_kept": measured.reused}
    conclusion = {
        "versions": dict(collect_versions()),
        "verdict": verdict,
        "why": _why(rows, picked, gate),
        "gate": None if gate is None else gate.measured,
    }
    return SweepResult(Receipt("grid", canonical, {**conclusion, **cost}), picked, gate, verdict)


def _check_disjoint(dev: Dataset, test: Dataset) -> None:
    shared = sorted(set(dev.scored) & set(test.scored))
    if shared:
        raise ConfigError(
            f"{dev.split} and {test.split} of {dev.name} share {len(shared)} queries, first {shared[0]!r}",
            "pick on queries that do not confirm: --dev dev --test test",
        )


def _metrics(pick: str, usual: RunPlan, rules: RuleSet) -> tuple[str, ...]:
    """The deciding metric, the metrics of the gates, and the default metrics."""
    gate_metrics = [rule.metric for rule in rules.rules if rule.timed is None]
    return tuple(dict.fromkeys([pick, *gate_metrics, *usual.metrics]))


def _confirm(
    test: Dataset, systems: Sequence[System], where: SweepDataset, plan: RunPlan, out: Path, progress: Progress
) -> list[Receipt]:
    """Run base and winner on test in one interleaved run; latencies of different runs are not comparable."""
    with prepare(test, where.settings, progress, where.cache) as workspace:
        found = lab.run(test, systems, workspace, plan, out=out, progress=progress).receipts
        if len({receipt.measured.get("run") for receipt in found.values()}) > 1:
            found = lab.run(test, systems, workspace, plan, out=out, again=True, progress=progress).receipts
    return [found[system.name] for system in systems]


def _row(cell: SweepCell, measured: CellResults, metric: str) -> dict[str, Any]:
    """One row of the sweep's table."""
    receipt = measured.receipts.get(cell.system.name)
    canonical: Mapping[str, Any] = receipt.canonical if receipt is not None else {"status": "not_measured"}
    works = canonical["status"] == "measured"
    return {
        "name": cell.system.name,
        "settings": dict(cell.settings),
        "digest": cell.system.digest,
        "changes": cell.changes,
        "status": canonical["status"],
        "why": measured.failed.get(cell.system.name, "") if receipt is None else why(receipt),
        "receipt": None if receipt is None else receipt.digest,
        "value": get_mean(receipt, metric) if receipt is not None and works else None,
        "scores": dict(canonical["aggregates"]["all"]) if works else {},
    }


def _best(cells: Sequence[SweepCell], rows: Sequence[Mapping[str, Any]]) -> SweepCell:
    """The best cell on dev; the base if nothing was measured."""
    ranked = sorted(
        (place for place, row in enumerate(rows) if row["value"] is not None),
        key=lambda place: (-rows[place]["value"], rows[place]["changes"], rows[place]["digest"]),
    )
    return cells[ranked[0]] if ranked else cells[0]


def _verdict(
    rows: Sequence[Mapping[str, Any]], picked: SweepCell | None, gate: Receipt | None, half: str
) -> GateVerdict:
    """The verdict of the sweep; `half` "measured" includes the latency gates, "canonical" does not."""
    if gate is not None:
        found: GateVerdict = getattr(gate, half)["verdict"] or "not_measured"
        return found
    return "fail" if rows[0]["value"] is not None and picked is None else "not_measured"


def _why(rows: Sequence[Mapping[str, Any]], picked: SweepCell | None, gate: Receipt | None) -> str:
    """The conclusion in one sentence."""
    if rows[0]["value"] is None:
        return f"the base was not measured: {rows[0]['why']}"
    if picked is None:
        return "no cell is above the base on dev"
    assert gate is not None
    gates = [*gate.canonical["gates"], *gate.measured["gates"]]
    decisive = [one for one in gates if one["verdict"] == gate.measured["verdict"]]
    phrases = {"pass": "passes every gate", "fail": "fails", "not_measured": "was not measured by"}
    names = "" if gate.measured["verdict"] == "pass" else f" {', '.join(repr(one['name']) for one in decisive)}"
    return f"{format_settings(picked.settings)}: best on dev, {phrases[gate.measured['verdict']]}{names} on test"


def _system(system: System) -> dict[str, Any]:
    return {"name": system.name, "digest": system.digest, "spec": dict(system.spec)}


def _notes(swept: Sweep, measured: CellResults) -> list[str]:
    """Remarks on the axes."""
    notes = []
    if swept.repeated:
        notes.append(f"{swept.repeated} combinations are the same pipeline as another; each pipeline is one cell")
    for axis in swept.axes:
        alike: dict[Any, set[str]] = {}
        for cell in swept.cells:
            receipt = measured.receipts.get(cell.system.name)
            if receipt is not None and cell.settings:
                others = tuple(one for one in cell.settings if one[0] != axis.key)
                alike.setdefault(others, set()).add(str(receipt.canonical["rankings"]))
        if len(axis.values) > 1 and alike and all(len(rankings) == 1 for rankings in alike.values()):
            notes.append(f"{axis.key} changes nothing here: every ranking is the same for all its values")
    return notes
