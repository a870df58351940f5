"""Runs parts of the measurement; see the package's text."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.cluster_growth.parts import GrowthPart
from benchmarks.cluster_growth.receipt import write_growth

HOME = Path("artifacts/cluster_growth")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_growth")
    steps = ["build", "query", "measure", "remove", "fit"]
    parser.add_argument("step", choices=steps, help="measure: build and query")
    parser.add_argument("names", nargs="*", metavar="PART", help="KIND-SIZE-NODES, e.g. hnsw-300k-3")
    parser.add_argument("--home", type=Path, default=HOME, help=f"where results wait for `fit` ({HOME})")
    options = parser.parse_args()
    if options.step == "fit":
        print(f"wrote {write_growth(options.home)}")
        return
    for name in options.names:
        part = GrowthPart(name, options.home)
        for step in ("build", "query") if options.step == "measure" else (options.step,):
            getattr(part, step)()
            print(name, step, part.facts.get(step), flush=True)


if __name__ == "__main__":
    main()
