"""The grid of the cascade over somebody's bank; writes JSON, Markdown and the results page beside each other.

python tools/eval_hybrid.py --bank BANK.npz --val SEQ.npz --k0 100 200 500 1000 --lambda 0.6 0.7 0.8 --nprobe 8 16 \
    --k1 50 --k 10 --out artifacts/evals/hybrid_grid.json

Without --bank a bank with planted next vectors is made. Without --index or --model they are made beside the output.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import click

from assay.cascade.evaluation.evaluate import EvaluationJob, evaluate
from assay.cascade.evaluation.grid import Axes
from assay.cli.failures import tell
from assay.cli.progress import bars
from assay.cli.terminal import show_anything
from assay.errors import AssayError


def main() -> int:
    show_anything()
    parser = argparse.ArgumentParser(description="Evaluate the cascade on held-out next vectors.")
    parser.add_argument("--bank", type=Path, help="bank NPZ; without it a planted one is made")
    parser.add_argument("--val", type=Path, help="sequence NPZ; by default sequences.npz beside the bank")
    parser.add_argument("--index", type=Path, help="index folder; by default built")
    parser.add_argument("--model", type=Path, help="next-vector model's folder; by default a ridge is trained")
    parser.add_argument("--pipeline", default="cascade", help="preset or TOML file")
    parser.add_argument("--k0", type=int, nargs="+", default=list(Axes().k0), help="candidates that FAISS names")
    parser.add_argument(
        "--lambda",
        dest="weight",
        type=float,
        nargs="+",
        default=list(Axes().weight),
        help="weight of the model's score",
    )
    parser.add_argument("--nprobe", type=int, nargs="+", default=list(Axes().nprobe), help="lists looked into")
    parser.add_argument("--k1", type=int, default=Axes().k1, help="candidates that the model keeps")
    parser.add_argument(
        "--k", type=int, nargs="+", default=[5, 10], help="the largest is answered; Hit@1/5/10 are read from it"
    )
    parser.add_argument("--queries", type=int, default=0, help="at most so many held-out pairs, spread over all")
    parser.add_argument("--name", default="", help="how the report calls the bank")
    parser.add_argument("--out", type=Path, default=Path("artifacts/evals/hybrid_grid.json"), help="JSON")
    given = parser.parse_args()
    try:
        axes = Axes(tuple(given.k0), tuple(given.weight), tuple(given.nprobe), given.k1, max(given.k))
        job = EvaluationJob(given.bank, given.val, given.index, given.model, given.pipeline, given.queries, given.name)
        with bars() as bar:
            said = evaluate(job, axes, given.out, bar.step)
        print(said, flush=True)
    except KeyboardInterrupt:
        return tell(click.Abort())
    except (AssayError, OSError) as error:
        return tell(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
