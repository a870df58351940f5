"""Runs the contenders; one receipt for each set and split, taken as it is when nothing that decides it has changed."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load
from assay.bench.datasets.sample import sample
from assay.bench.metrics import score
from assay.bench.receipt import digest_of
from assay.bench.runner import Bench, RunPlan, describe, legs, versions
from assay.bench.systems import System
from assay.bench.types import Dataset
from assay.bench.workspace import prepare
from assay.config.preflight import preflight
from assay.util.atomic import write_text
from benchmarks.data import data_folder
from benchmarks.fusion.contenders import contenders, few
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


def dataset(name: str, split: str) -> Dataset:
    """A set by its name; of a large one a sample by strata, so that no set takes all the time."""
    if name.startswith("exact_"):
        return exact(name.removeprefix("exact_"), split)
    found = paraphrase(split) if name == "paraphrase_nfcorpus" else load(name, split)
    return sample(found, MOST) if len(found.scored) > MOST else found


def measure(found: Dataset, out: Path) -> None:
    path = out / f"{found.name}.{found.split.partition('~')[0]}.json"
    systems = few() if found.label == "synthetic" else contenders()
    with prepare(found) as workspace:
        inputs = {
            "dataset": describe(found),
            "index": workspace.describe(),
            "versions": dict(versions()),
            "digests": {system.name: system.digest for system in systems},
        }
        if path.exists() and json.loads(path.read_text())["canonical"]["inputs"] == inputs:
            print(f"{path.name}: kept", flush=True)
            return
        bench = Bench(found, workspace, RunPlan(METRICS))
        start = time.perf_counter()
        results = {system.name: _measured(bench, system) for system in systems}
        took = round(time.perf_counter() - start, 1)
        strata = {name: places.tolist() for name, places in found.strata().items()}
        said = {"inputs": inputs, "strata": strata, "systems": results}
        whole = {"kind": "fusion", "digest": digest_of(said), "canonical": said, "measured": {"seconds": took}}
        write_text(path, "\n".join(_lines(whole)) + "\n")
    print(f"{path.name}: {len(found.scored)} queries, {took} s", flush=True)


def _measured(bench: Bench, system: System) -> dict[str, Any]:
    """nDCG@10 of every query in ten-thousandths, means of all metrics, what each leg alone brought to the first ten."""
    results = bench.run(system)
    values = score(bench.plan.metrics, bench.dataset, results)
    made: dict[str, Any] = {
        "scores": np.rint(values["nDCG@10"] * 10_000).astype(int).tolist(),
        "means": {name: round(float(np.mean(column)), 6) for name, column in values.items()},
    }
    assert system.pipeline is not None
    if len(system.pipeline.legs) > 1:
        made["alone"] = {leg: found["alone"] for leg, found in sorted(legs(results).items())}
        made["barred"] = [f.where for f in preflight(system.pipeline) if f.where.startswith("legs.")]
    return made


def _lines(whole: dict[str, Any]) -> Iterator[str]:
    """JSON with a line per system, so that a change shows as one."""
    said = whole["canonical"]
    yield f'{{"kind": "fusion", "digest": "{whole["digest"]}", "measured": {json.dumps(whole["measured"])},'
    yield f' "canonical": {{"inputs": {json.dumps(said["inputs"])},'
    yield f' "strata": {json.dumps(said["strata"])}, "systems": {{'
    rows = [f" {json.dumps(name)}: {json.dumps(one)}" for name, one in said["systems"].items()]
    yield ",\n".join(rows)
    yield "}}}"


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
            measure(dataset(name, split), options.out)


if __name__ == "__main__":
    main()
