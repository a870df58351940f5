"""Measures the best pipeline of this project on samples of sets: gte-small, `default`, a cross-encoder.

    python -m benchmarks.rerank_pipeline --sets cranfield,squad2_mini --out scores/    quality, set by set; resumable
    python -m benchmarks.rerank_pipeline --sets cranfield,squad2_mini --out scores/ --time cranfield    also the times

The base is `default-0.1` on the store of minilm. The settings of the cross-encoder are those of docs/rerankers.md with
a smaller pool, so nothing is chosen here; the stronger one has the weight that was best on dev splits in
docs/decisions/0048, and a pool of 20. `own weights` is the ranker with the weights that `ranker_left_out` fitted for
gte-small on the other sets (receipt `ranker_encoders`): of five features, as `default` has them, or of all. Timings
include the embedding of the query; contenders take turns.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load
from assay.bench.stats import compare_pair
from assay.bench.workspace import IndexSettings, prepare
from assay.config.load import from_dict, read_toml
from assay.engine.pipeline import Pipeline
from benchmarks.measure import RECEIPTS, time_in_turns, write_receipt
from benchmarks.ranker_left_out import run_pipeline

SPLIT = "test~100"
BASE = "default-0.1"
CROSS_ENCODER = """
[[step]]
use = "cross_encoder"
model = "assay-mini-ce"
blend = "standard"
weight = 0.5
pool = 10
max_tokens = 160
"""
STRONGER = CROSS_ENCODER.replace("weight = 0.5", "weight = 1.0").replace("pool = 10", "pool = 20")
STEPS = {"": "", "+": CROSS_ENCODER, "*": STRONGER}
WEIGHTS = "ranker_encoders"
ROWS = {"five": "five features elsewhere", "all": "all features elsewhere"}
SYSTEMS: Mapping[str, tuple[str, str]] = {
    BASE: ("minilm", BASE),
    "default": ("minilm", "default"),
    "gte-small default-0.1": ("gte-small", BASE),
    "gte-small default": ("gte-small", "default"),
    "gte-small default + cross-encoder": ("gte-small", "default+"),
    "gte-small own weights": ("gte-small", "five"),
    "gte-small own weights, all features": ("gte-small", "all"),
    "gte-small own weights + cross-encoder": ("gte-small", "five+"),
    "gte-small own weights + stronger cross-encoder": ("gte-small", "five*"),
    "gte-small own weights, all features + stronger cross-encoder": ("gte-small", "all*"),
}
QUERIES, ROUNDS = 40, 3


def load_pipeline(name: str, source: str, cache: bool = False) -> Pipeline:
    """A preset, or `default` with the weights of a row of `ROWS`, which were fitted on sets other than `source`.

    "+" or "*" at the end of a name adds a cross-encoder. With `cache` it scores a pair of texts once.
    """
    base, more = (name[:-1], name[-1]) if name[-1] in STEPS else (name, "")
    config = tomllib.loads(read_toml("default" if base in ROWS else base) + STEPS[more])
    if base in ROWS:
        fitted = json.loads((RECEIPTS / f"{WEIGHTS}.json").read_text("utf-8"))["measured"]["gte-small"]["weights"]
        step = next(step for step in config["step"] if step["use"] == "learned")
        step["weights"] = {feature: weight for feature, weight in fitted[source][ROWS[base]].items() if weight}
    if more:
        config["step"][-1]["cache"] = cache
    return from_dict(config, name)


def measure_set(source: str) -> dict[str, list[float]]:
    """nDCG@10 of every system on every question of the sample."""
    dataset = load(source, SPLIT)
    scores: dict[str, list[float]] = {}
    for encoder in ("minilm", "gte-small"):
        with prepare(dataset, IndexSettings(encoder)) as workspace:
            for name, (needed, preset) in SYSTEMS.items():
                if needed == encoder:
                    pipeline = load_pipeline(preset, source, cache=True)
                    scores[name] = [run_pipeline(pipeline, workspace, dataset, topic) for topic in dataset.scored]
    return scores


def measure_times(source: str) -> dict[str, dict[str, float]]:
    """Latency of every system on questions of a set, with the embedding of the query."""
    dataset = load(source, SPLIT)
    topics = [dataset.topics[name] for name in dataset.scored][:QUERIES]
    workspaces = {encoder: prepare(dataset, IndexSettings(encoder)) for encoder in ("minilm", "gte-small")}
    contenders: dict[str, Callable[[int], Any]] = {}
    for name, (encoder, preset) in SYSTEMS.items():
        workspace, pipeline = workspaces[encoder], load_pipeline(preset, source)
        embedder = workspace.kb.embedder
        assert embedder is not None
        contenders[name] = lambda i, workspace=workspace, pipeline=pipeline, embedder=embedder: pipeline.run(  # type: ignore[misc]
            workspace.query(topics[i], with_vector=False), workspace.snapshot, embedder.encode_query
        )
    times = time_in_turns(contenders, len(topics), ROUNDS)
    for workspace in workspaces.values():
        workspace.close()
    return times


def summarise(found: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any]:
    """Means by set, and the differences to the base over sets."""
    sets = sorted(found)
    means = {name: np.array([float(np.mean(found[one][name])) for one in sets]) for name in SYSTEMS}
    return {
        "sets": {one: len(found[one][BASE]) for one in sets},
        "test": {name: dict(zip(sets, row.round(4).tolist(), strict=True)) for name, row in means.items()},
        "mean": {name: round(float(row.mean()), 4) for name, row in means.items()},
        f"over {BASE}": {name: compare_pair(means[BASE], row).to_dict() for name, row in means.items() if name != BASE},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", required=True, help="names, with commas")
    parser.add_argument("--out", type=Path, required=True, help="the scores of a set are kept here; a run continues")
    parser.add_argument("--receipt", default="rerank_pipeline", help="its name under receipts/")
    parser.add_argument("--time", metavar="SET", help="measure times on this set; run it on an idle machine")
    arguments = parser.parse_args()
    found = {}
    for source in arguments.sets.split(","):
        path = arguments.out / f"{source}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(measure_set(source)), "utf-8")
        found[source] = json.loads(path.read_text("utf-8"))
        print(source, {name: round(float(np.mean(row)), 4) for name, row in found[source].items()}, flush=True)
    measured: dict[str, Any] = {"split": SPLIT, **summarise(found)}
    if arguments.time:
        measured["times"] = {"set": arguments.time, "ms": measure_times(arguments.time)}
    write_receipt(arguments.receipt, measured)


if __name__ == "__main__":
    main()
