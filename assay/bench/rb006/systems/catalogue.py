"""Every system of the benchmark by name.

All of them answer from one index, and what they rank first is packed by one selector from a pool of 50 chunks; systems
with a rerank stage use the same one. An ablation changes one thing about the arm of the race that is gated: a setting
of the pipeline, the packer, or the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from assay.bench.receipt import compute_digest
from assay.bench.systems import ORACLE, RANDOM, load_system
from assay.config.load import from_dict, load, to_config
from assay.embed.chat import open_chat
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, ModelError, nearest
from assay.rerank.cross_encoder import CrossEncoder
from assay.rerank.pair_reader import hash_file

Kind = Literal["pipeline", "random", "oracle", "raptor", "lattice"]
POOL = 50
"""Chunks that a selector reads, and what A@pool means: a context without a budget."""
DEFAULT_RERANK = "late_interaction"
RERANK_WEIGHT = 1.0
"""Weight of a cross-encoder beside the scores that it reranks; chosen on the dev world."""
RAPTOR = "raptor"
LATTICE: Final = "lattice"
SELECTORS: Mapping[str, Mapping[str, Any]] = {
    "coverage": {"use": "coverage", "pool": POOL, "paths": 6.0},
    "naive": {"use": "naive", "pool": POOL},
    "adagres": {"use": "adagres", "pool": POOL},
    "no-paths": {"use": "coverage", "pool": POOL, "paths": 0.0},
}
SECOND_MARGIN = 0.02
"""Soft assignment: a chunk this close to another leaf is in both."""
DIVERSITY = 0.3
PATH = 0.5


@dataclass(frozen=True)
class BenchmarkSystem:
    """A system under its name in reports.

    config    of its pipeline, rerank stage and packer included; empty for one that is no pipeline
    tree      settings of the tree that differ from the defaults; a system with some needs an index of its own
    measures  "grid" to measure A at every budget of the parity grid, too
    chat      the language model of LATTICE: https://host/v1#model
    """

    name: str
    about: str
    kind: Kind = "pipeline"
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    tree: Mapping[str, Any] = field(default_factory=dict)
    measures: frozenset[str] = frozenset()
    chat: str = ""

    @cached_property
    def pipeline(self) -> Pipeline | None:
        return from_dict(dict(self.config)) if self.config else None

    @cached_property
    def digest(self) -> str:
        """Identifies what is measured, not the name."""
        pipeline = self.pipeline
        behaviour = pipeline.digest if pipeline is not None else self.kind
        asked = [self.chat] if self.chat else []
        return compute_digest([behaviour, dict(self.tree), sorted(self.measures), *asked])

    def describe(self) -> dict[str, Any]:
        """As a receipt describes it."""
        return {"name": self.name, "kind": self.kind, "tree": dict(self.tree), "digest": self.digest}


MAIN = (
    RANDOM,
    ORACLE,
    "bm25",
    "dense",
    "hybrid",
    RAPTOR,
    "flat-strong",
    "flat-strong-xlink",
    "beam-only",
    "collapsed-only",
    "race",
    "hcr",
    "xlink-off",
)
"""The systems of a whole run: baselines, the paths of the race, the race in both forms, and without cross-links."""
_ABOUT: Mapping[str, str] = {
    RANDOM: "chunks in random order: the lower bound",
    ORACLE: "the evidence itself: the upper bound",
    "bm25": "words alone",
    "dense": "cosine alone",
    "hybrid": "words and cosine by reciprocal ranks, no rerank",
    RAPTOR: "RAPTOR-style collapsed tree: cosine over chunks and summaries, appended until the budget",
    "flat-strong": "hybrid, rerank, the same selector: the strong flat baseline",
    "flat-strong-xlink": "the strong flat baseline with bridge hops, so that links are not credited to the tree",
    "beam-only": "the walk down the tree alone",
    "collapsed-only": "chunks and summaries in one ranking alone",
    "race": "the walk or the ranking, by confidence: the arm that is gated",
    "hcr": "the race as the specification says: prefilter 3, rerank, top 2",
    LATTICE: "a language model grades the children of every node that is opened, best path first",
}
ABLATIONS: Mapping[str, str] = {
    "select-naive": "chunks in their order instead of the coverage selector",
    "select-adagres": "AdaGReS instead of the coverage selector",
    "select-no-paths": "the coverage selector as packages have it: it does not follow names over rewritten queries",
    "path-ema": "path relevance: half of a score is that of its parent (switched: off where the arm has it)",
    "rerank-off": "no rerank stage after the race",
    "rerank-children": "the rerank scorer reads the children of every node (switched)",
    "xlink-off": "no bridge hops",
    "soft-assignment": "chunks between two leaves are in both",
    "summaries-generic": "summaries of what is frequent in a node, not of what tells it from its siblings",
    "diversity-mmr": "maximal marginal relevance among siblings of the beam",
    "tree-headings": "the tree that documents have instead of clusters",
    "margin-4": "at most four children of a node",
    "top-2": "the specification's expansion: prefilter 3, the best two",
    "router-maxpool": "a node scores what its best chunk scores: the bound of routing",
}
SEEDS = (1, 2, 3, 4, 5)
NOT_RUN: Mapping[str, str] = {
    LATTICE: "LATTICE asks a language model at every step down the tree, and no endpoint is configured (--lattice)"
}


def find_systems(
    names: Sequence[str] = MAIN, *, race: str = "hcr-margin", rerank: str = DEFAULT_RERANK, lattice: str = ""
) -> list[BenchmarkSystem]:
    """Make systems by name, each once, in the order given. `race` is the preset of the gated arm, `rerank` the stage.

    "main", "ablations" and "seeds" stand for their systems. With `lattice`, the address of a language model, LATTICE
    is one of them.
    """
    groups = {"main": MAIN, "ablations": tuple(ABLATIONS), "seeds": tuple(f"race-seed-{seed}" for seed in SEEDS)}
    added = (LATTICE,) if lattice else ()
    wanted = dict.fromkeys(one for name in (*names, *added) for one in groups.get(name, (name,)))
    known = dict.fromkeys((*groups, *MAIN, *ABLATIONS, *groups["seeds"]))
    if not wanted:
        raise ConfigError("no system is named", f"name some of {', '.join((*groups, *MAIN))}")
    for name in wanted:
        if name == LATTICE and lattice:
            open_chat(lattice)  # refuses an address that is none
        elif name in NOT_RUN:
            raise ConfigError(f"{name} cannot be run: {NOT_RUN[name]}", f"choose from {', '.join(MAIN)}")
        elif name not in known:
            raise ConfigError(f"RB-006 has no system {name!r}", nearest(name, known))
    asked = BenchmarkSystem(LATTICE, _ABOUT[LATTICE], LATTICE, chat=lattice)
    return [asked if name == LATTICE else _make(name, race, rerank) for name in wanted]


def list_not_run(systems: Sequence[BenchmarkSystem] = ()) -> dict[str, str]:
    """The systems that a report lists without numbers, with the reason."""
    return {name: why for name, why in NOT_RUN.items() if name not in {system.name for system in systems}}


def _make(name: str, race: str, rerank: str) -> BenchmarkSystem:
    if name in (RANDOM, ORACLE, RAPTOR):
        kinds: dict[str, Kind] = {RANDOM: "random", ORACLE: "oracle", RAPTOR: "raptor"}
        return BenchmarkSystem(name, _ABOUT[name], kinds[name])
    if name in ABLATIONS:
        return _ablate(name, race, rerank)
    if name.startswith("race-seed-"):
        seed = int(name.removeprefix("race-seed-"))
        tree = {"seed": seed} if seed != 1 else {}
        return BenchmarkSystem(name, f"the gated arm, clustering seed {seed}", config=_read(race, rerank), tree=tree)
    if name in ("beam-only", "collapsed-only"):
        config = _read(race, rerank)
        config["fuse"] = {**config["fuse"], "only": name.removesuffix("-only")}
        return BenchmarkSystem(name, _ABOUT[name], config=_complete(config))
    measures = frozenset({"grid"}) if name in ("race", "hcr", "flat-strong") else frozenset()
    preset = race if name == "race" else name
    return BenchmarkSystem(name, _ABOUT[name], config=_read(preset, rerank), measures=measures)


def _ablate(name: str, race: str, rerank: str) -> BenchmarkSystem:
    """The gated arm with one thing changed. A switch turns off what the arm has on, and on what it has off."""
    config = _read(race, rerank)
    beam = dict(config["legs"]["beam"])
    tree: dict[str, Any] = {}
    if name.startswith("select-"):
        config["context"] = dict(SELECTORS[name.removeprefix("select-")])
    elif name == "path-ema":
        beam["path"] = PATH if beam.get("path", 1.0) == 1.0 else 1.0
    elif name == "rerank-off":
        config["step"] = [step for step in config.get("step", []) if not _is_rerank(step)]
    elif name == "rerank-children":
        beam["rerank"] = "" if beam.get("rerank") else rerank
    elif name == "xlink-off":
        beam["hops"] = 0
    elif name == "diversity-mmr":
        beam["diversity"] = 0.0 if beam.get("diversity") else DIVERSITY
    elif name == "margin-4":
        beam |= {"expand": "margin", "most": 4, "prefilter": 0}
    elif name == "top-2":
        beam |= {"expand": "top", "most": 2, "prefilter": 3}
    elif name == "router-maxpool":
        beam["router"] = "maxpool" if beam.get("router", "nodes") == "nodes" else "nodes"
    elif name == "soft-assignment":
        tree = {"second_margin": SECOND_MARGIN}
    elif name == "summaries-generic":
        tree = {"summaries": "generic"}
    elif name == "tree-headings":
        tree = {"kind": "headings"}
    config["legs"] = {**config["legs"], "beam": beam}
    return BenchmarkSystem(name, ABLATIONS[name], config=_complete(config), tree=tree)


def _read(name: str, rerank: str) -> dict[str, Any]:
    """The config of a preset or baseline with the rerank stage of this run, the selector and the pool."""
    pipeline = load_system(name).pipeline if name in ("bm25", "dense", "hybrid") else load(name)
    assert pipeline is not None
    config = to_config(pipeline)
    config["k"] = POOL
    config["context"] = dict(SELECTORS["coverage"])
    config["step"] = [_rerank_step(rerank) if _is_rerank(step) else step for step in config.get("step", [])]
    beam = config["legs"].get("beam")
    if beam and beam.get("rerank"):
        config["legs"] = {**config["legs"], "beam": {**beam, "rerank": rerank}}
    return _complete(config)


def _complete(config: Mapping[str, Any]) -> dict[str, Any]:
    """The whole config, defaults spelt out; a wrong setting is an error here."""
    return to_config(from_dict(dict(config)))


def _is_rerank(step: Mapping[str, Any]) -> bool:
    return step["use"] in ("late_interaction", "cross_encoder")


def _rerank_step(rerank: str) -> dict[str, Any]:
    """The step of a stage by name: "late_interaction", or "cross_encoder:<folder, or name of an installed one>".

    The weights of a cross-encoder are pinned by their hash, so that the digest of a system covers them. One that is not
    there is a ModelError.
    """
    name, _, where = rerank.partition(":")
    if name == "late_interaction" and not where:
        return {"use": name, "pool": POOL}
    if name == "cross_encoder" and where:
        place = "path" if "/" in where else "model"
        step = {"use": name, place: where, "pool": POOL, "blend": "standard", "weight": RERANK_WEIGHT, "cache": True}
        encoder = CrossEncoder(where) if "/" in where else CrossEncoder(model=where)
        file = Path(encoder.folder) / "model.onnx"
        if not file.is_file():  # the step would go on without it, and the verdict would be that of another system
            raise ModelError(
                f"there is no cross-encoder for --rerank {rerank}: {file} is missing",
                "name a folder with model.onnx and tokenizer.json, or an installed one; assay-mini-ce is installed by "
                "`python -m benchmarks.train_reranker assemble --install`",
            )
        return {**step, "sha256": hash_file(file)}
    raise ConfigError(
        f"there is no rerank stage {rerank!r}", 'name "late_interaction" or "cross_encoder:<folder or name>"'
    )
