"""Measures what each stage of the memory preset contributes: LoCoMo by turn and by session, each stage left out once.

    python -m benchmarks.memory_quality                    # both sets; some minutes
    assay bench report receipts/memory --html report.html

The reranker is the local one (provider "local"), so no key and no network are needed. LoCoMo's questions have no
dates: they run as of the end of their conversation. Nothing is chosen here, so only test splits run. The adversarial
ones have no answer in the corpus and measure abstention.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterator
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
SETS = ("locomo", "locomo_sessions")
METRICS = ("nDCG@10", "RR@10", "R@5", "R@10", "Success@1")


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


def measure(name: str, split: str, out: Path, timed: bool) -> None:
    dataset = load(name, split)
    chosen = [load_system(known) for known in ("random", "oracle", "bm25", "dense", "default", "learned")]
    with progress_bars() as bar, prepare(dataset, progress=bar.step) as workspace:
        plan = RunPlan(METRICS, abstention=True)
        done = lab.run(dataset, [*chosen, *ablations()], workspace, plan, out=out, timed=timed, progress=bar.step)
    for known, receipt in sorted(done.receipts.items()):
        canonical = receipt.canonical
        abstention = canonical.get("abstention", {})
        mean = canonical["aggregates"]["all"]["nDCG@10"] or 0
        print(name, split, f"{mean:.4f}", known, why(receipt), abstention, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", nargs="+", default=("test@end",))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--no-timing", action="store_true")
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder())
    for name in options.sets:
        for split in options.splits:
            measure(name, split, options.out, not options.no_timing)


if __name__ == "__main__":
    main()
