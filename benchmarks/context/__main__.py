"""Compares packers on real text with real gold.

The default pipeline ranks chunks of 40 to 90 tokens; every arm packs the same ranking. A, ER and EP at 200, 400 and 800
tokens (docs/metrics.md), and AIC where a set has answer strings; paired differences to the naive packer with bootstrap
intervals. Constants were chosen on the dev splits; test splits confirm, and each set is also measured with the variant
that is best on the dev splits of the others.

    python -m benchmarks.context              every set, then the summary
    python -m benchmarks.context qed hotpotqa these sets; the summary once all are measured
    python -m benchmarks.context signals      other sentence scores in the place of the packer's, on dev
    python -m benchmarks.context latency      the time of packing beside the search
"""

from __future__ import annotations

import json
import os
import sys

from assay.bench.evidence_sets import SETS
from assay.cli.progress import progress_bars
from benchmarks.context.latency import measure_latency
from benchmarks.context.measure_set import measure_set, summarise
from benchmarks.context.signals import measure_signals
from benchmarks.data import data_folder
from benchmarks.measure import RECEIPTS, write_receipt

FOLDER = "context"


def main(names: list[str]) -> None:
    os.environ["ASSAY_DATA"] = str(data_folder())
    (RECEIPTS / FOLDER).mkdir(parents=True, exist_ok=True)
    known = {chosen.name: chosen for chosen in SETS}
    others = {"signals": measure_signals, "latency": measure_latency}
    for name in names or [*known, *others]:
        with progress_bars() as bar:
            measured = others[name](bar.step) if name in others else measure_set(known[name], bar.step)
        print(write_receipt(f"{FOLDER}/{name}", measured))
    paths = {name: RECEIPTS / FOLDER / f"{name}.json" for name in known}
    if all(path.is_file() for path in paths.values()):
        sets = {name: json.loads(path.read_text("utf-8"))["measured"] for name, path in paths.items()}
        print(write_receipt(f"{FOLDER}/summary", summarise(sets)))


if __name__ == "__main__":
    main(sys.argv[1:])
