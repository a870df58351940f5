"""Sweeps the cascade's settings; each is judged by rules against the next-vector model alone at its K0 and nprobe.

    K0 {100, 200, 500, 1000} × λ {0.6, 0.7, 0.8} × nprobe {8, 16}, K1 50, K {5, 10}

λ = 1 is the next-vector model alone, timed without the stage of the codes. A cell has the nprobe that was asked for and
the one that was used: where the lists of nprobe hold fewer than K0 vectors, more are read. A configuration is promoted
if it passes every gate of `gates/cascade.toml`; of several, the one with the best Hit@5, then the best reciprocal rank,
the smaller K0, fewer lists, the smaller λ. Settings are selected and judged on the same questions, so the best of many
looks a little too good; the report says so. If the model alone is at chance level, nothing is promoted.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.bench.gates.rules import load_rules as load_rules
from assay.bench.gates.verdicts import judge_receipt
from assay.bench.grid.axes import apply_settings
from assay.bench.grid.sweep import build_sweep
from assay.bench.receipt import Receipt, compute_digest
from assay.bench.systems import System, make_system
from assay.cascade.bank.sequences import Sequences
from assay.cascade.evaluation.baselines import rank_baselines
from assay.cascade.evaluation.doubts import chance_doubt, chance_level, find_doubts
from assay.cascade.evaluation.leakage import measure_leakage
from assay.cascade.evaluation.questions import NextVectorQuestion, code_agreement, make_questions
from assay.cascade.evaluation.runs import (
    CascadeRun,
    describe_dataset,
    latency_percentiles,
    latency_samples,
    make_receipt,
    run_systems,
)
from assay.cascade.service import Cascade
from assay.config.load import from_dict
from assay.errors import ConfigError
from assay.types import Progress

RULES, GOAL = "cascade", "cascade-goal"
FAISS_ONLY, LVM_ONLY = "faiss-only", "lvm-only"


@dataclass(frozen=True, slots=True)
class Axes:
    """What is swept."""

    k0: tuple[int, ...] = (100, 200, 500, 1000)
    weight: tuple[float, ...] = (0.6, 0.7, 0.8)
    nprobe: tuple[int, ...] = (8, 16)
    k1: int = 50
    k: int = 10

    def __post_init__(self) -> None:
        if (
            not self.k0
            or not self.weight
            or not self.nprobe
            or min(self.k0) < self.k1
            or self.k1 < self.k
            or self.k < 1
        ):
            raise ConfigError(
                f"k0 {list(self.k0)}, k1 {self.k1}, k {self.k}: each stage keeps some of the one before",
                "give k0 ≥ k1 ≥ k ≥ 1 and at least one value of each",
            )
        if any(not 0.0 <= one < 1.0 for one in self.weight):
            raise ConfigError(f"lambda {list(self.weight)}", "values from 0 to below 1; 1 is lvm-only, always there")


@dataclass(frozen=True, eq=False)
class CascadeCell:
    """One configuration: its run, its receipt, and its verdicts against lvm-only at the same K0 and nprobe."""

    k0: int
    nprobe: int
    weight: float
    run: CascadeRun
    receipt: Receipt
    gate: Receipt | None = None

    @property
    def verdict(self) -> str:
        return str(self.gate.measured["verdict"]) if self.gate else ""

    @property
    def nprobe_used(self) -> str:
        """The lists that its questions read: 32, or 16-64 where they differ."""
        probed = list(self.run.probed)
        return str(probed[0]) if len(probed) == 1 else f"{min(probed)}-{max(probed)}"

    def score(self, metric: str) -> float:
        return float(self.receipt.canonical["aggregates"]["all"][metric])

    @property
    def preference(self) -> tuple[float, ...]:
        return -self.score("Success@5"), -self.score("RR@10"), self.k0, self.nprobe, self.weight


@dataclass(frozen=True, eq=False)
class CascadeGrid:
    """The result: baselines, cells, the chosen cell, the verdict on the goal, the receipt."""

    baselines: Mapping[str, Receipt]
    alone: tuple[CascadeCell, ...]
    cells: tuple[CascadeCell, ...]
    chosen: CascadeCell | None
    goal: Receipt
    receipt: Receipt


def run_grid(
    cascade: Cascade,
    sequences: Sequences,
    axes: Axes | None = None,
    *,
    name: str = "bank",
    most: int = 0,
    progress: Progress = lambda *_: None,
) -> CascadeGrid:
    """Sweep and judge. `most` takes so many held-out questions, spread evenly."""
    axes, start = axes or Axes(), time.perf_counter()
    questions = make_questions(cascade.snapshot, sequences.val, most)
    systems = _grid_systems(cascade, axes)
    facts = {
        "dataset": describe_dataset(cascade.snapshot, sequences.digest, name),
        "index": dict(cascade.snapshot.index.manifest),
        "model": None if cascade.snapshot.model is None else dict(cascade.snapshot.model.manifest),
    }
    runs = run_systems([system for _, system in systems], cascade.snapshot, questions, progress)
    about = {"run": uuid.uuid4().hex[:12]}
    cells = [_cell(at, run, questions, facts, about) for (at, _), run in zip(systems, runs, strict=True)]
    alone, judged = _judge_cells([cell for cell in cells if cell.k0])
    baselines = _baseline_receipts(cascade, questions, facts, progress)
    baselines |= {f"{FAISS_ONLY} nprobe {cell.nprobe}": cell.receipt for cell in cells if not cell.k0}
    rows = {row: one.canonical["aggregates"]["all"] for row, one in baselines.items()}
    hits = {row: float(scores["Success@10"]) for row, scores in rows.items()}
    reached, by_lot = (
        max(cell.score("Success@10") for cell in alone),
        chance_level(len(cascade.snapshot.bank), len(questions)),
    )
    passing = [cell for cell in judged if cell.verdict == "pass" and not chance_doubt(reached, by_lot)]
    chosen = min(passing, key=lambda cell: cell.preference, default=None)
    goal = judge_receipt((chosen or min(judged, key=lambda cell: cell.preference)).receipt, load_rules(GOAL))
    canonical = {
        **facts,
        "axes": {
            "k0": list(axes.k0),
            "lambda": list(axes.weight),
            "nprobe": list(axes.nprobe),
            "k1": axes.k1,
            "k": axes.k,
        },
        "questions": len(questions),
        "leakage": measure_leakage(cascade.snapshot.bank, sequences),
        "codes_agree": code_agreement(cascade.snapshot, sequences.val),
        "rows": rows,
        "cells": [_row(cell) for cell in [*alone, *judged]],
        "doubts": find_doubts(reached, by_lot, hits, cascade.snapshot, sequences),
    }
    measured = {
        **about,
        "seconds": round(time.perf_counter() - start, 1),
        "chosen": _row(chosen) if chosen else None,
        "verdict": "pass" if chosen else "not_measured" if _is_open(judged) else "fail",
        "goal": goal.canonical["gates"],  # of the chosen cell, which its time chose too
        "latency_ms": {cell.run.system.name: latency_percentiles(cell.run) for cell in cells},
        "gates": {cell.run.system.name: cell.gate.measured for cell in judged if cell.gate},
    }
    return CascadeGrid(baselines, alone, judged, chosen, goal, Receipt("grid", canonical, measured))


def _judge_cells(cells: Sequence[CascadeCell]) -> tuple[tuple[CascadeCell, ...], tuple[CascadeCell, ...]]:
    """The model alone at each K0 and nprobe, and every other cell with its verdicts against it."""
    alone = {(cell.k0, cell.nprobe): cell for cell in cells if cell.weight == 1.0}
    rules = load_rules(RULES)
    judged = tuple(
        replace(cell, gate=judge_receipt(cell.receipt, rules, alone[cell.k0, cell.nprobe].receipt))
        for cell in cells
        if cell.weight < 1.0
    )
    return tuple(alone.values()), judged


def _is_open(cells: Sequence[CascadeCell]) -> bool:
    """Whether a cell might have passed: none of its gates failed, but one was not measured."""
    return any(cell.verdict == "not_measured" for cell in cells)


def _baseline_receipts(
    cascade: Cascade, questions: Sequence[NextVectorQuestion], facts: Mapping[str, Any], progress: Progress
) -> dict[str, Receipt]:
    return {
        row: make_receipt(
            {"name": row, "digest": compute_digest({"baseline": row}), "spec": {"baseline": row}},
            ranks,
            questions,
            facts,
        )
        for row, ranks in rank_baselines(cascade.snapshot, questions, progress).items()
    }


def _grid_systems(cascade: Cascade, axes: Axes) -> list[tuple[tuple[int, int, float], System]]:
    """Every combination, lvm-only (λ = 1) among them, and FAISS alone for each nprobe, whose K0 is called 0."""
    spec = make_system(cascade.base).spec
    base = make_system(from_dict(apply_settings(spec, (("step.k1.k", axes.k1), ("k", axes.k))), cascade.base.name))
    weights = [1.0, *axes.weight]
    axes_text = [
        f"legs.{base.pipeline.legs[0].name if base.pipeline else ''}.k={','.join(map(str, axes.k0))}",
        f"step.tmd.weight={','.join(map(str, weights))}",
        f"legs.{base.pipeline.legs[0].name if base.pipeline else ''}.nprobe={','.join(map(str, axes.nprobe))}",
    ]
    systems: list[tuple[tuple[int, int, float], System]] = []
    for cell in build_sweep(base, axes_text).cells:
        if cell.settings:
            (_, k0), (_, weight), (_, nprobe) = cell.settings
            at = (int(k0), int(nprobe), float(weight))
            named = f"k0={at[0]} nprobe={at[1]} lambda={at[2]:g}"
            system = _without_codes(cell.system) if at[2] == 1.0 else cell.system
            systems.append((at, replace(system, name=named)))
    for nprobe in axes.nprobe:
        bare = {**spec, "step": [], "legs": {n: {**leg, "nprobe": nprobe} for n, leg in spec["legs"].items()}}
        systems.append(((0, nprobe, 0.0), make_system(from_dict(bare), f"{FAISS_ONLY} nprobe {nprobe}")))
    return systems


def _without_codes(system: System) -> System:
    """The next-vector model alone: at λ = 1 the codes change nothing, so their stage is not run, nor timed."""
    steps = [step for step in system.spec["step"] if step.get("name", step["use"]) != "tmd"]
    return make_system(from_dict({**system.spec, "step": steps}))


def _cell(
    at: tuple[int, int, float],
    run: CascadeRun,
    questions: Sequence[NextVectorQuestion],
    facts: Mapping[str, Any],
    about: Mapping[str, Any],
) -> CascadeCell:
    system = {"name": run.system.name, "digest": run.system.digest, "spec": dict(run.system.spec)}
    run_receipt = make_receipt(system, run.ranks, questions, facts, run.why)
    measured = {
        **run_receipt.measured,
        **about,
        "latency_ms": latency_percentiles(run),
        "latency_samples": latency_samples(run),
    }
    return CascadeCell(*at, run=run, receipt=replace(run_receipt, measured=measured))


def _row(cell: CascadeCell) -> dict[str, Any]:
    canonical = cell.receipt.canonical
    lanes = {name: values["Success@5"] for name, values in canonical["aggregates"].items() if name != "all"}
    row = {
        "k0": cell.k0,
        "nprobe": cell.nprobe,
        "nprobe_used": {str(probed): count for probed, count in cell.run.probed.items()},
        "lambda": cell.weight,
        "scores": canonical["aggregates"]["all"],
        "lanes": lanes,
    }
    if cell.gate is not None:
        row["gates"] = {one["name"]: one["verdict"] for one in cell.gate.canonical["gates"]}
    return row
