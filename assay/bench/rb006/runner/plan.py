"""What a run measures, and the stages in their fail-fast order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.bench.rb006.public_sets import check_sets
from assay.bench.rb006.systems import DEFAULT_RERANK, MAIN, BenchmarkSystem, find_systems
from assay.bench.rb006.systems.catalogue import ABLATIONS, LATTICE
from assay.bench.rb006.verdict.hypotheses import Thresholds, load_thresholds
from assay.bench.rb006.world import STAGES as WORLD_STAGES
from assay.bench.rb006.world import Base
from assay.errors import ConfigError

BASELINES = ("random", "oracle", "bm25", "dense", "hybrid", "raptor", "flat-strong", "flat-strong-xlink")
QUICK_SCALES = (500, 1_000, 1_500)
QUICK_STAGES = (6_000, 8_000, 10_000)
QUICK_QUERIES = 6
"""Feasible queries of a quick run, evenly from the suite."""
QUICK_SLICE = 4


@dataclass(frozen=True)
class RunSettings:
    """What is measured. `largest` is the largest corpus; `scales` are the sizes of this run up to it.

    `lattice` is the address of a language model, `public` are test sets of the flat baseline. A quick run has small
    corpora, few queries and every code path; its numbers mean nothing.
    """

    templates: str = "dev"
    base: Base = "simulated"
    seed: int | None = None
    largest: int = WORLD_STAGES[1]
    systems: tuple[str, ...] = MAIN
    rerank: str = DEFAULT_RERANK
    quick: bool = False
    embedder: str = "auto"
    queries: int = 300
    lattice: str = ""
    public: tuple[str, ...] = ()
    thresholds: Thresholds = field(default_factory=load_thresholds)

    def __post_init__(self) -> None:
        if self.largest not in self._sizes:
            raise ConfigError(f"there is no scale of {self.largest} chunks", f"choose from {list(self._sizes)}")
        check_sets(self.public)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return QUICK_SCALES if self.quick else WORLD_STAGES

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(size for size in self._sizes if size <= self.largest)

    @property
    def world_stages(self) -> tuple[int, ...]:
        return QUICK_STAGES if self.quick else WORLD_STAGES

    @property
    def gated_scale(self) -> int:
        """The scale that is judged: the second, or the first where the run goes no further."""
        return self.scales[min(1, len(self.scales) - 1)]

    @property
    def slice_size(self) -> int:
        return QUICK_SLICE if self.quick else self.thresholds.declared.slice

    def find_systems(self) -> list[BenchmarkSystem]:
        return find_systems(self.systems, race=self.thresholds.declared.race, rerank=self.rerank, lattice=self.lattice)

    def describe(self) -> dict[str, Any]:
        """What decides the numbers, for receipts and for resuming."""
        return {
            "templates": self.templates,
            "base": self.base,
            "seed": self.seed,
            "scales": list(self.scales),
            "systems": list(self.systems),
            "rerank": self.rerank,
            "quick": self.quick,
            "queries": self.queries,
            "thresholds": self.thresholds.digest,
            "race": self.thresholds.declared.race,
            "lattice": self.lattice,
            "public": list(self.public),
        }


@dataclass(frozen=True)
class StagePart:
    """Systems that are asked at one scale; `slice_only` asks the dev slice alone, `detect` runs the detector."""

    scale: int
    systems: tuple[str, ...]
    slice_only: bool = False
    detect: bool = False


@dataclass(frozen=True)
class RunStage:
    """A step of the fail-fast order. `kills` names the values of the kill lines that may stop the run after it."""

    name: str
    title: str
    parts: tuple[StagePart, ...]
    kills: tuple[tuple[str, tuple[str, ...]], ...]
    """(hypothesis, values of its kill lines); the rule of the hypothesis says whether one or all must hold."""


def list_stages(settings: RunSettings) -> list[RunStage]:
    """The stages of a run: those of the specification that its scales and systems allow, in order."""
    chosen = [system.name for system in settings.find_systems()]
    first, gated = settings.scales[0], settings.gated_scale
    later = settings.scales[2:]

    def pick(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in chosen)

    curves = pick((*BASELINES, LATTICE, "race", "hcr"))
    paths = pick(("beam-only", "collapsed-only"))
    extra = tuple(name for name in chosen if name in ABLATIONS or name.startswith("race-seed-"))
    extra = tuple(name for name in extra if name != "xlink-off")
    both = dict.fromkeys((first, gated))
    stages = [
        RunStage(
            "slice",
            "Routing error on the dev slice",
            (StagePart(first, pick(("race", "hcr")), slice_only=True),),
            (("H1c", ("epsilon_level_1_dev_slice",)),),
        ),
        RunStage(
            "curves",
            "Token curves",
            tuple(StagePart(scale, curves) for scale in both),
            (("H1a", ("race_minus_flat_400", "race_800_minus_flat_pool")),),
        ),
        RunStage(
            "decomposition",
            "Beam, collapsed, race; impossible queries",
            tuple(StagePart(scale, paths, detect=True) for scale in both),
            (("H1b", ("race_gain",)), ("impossible", ("impossible_precision", "impossible_recall"))),
        ),
        RunStage(
            "cross-links",
            "Without cross-links",
            tuple(StagePart(scale, pick(("xlink-off",))) for scale in both),
            (("H1c", ("survival_rho", "cross_link_drop")),),
        ),
    ]
    if extra:
        stages.append(RunStage("ablations", "Ablations and seeds", (StagePart(gated, extra),), ()))
    whole = (*curves, *paths, *pick(("xlink-off",)))
    stages += [
        RunStage("scale-up", f"Scale-up to {name_scale(scale)}", (StagePart(scale, whole, detect=True),), ())
        for scale in later
    ]
    return stages


def name_scale(scale: int) -> str:
    """10000 → "10k"."""
    return f"{scale // 1000}k" if scale % 1000 == 0 else str(scale)
