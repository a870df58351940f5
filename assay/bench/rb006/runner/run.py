"""Runs the benchmark stage by stage; a stage whose kill line holds stops the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assay.bench.rb006.diagnostics.measurements import FLAT, Measurements, ScaleMeasurements, choose_slice
from assay.bench.rb006.diagnostics.tree_quality import measure_tree
from assay.bench.rb006.diagnostics.values import Values, compute_values
from assay.bench.rb006.public_sets import measure_public
from assay.bench.rb006.runner.measuring import ScaleRecords, measure_detector, measure_systems
from assay.bench.rb006.runner.plan import RunSettings, RunStage, list_stages
from assay.bench.rb006.runner.worlds import BenchPool, BuiltWorlds, build_worlds, open_benches
from assay.bench.rb006.systems import BenchmarkSystem, find_systems
from assay.errors import ConfigError
from assay.types import Progress
from assay.util.atomic_files import write_text

State = Literal["done", "killed", "after a kill", "not run"]


@dataclass(frozen=True)
class StageOutcome:
    """What became of a stage: its state, and the kill lines that held after it."""

    stage: RunStage
    state: State
    killed_by: tuple[str, ...] = ()
    values: Mapping[str, float | None] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.stage.name,
            "title": self.stage.title,
            "state": self.state,
            "killed_by": list(self.killed_by),
            "values": dict(self.values),
        }


@dataclass(frozen=True, eq=False)
class BenchmarkRun:
    """A run as far as it went: everything measured, and what became of every stage."""

    settings: RunSettings
    worlds: BuiltWorlds
    systems: tuple[BenchmarkSystem, ...]
    measured: Measurements
    values: Values
    stages: tuple[StageOutcome, ...]
    indexes: Mapping[int, Mapping[str, Any]]
    public: Sequence[Mapping[str, Any]] = ()
    """The flat baseline on public sets."""

    @property
    def stopped(self) -> bool:
        return any(outcome.state == "not run" for outcome in self.stages)


def run_benchmark(
    settings: RunSettings,
    out: Path,
    *,
    go_on: bool = False,
    progress: Progress = lambda *_: None,
    cache: Path | None = None,
) -> BenchmarkRun:
    """Measure what `out` lacks, stage by stage. `go_on` measures the stages after a kill, marked so.

    Every batch of queries is on disk before the next one starts: an interrupted run goes on where it was.
    """
    check_folder(settings, out)
    systems = {system.name: system for system in settings.find_systems()}
    worlds = build_worlds(settings, cache, progress)
    runner = _Runner(settings, out, worlds, systems, progress, cache)
    claim_folder(settings, out)
    with runner.stack:
        return runner.run(go_on)


def check_folder(settings: RunSettings, out: Path) -> None:
    """A folder holds records of one run: another world, base or seed would mix them up."""
    path = out / "run.json"
    keys = ("templates", "base", "seed", "quick", "queries", "rerank", "race", "thresholds")
    if path.exists():
        try:
            before = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise ConfigError(f"{path} is no JSON: {error}", "name another folder with --out") from error
        if not isinstance(before, dict):
            raise ConfigError(f"{path} does not describe a run", "name another folder with --out")
        for key in keys:
            if before.get(key) != settings.describe()[key]:
                raise ConfigError(
                    f"{out} holds a run with {key} {before.get(key)!r}, not {settings.describe()[key]!r}",
                    "name another folder with --out",
                )


def claim_folder(settings: RunSettings, out: Path) -> None:
    """Say whose records the folder holds, once nothing about the settings can be refused any more."""
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "run.json", json.dumps(settings.describe(), indent=1) + "\n")


@dataclass
class _Runner:
    settings: RunSettings
    out: Path
    worlds: BuiltWorlds
    systems: Mapping[str, BenchmarkSystem]
    progress: Progress
    cache: Path | None

    def __post_init__(self) -> None:
        self.stack = ExitStack()
        self._benches: dict[int, BenchPool] = {}
        self._trees: dict[int, dict[str, Any]] = {}
        self._indexes: dict[int, dict[str, Any]] = {}
        self._asked: dict[int, set[str]] = {scale: set() for scale in self.settings.scales}
        self._detected: set[int] = set()
        declared = self.settings.thresholds.declared
        (self._baseline,) = find_systems([FLAT], race=declared.race, rerank=self.settings.rerank)
        smallest = self.worlds.subjects[min(self.worlds.subjects)]
        self._slice = choose_slice(smallest, self.settings.slice_size)

    def run(self, go_on: bool) -> BenchmarkRun:
        outcomes: list[StageOutcome] = []
        killed = False
        for stage in list_stages(self.settings):
            if killed and not go_on:
                outcomes.append(StageOutcome(stage, "not run"))
                continue
            for part in stage.parts:
                self._measure(part.scale, part.systems, part.slice_only, part.detect)
            held, values = self._judge(stage)
            state: State = "killed" if held else "after a kill" if killed else "done"
            outcomes.append(StageOutcome(stage, state, held, values))
            killed = killed or bool(held)
        measured = self._collect()
        values = compute_values(measured, self.settings.thresholds.declared)
        index = None if self.cache is None else self.cache / "index"
        public = measure_public(
            self.settings.public,
            self.out / "public",
            rerank=self.settings.rerank,
            progress=self.progress,
            cache=index,
        )
        return BenchmarkRun(
            self.settings,
            self.worlds,
            tuple(self.systems.values()),
            measured,
            values,
            tuple(outcomes),
            self._indexes,
            public,
        )

    def _measure(self, scale: int, names: Sequence[str], slice_only: bool, detect: bool) -> None:
        records = self._records(scale)
        subject = records.benches.plain.subject
        chosen = [self.systems[name] for name in names]
        queries = tuple(subject.by_id[name] for name in self._slice) if slice_only else subject.answered
        measure_systems(records, chosen, queries, self.progress)
        self._asked[scale] |= set(names)
        if detect:
            measure_detector(records, self._baseline, subject.queries, self.progress)
            self._detected.add(scale)

    def _records(self, scale: int) -> ScaleRecords:
        if scale not in self._benches:
            subject = self.worlds.subjects[scale]
            pool = self.stack.enter_context(open_benches(subject, self.settings, self.progress, self.cache))
            self._benches[scale] = pool
            self._indexes[scale] = pool.plain.workspace.describe()
            self._trees[scale] = measure_tree(pool.plain.tree)
        return ScaleRecords(self.out / "records" / str(scale), self._benches[scale])

    def _judge(self, stage: RunStage) -> tuple[tuple[str, ...], dict[str, float | None]]:
        """The kill lines that hold after a stage, and the values they were judged by."""
        if not stage.kills:
            return (), {}
        values = compute_values(self._collect(), self.settings.thresholds.declared)
        hypotheses = {one.name: one for one in self.settings.thresholds.hypotheses}
        held: list[str] = []
        shown: dict[str, float | None] = {}
        for name, kill_values in stage.kills:
            lines = [line for line in hypotheses[name].kill if line.value in kill_values]
            verdicts = [line.judge(values) for line in lines]
            shown |= {line.value: values.get(line.value) for line in lines}
            passed = [one for one in verdicts if one.verdict == "pass"]
            if passed and (hypotheses[name].kill_when == "any" or len(passed) == len(hypotheses[name].kill)):
                held += [f"{name}: {one.line.value} {one.line.op} {one.line.threshold:g}" for one in passed]
        return tuple(held), shown

    def _collect(self) -> Measurements:
        """Everything on disk that belongs to this run."""
        scales: dict[int, ScaleMeasurements] = {}
        for scale in self._benches:
            files = self._records(scale)
            records = {name: files.of(self.systems[name]).read() for name in sorted(self._asked[scale])}
            detected = files.of_detector(self._baseline).read() if scale in self._detected else {}
            subject = self.worlds.subjects[scale]
            scales[scale] = ScaleMeasurements(scale, subject, records, detected, self._trees[scale])
        gated = max(scale for scale in scales if scale <= self.settings.gated_scale)
        return Measurements(scales, gated, self._slice)
