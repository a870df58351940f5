"""The grid of 001: every setting against the next-vector model alone at the same K0 and nprobe, judged by rules.

    K0 {100, 200, 500, 1000} × λ {0.6, 0.7, 0.8} × nprobe {8, 16}, K1 50, K {5, 10}

λ = 1 is the next-vector model alone. A configuration is promoted when it passes every gate of `gates/cascade.toml`; of
several the one with the best Hit@5, then the best reciprocal rank, the smaller K0, fewer lists, the smaller λ. Settings
are picked and judged on the same questions, so the best of many looks a little better than it is; the report says so.
Where the model alone finds no more than a lot drawn at random, better than it means nothing, and nothing is promoted.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.bench.gates.check import judge
from assay.bench.gates.rules import load as load_rules
from assay.bench.grid.sweep import sweep
from assay.bench.grid.vary import changed
from assay.bench.receipt import Receipt, digest_of
from assay.bench.systems import System, of
from assay.cascade.bank.sequences import Sequences
from assay.cascade.evaluation.baselines import baseline_ranks
from assay.cascade.evaluation.doubts import chance, doubts, nonsense
from assay.cascade.evaluation.leakage import leakage
from assay.cascade.evaluation.questions import NextVectorQuestion, agreement, questions
from assay.cascade.evaluation.runs import Run, answered, dataset_of, latency, receipt
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
    run: Run
    receipt: Receipt
    gate: Receipt | None = None

    @property
    def verdict(self) -> str:
        return str(self.gate.measured["verdict"]) if self.gate else ""

    def score(self, metric: str) -> float:
        return float(self.receipt.canonical["aggregates"]["all"][metric])

    @property
    def preference(self) -> tuple[float, ...]:
        return -self.score("Success@5"), -self.score("RR@10"), self.k0, self.nprobe, self.weight


@dataclass(frozen=True, eq=False)
class Grid:
    """All there is to say: the rows every report has, the cells, the chosen one, the verdict on the goal."""

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
) -> Grid:
    """Sweep and judge. `most` takes so many of the held-out questions, spread over all."""
    axes, start = axes or Axes(), time.perf_counter()
    asked = questions(cascade.snapshot, sequences.val, most)
    systems = _systems(cascade, axes)
    facts = {
        "dataset": dataset_of(cascade.snapshot, sequences.digest, name),
        "index": dict(cascade.snapshot.index.manifest),
        "model": None if cascade.snapshot.model is None else dict(cascade.snapshot.model.manifest),
    }
    runs = answered([system for _, system in systems], cascade.snapshot, asked, progress)
    about = {"run": uuid.uuid4().hex[:12]}
    cells = [_cell(at, run, asked, facts, about) for (at, _), run in zip(systems, runs, strict=True)]
    alone, judged = _judged([cell for cell in cells if cell.k0])
    baselines = _baselines(cascade, asked, facts, progress)
    baselines |= {f"{FAISS_ONLY} nprobe {cell.nprobe}": cell.receipt for cell in cells if not cell.k0}
    rows = {row: one.canonical["aggregates"]["all"] for row, one in baselines.items()}
    hits = {row: float(scores["Success@10"]) for row, scores in rows.items()}
    reached, by_lot = max(cell.score("Success@10") for cell in alone), chance(len(cascade.snapshot.bank), len(asked))
    passing = [cell for cell in judged if cell.verdict == "pass" and not nonsense(reached, by_lot)]
    chosen = min(passing, key=lambda cell: cell.preference, default=None)
    goal = judge((chosen or min(judged, key=lambda cell: cell.preference)).receipt, load_rules(GOAL))
    canonical = {
        **facts,
        "axes": {
            "k0": list(axes.k0),
            "lambda": list(axes.weight),
            "nprobe": list(axes.nprobe),
            "k1": axes.k1,
            "k": axes.k,
        },
        "questions": len(asked),
        "leakage": leakage(cascade.snapshot.bank, sequences),
        "codes_agree": agreement(cascade.snapshot, sequences.val),
        "rows": rows,
        "cells": [_row(cell) for cell in [*alone, *judged]],
        "doubts": doubts(reached, by_lot, hits, cascade.snapshot, sequences),
    }
    measured = {
        **about,
        "seconds": round(time.perf_counter() - start, 1),
        "chosen": _row(chosen) if chosen else None,
        "verdict": "pass" if chosen else "fail",
        "goal": goal.canonical["gates"],  # of the chosen cell, which its time chose too
        "latency_ms": {cell.run.system.name: latency(cell.run) for cell in cells},
        "gates": {cell.run.system.name: cell.gate.measured for cell in judged if cell.gate},
    }
    return Grid(baselines, alone, judged, chosen, goal, Receipt("grid", canonical, measured))


def _judged(swept: Sequence[CascadeCell]) -> tuple[tuple[CascadeCell, ...], tuple[CascadeCell, ...]]:
    """The model alone at each K0 and nprobe, and every other cell with its verdicts against it."""
    alone = {(cell.k0, cell.nprobe): cell for cell in swept if cell.weight == 1.0}
    rules = load_rules(RULES)
    judged = tuple(
        replace(cell, gate=judge(cell.receipt, rules, alone[cell.k0, cell.nprobe].receipt))
        for cell in swept
        if cell.weight < 1.0
    )
    return tuple(alone.values()), judged


def _baselines(
    cascade: Cascade, asked: Sequence[NextVectorQuestion], facts: Mapping[str, Any], progress: Progress
) -> dict[str, Receipt]:
    return {
        row: receipt(
            {"name": row, "digest": digest_of({"baseline": row}), "spec": {"baseline": row}}, ranks, asked, facts
        )
        for row, ranks in baseline_ranks(cascade.snapshot, asked, progress).items()
    }


def _systems(cascade: Cascade, axes: Axes) -> list[tuple[tuple[int, int, float], System]]:
    """Every combination, lvm-only (λ = 1) among them, and FAISS alone for each nprobe, whose K0 is called 0."""
    spec = of(cascade.base).spec
    base = of(from_dict(changed(spec, (("step.k1.k", axes.k1), ("k", axes.k))), cascade.base.name))
    weights = [1.0, *axes.weight]
    said = [
        f"legs.{base.pipeline.legs[0].name if base.pipeline else ''}.k={','.join(map(str, axes.k0))}",
        f"step.tmd.weight={','.join(map(str, weights))}",
        f"legs.{base.pipeline.legs[0].name if base.pipeline else ''}.nprobe={','.join(map(str, axes.nprobe))}",
    ]
    made: list[tuple[tuple[int, int, float], System]] = []
    for cell in sweep(base, said).cells:
        if cell.settings:
            (_, k0), (_, weight), (_, nprobe) = cell.settings
            at = (int(k0), int(nprobe), float(weight))
            made.append((at, replace(cell.system, name=f"k0={at[0]} nprobe={at[1]} lambda={at[2]:g}")))
    for nprobe in axes.nprobe:
        bare = {**spec, "step": [], "legs": {n: {**leg, "nprobe": nprobe} for n, leg in spec["legs"].items()}}
        made.append(((0, nprobe, 0.0), of(from_dict(bare), f"{FAISS_ONLY} nprobe {nprobe}")))
    return made


def _cell(
    at: tuple[int, int, float],
    run: Run,
    asked: Sequence[NextVectorQuestion],
    facts: Mapping[str, Any],
    about: Mapping[str, Any],
) -> CascadeCell:
    system = {"name": run.system.name, "digest": run.system.digest, "spec": dict(run.system.spec)}
    made = receipt(system, run.ranks, asked, facts, run.why)
    return CascadeCell(*at, run=run, receipt=replace(made, measured={**about, "latency_ms": latency(run)}))


def _row(cell: CascadeCell) -> dict[str, Any]:
    said = cell.receipt.canonical
    lanes = {name: values["Success@5"] for name, values in said["aggregates"].items() if name != "all"}
    row = {
        "k0": cell.k0,
        "nprobe": cell.nprobe,
        "lambda": cell.weight,
        "scores": said["aggregates"]["all"],
        "lanes": lanes,
    }
    if cell.gate is not None:
        row["gates"] = {one["name"]: one["verdict"] for one in cell.gate.canonical["gates"]}
    return row
