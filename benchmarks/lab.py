"""Writes the committed receipts of the lab: every recipe on every real set; dev splits choose, test splits confirm.

Receipts that fit the present code and data are reused, so an interrupted run continues.

    python -m benchmarks.lab                         # all sets, all recipes; about half an hour on two cores
    python -m benchmarks.lab --sets scifact --splits dev --systems default
    assay bench report receipts/lab --html report.html
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.runner import RunPlan
from assay.bench.systems import BASELINES, load_systems
from assay.bench.workspace import prepare
from assay.cli.progress import progress_bars
from benchmarks.data import data_folder
from benchmarks.measure import RECEIPTS

ROOT = RECEIPTS.parent
OUT = RECEIPTS / "lab"
SETS = ("scifact", "nfcorpus", "cranfield", "hotpotqa", "locomo", "k8s_changelog", "squad2_mini", "multihoprag_facts")
RANKED = ("nDCG@10", "RR@10", "R@10", "R@100", "Success@1")
IN_BUDGET = ("ER@400tok", "A@400tok")


def recipes() -> list[str]:
    """The baselines, the default and that of version 0.1, the learned ranker, and every file in benchmarks/recipes/."""
    return [
        *BASELINES,
        "default",
        "default-0.1",
        "learned",
        *sorted(str(path) for path in (ROOT / "benchmarks" / "recipes").glob("*.toml")),
    ]


def measure(name: str, split: str, systems: list[str], out: Path, timed: bool) -> None:
    dataset = load(name, split)
    marked = any(dataset.evidence.get(topic) for topic in dataset.scored)
    plan = RunPlan(RANKED + (IN_BUDGET if marked else ()))
    with progress_bars() as bar, prepare(dataset, progress=bar.step) as workspace:
        done = lab.run(dataset, load_systems(systems), workspace, plan, out=out, timed=timed, progress=bar.step)
    means = {n: r.canonical["aggregates"]["all"]["nDCG@10"] for n, r in done.receipts.items()}
    for system, value in sorted(means.items(), key=lambda item: (-item[1], item[0])):
        print(f"{name} {split} {value:.4f} {system}{' (reused)' if system in done.reused else ''}", flush=True)
    for system, finding in done.broken:
        print(f"{name} {split} BROKEN {system}: {finding.text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", nargs="+", default=("dev", "test"))
    parser.add_argument("--systems", nargs="+", help="only these presets, baselines or files; otherwise all")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--no-timing", action="store_true")
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder())
    for name in options.sets:
        for split in options.splits:
            measure(name, split, options.systems or recipes(), options.out, not options.no_timing)


if __name__ == "__main__":
    main()
