"""Measures recall: the preset `recall` beside every other, and what each stage of `recall` and `memory` contributes.

    python -m benchmarks.memory_quality                    # every set, confirming splits
    python -m benchmarks.memory_quality --splits dev       # the splits on which `recall` was chosen
    assay bench report receipts/memory --html report.html

The reranker is the local one (provider "local"), so no key and no network are needed. LoCoMo's questions have no
dates, nor have those of BEAM: they run as of the end of their conversation. The adversarial ones have no answer in the
corpus and measure abstention. The questions of changing_facts are dated. Every question is answered from its own scope
(a conversation, a chat, the memories of one half), as the memory service answers: nothing outside it changes a score.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.messages import why
from assay.bench.runner import RunPlan
from assay.bench.systems import System, load_system, make_system
from assay.bench.workspace import prepare
from assay.cli.progress import progress_bars
from assay.config.load import from_dict, read_toml
from benchmarks.data import data_folder
from benchmarks.measure import RECEIPTS

OUT = RECEIPTS / "memory"
SETS = ("locomo", "locomo_sessions", "beam", "changing_facts")
DATED = "changing_facts"
"""Its questions have dates of their own."""
PRESETS = ("random", "oracle", "bm25", "dense", "default", "learned", "recall")
METRICS = ("nDCG@10", "RR@10", "R@5", "R@10", "Success@1", "Success@5")


def preset() -> dict[str, Any]:
    """The memory preset as plain data, with the reranker that needs no key."""
    config = tomllib.loads(read_toml("memory"))
    for step in config["step"]:
        if step["use"] == "provider_rerank":
            step["provider"] = "local"
    return config


def ablations() -> Iterator[System]:
    """The preset, and the preset without each of its stages; without `confirm_boost` means vectors alone."""
    whole = preset()
    yield make_system(from_dict(whole), "memory")
    alone = {key: value for key, value in whole.items() if key != "fuse"}
    yield make_system(from_dict({**alone, "legs": {"dense": whole["legs"]["dense"]}}), "memory-words")
    for step in whole["step"]:
        rest = [other for other in whole["step"] if other is not step]
        yield make_system(from_dict({**whole, "step": rest}), f"memory-{step.get('name', step['use'])}")
    bare = make_system(from_dict({**whole, "step": []}), "memory, fused only")
    yield bare


def recall_ablations() -> Iterator[System]:
    """The preset `recall` without each of its last three steps."""
    whole = tomllib.loads(read_toml("recall"))
    for use in ("speaker", "period", "currency"):
        rest = [step for step in whole["step"] if step["use"] != use]
        yield make_system(from_dict({**whole, "step": rest}), f"recall-{use}")


def choose_systems(names: Sequence[str]) -> list[System]:
    """The systems of these names: presets, and ablations of `recall` and `memory`."""
    made = {system.name: system for system in (*recall_ablations(), *ablations())}
    return [made.get(name) or load_system(name) for name in names or (*PRESETS, *made)]


def measure(name: str, split: str, systems: Sequence[str], out: Path, timed: bool) -> None:
    dataset = load(name, split if name == DATED else f"{split}@end")
    with progress_bars() as bar, prepare(dataset, progress=bar.step) as workspace:
        plan = RunPlan(METRICS, abstention=True, scoped=True)
        done = lab.run(dataset, choose_systems(systems), workspace, plan, out=out, timed=timed, progress=bar.step)
    for known, receipt in sorted(done.receipts.items()):
        canonical = receipt.canonical
        abstention = canonical.get("abstention", {})
        mean = canonical["aggregates"]["all"]["nDCG@10"] or 0
        print(name, split, f"{mean:.4f}", known, why(receipt), abstention, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", nargs="+", default=("test",))
    parser.add_argument("--systems", nargs="+", default=(), help="their names; default: all")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--no-timing", action="store_true")
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder())
    for name in options.sets:
        for split in options.splits:
            measure(name, split, options.systems, options.out, not options.no_timing)


if __name__ == "__main__":
    main()
