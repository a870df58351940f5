"""Runs every contender on every set and split: one receipt each, kept when nothing that decides it has changed."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load
from assay.bench.datasets.sample import sample
from assay.bench.metrics import score
from assay.bench.receipt import SCHEMA, compute_digest
from assay.bench.runner import Bench, RunPlan, collect_versions, count_contributions, describe_dataset
from assay.bench.systems import System
from assay.bench.types import Dataset
from assay.bench.workspace import prepare
from assay.config.preflight import preflight
from assay.util.atomic_files import write_text
from benchmarks.data import data_folder
from benchmarks.fusion.contenders import contenders, few
from benchmarks.fusion.files import format_receipt
from benchmarks.fusion.strata import EXACT, exact, paraphrase
from benchmarks.measure import RECEIPTS

OUT = RECEIPTS / "fusion"
HUMAN = (
    "hotpotqa",
    "multihoprag_facts",
    "squad2_mini",
    "cranfield",
    "nfcorpus",
    "scifact",
    "locomo",
    "locomo_sessions",
    "chunking_eval",
    "enron_berkeley",
    "longmemeval_mini",
)
MADE = (*(f"exact_{name}" for name in EXACT), "paraphrase_nfcorpus")
MOST = 350
"""Questions of one set and split."""
METRICS = ("nDCG@10", "RR@10", "R@100")


def load_dataset(name: str, split: str) -> Dataset:
    """A set by its name; of a large one a sample by strata, so that no set takes all the time."""
    if name.startswith("exact_"):
        return exact(name.removeprefix("exact_"), split)
    dataset = paraphrase(split) if name == "paraphrase_nfcorpus" else load(name, split)
    return sample(dataset, MOST) if len(dataset.scored) > MOST else dataset


def measure(dataset: Dataset, out: Path) -> None:
    path = out / f"{dataset.name}.{dataset.split.partition('~')[0]}.json"
    systems = few() if dataset.label == "synthetic" else contenders()
    with prepare(dataset) as workspace:
        inputs = {
            "dataset": describe_dataset(dataset),
            "index": workspace.describe(),
            "digests": {system.name: system.digest for system in systems},
        }
        if path.exists() and _fits(json.loads(path.read_text()), inputs):
            print(f"{path.name}: kept", flush=True)
            return
        bench = Bench(dataset, workspace, RunPlan(METRICS))
        start = time.perf_counter()
        results = {system.name: _measure_system(bench, system) for system in systems}
        seconds = round(time.perf_counter() - start, 1)
        strata = {name: places.tolist() for name, places in dataset.strata().items()}
        canonical = {"inputs": inputs, "strata": strata, "systems": results}
        measured = {"seconds": seconds, "versions": dict(collect_versions()), "notes": list(dataset.notes)}
        halves = {"canonical": canonical, "measured": measured}
        write_text(
            path, format_receipt({"schema": SCHEMA, "kind": "fusion", "digest": compute_digest(canonical), **halves})
        )
    print(f"{path.name}: {len(dataset.scored)} queries, {seconds} s", flush=True)


def _measure_system(bench: Bench, system: System) -> dict[str, Any]:
    """nDCG@10 of every query in ten-thousandths, means of all metrics, what each leg alone brought to the first ten."""
    results = bench.run(system)
    values = score(bench.plan.metrics, bench.dataset, results)
    result: dict[str, Any] = {
        "scores": np.rint(values["nDCG@10"] * 10_000).astype(int).tolist(),
        "means": {name: round(float(np.mean(column)), 6) for name, column in values.items()},
    }
    assert system.pipeline is not None
    if len(system.pipeline.legs) > 1:
        result["alone"] = {leg: found["alone"] for leg, found in sorted(count_contributions(results).items())}
        result["barred"] = [f.where for f in preflight(system.pipeline) if f.where.startswith("legs.")]
    return result


def _fits(receipt: dict[str, Any], inputs: dict[str, Any]) -> bool:
    """Nothing that decides the numbers has changed."""
    return receipt["canonical"]["inputs"] == inputs and receipt["measured"].get("versions") == collect_versions()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=(*HUMAN[:4], *MADE[:-1], *HUMAN[4:], MADE[-1]))
    parser.add_argument("--splits", nargs="+", default=("dev", "test"))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder())
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        for split in options.splits:
            measure(load_dataset(name, split), options.out)


if __name__ == "__main__":
    main()
