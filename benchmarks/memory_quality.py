"""What does each stage of the memory preset do for recall? LoCoMo by turn and by session, every stage left out once.

    python -m benchmarks.memory_quality                    # both sets; some minutes
    assay bench report receipts/memory --html report.html

The reranker is the local one (provider "local"), so no key and no network are needed. LoCoMo's questions have no
dates: they are asked when their conversation ends. Nothing is chosen here, so only test splits are run. The adversarial
ones have no answer in the corpus and are asked apart, as abstention.
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
from assay.bench.runner import RunPlan
from assay.bench.systems import System, of, system
from assay.bench.workspace import prepare
from assay.cli.progress import bars
from assay.config.load import from_dict, source
from benchmarks.data import data_folder
from benchmarks.measure import RECEIPTS

OUT = RECEIPTS / "memory"
SETS = ("locomo", "locomo_sessions")
METRICS = ("nDCG@10", "RR@10", "R@5", "R@10", "Success@1")


def preset() -> dict[str, Any]:
    """The memory preset as plain data, with the reranker that needs no key."""
    config = tomllib.loads(source("memory"))
    for step in config["step"]:
        if step["use"] == "provider_rerank":
            step["provider"] = "local"
    return config


def ablations() -> Iterator[System]:
    """The preset, and the preset without each of its stages; without `confirm_boost` means vectors alone."""
    whole = preset()
    yield of(from_dict(whole), "memory")
    alone = {key: value for key, value in whole.items() if key != "fuse"}
    yield of(from_dict({**alone, "legs": {"dense": whole["legs"]["dense"]}}), "memory-words")
    for step in whole["step"]:
        rest = [other for other in whole["step"] if other is not step]
        yield of(from_dict({**whole, "step": rest}), f"memory-{step.get('name', step['use'])}")
    bare = of(from_dict({**whole, "step": []}), "memory, fused only")
    yield bare


def measure(name: str, split: str, out: Path, timed: bool) -> None:
    dataset = load(name, split)
    chosen = [system(known) for known in ("random", "oracle", "bm25", "dense", "default", "learned")]
    with bars() as bar, prepare(dataset, progress=bar.step) as workspace:
        plan = RunPlan(METRICS, abstention=True)
        done = lab.run(dataset, [*chosen, *ablations()], workspace, plan, out=out, timed=timed, progress=bar.step)
    for known, receipt in sorted(done.receipts.items()):
        said = receipt.canonical
        silence = said.get("abstention", {})
        print(name, split, f"{said['aggregates']['all']['nDCG@10'] or 0:.4f}", known, said["why"], silence, flush=True)


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
