"""Runs the grid of the vector cascade over a bank; writes JSON, Markdown and the results page.

python tools/eval_hybrid.py --bank BANK.npz --val SEQ.npz --k0 100 200 500 1000 --lambda 0.6 0.7 0.8 --nprobe 8 16 \
    --k1 50 --k 10 --out artifacts/evals/hybrid_grid.json

Without --bank a bank with planted next vectors is built. Without --index or --model they are built next to the output.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import click

from assay.cascade.evaluation.evaluate import EvaluationJob, evaluate
from assay.cascade.evaluation.grid import Axes
from assay.cli.failures import report_error
from assay.cli.progress import progress_bars
from assay.cli.terminal import replace_unencodable
from assay.errors import AssayError


def main() -> int:
    replace_unencodable()
    parser = argparse.ArgumentParser(description="Evaluate the cascade on held-out next vectors.")
    parser.add_argument("--bank", type=Path, help="bank NPZ; without it a planted one is built")
    parser.add_argument("--val", type=Path, help="sequence NPZ; by default sequences.npz in the folder of the bank")
    parser.add_argument("--index", type=Path, help="index folder; by default built")
    parser.add_argument("--model", type=Path, help="next-vector model's folder; by default a ridge is trained")
    parser.add_argument("--pipeline", default="cascade", help="preset or TOML file")
    parser.add_argument("--k0", type=int, nargs="+", default=list(Axes().k0), help="candidates that FAISS returns")
    parser.add_argument(
        "--lambda",
        dest="weight",
        type=float,
        nargs="+",
        default=list(Axes().weight),
        help="weight of the model's score",
    )
    parser.add_argument("--nprobe", type=int, nargs="+", default=list(Axes().nprobe), help="lists that are probed")
    parser.add_argument("--k1", type=int, default=Axes().k1, help="candidates that the model keeps")
    parser.add_argument(
        "--k", type=int, nargs="+", default=[5, 10], help="the largest is answered; Hit@1/5/10 are read from it"
    )
    parser.add_argument("--queries", type=int, default=0, help="maximum number of held-out pairs, spread evenly")
    parser.add_argument("--name", default="", help="name of the bank in the report")
    parser.add_argument("--out", type=Path, default=Path("artifacts/evals/hybrid_grid.json"), help="JSON")
    options = parser.parse_args()
    try:
        axes = Axes(tuple(options.k0), tuple(options.weight), tuple(options.nprobe), options.k1, max(options.k))
        job = EvaluationJob(
            options.bank, options.val, options.index, options.model, options.pipeline, options.queries, options.name
        )
        with progress_bars() as bar:
            summary = evaluate(job, axes, options.out, bar.step)
        print(summary, flush=True)
    except KeyboardInterrupt:
        return report_error(click.Abort())
    except (AssayError, OSError) as error:
        return report_error(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
