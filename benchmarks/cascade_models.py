"""Compares next-vector models (ridge by rank, ridge by cosine, recurrent) on real ordered text and on a planted bank.

python -m benchmarks.cascade_models         writes receipts/cascade_models.json (needs ASSAY_DATA, the model, torch)

Each is measured alone: the first of 500 candidates by cos(l2(x + Δ̂), ·), λ = 1, on every held-out question. "stay" is
Δ̂ = 0.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.metrics import mean
from assay.bench.systems import make_system
from assay.cascade.bank.bank import Bank, open_bank
from assay.cascade.bank.index_build import build_index
from assay.cascade.bank.planted import plant_bank
from assay.cascade.bank.sequences import Sequences, open_sequences
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.bank.train import iter_windows, split_held_out, train_model
from assay.cascade.evaluation.questions import make_questions
from assay.cascade.evaluation.runs import run_systems, score_ranks
from assay.cascade.lvm.model import NextVectorModel
from assay.cascade.lvm.rank import last_windows, reciprocal_rank
from assay.cascade.lvm.ridge import ALPHAS, Ridge, fit_ridge, save_ridge
from assay.cascade.service import CascadeSettings, make_cascade
from benchmarks.cascade_grids import MOST, real_bank
from benchmarks.measure import time_call, write_receipt

CONTEXT = 8
ALONE = CascadeSettings(k0=500, k1=50, k=10, weight=1.0)
Trained = Callable[[Bank, Sequences, Path], NextVectorModel]


def stay(bank: Bank, _: Sequences, folder: Path) -> NextVectorModel:
    return save_ridge(folder, Ridge(np.zeros((bank.dim, 2 * bank.dim), np.float32), 0.5), CONTEXT, {"training": {}})


def ridge(bank: Bank, sequences: Sequences, folder: Path) -> NextVectorModel:
    return train_model(bank, sequences, folder, context=CONTEXT)


def ridge_by_cosine(bank: Bank, sequences: Sequences, folder: Path) -> NextVectorModel:
    """The α of the best cosine instead of the best rank."""
    training, held_out = split_held_out(sequences.train)
    decisive = last_windows(iter_windows(bank, held_out, CONTEXT))
    fitted = [fit_ridge(iter_windows(bank, training, CONTEXT), [decisive], alphas=(alpha,))[0] for alpha in ALPHAS]
    scores = [reciprocal_rank(decisive, one.steps(decisive.current, decisive.context)) for one in fitted]
    best = max(range(len(fitted)), key=lambda place: scores[place][1])
    curve = {f"{alpha:g}": cosine for alpha, (_, cosine) in zip(ALPHAS, scores, strict=True)}
    return save_ridge(folder, fitted[best], CONTEXT, {"training": {"cosine_by_alpha": curve}})


def recurrent(bank: Bank, sequences: Sequences, folder: Path) -> NextVectorModel:
    return train_model(bank, sequences, folder, "recurrent", context=CONTEXT)


MODELS: dict[str, Trained] = {
    "stay": stay,
    "ridge": ridge,
    "ridge by cosine": ridge_by_cosine,
    "recurrent": recurrent,
}


def measured(folder: Path) -> dict[str, Any]:
    """Every model on one bank: seconds to train, what it reached, the milliseconds of its stage."""
    bank = open_bank(folder / "bank.npz")
    sequences = open_sequences(folder / "sequences.npz", bank)
    index = build_index(bank, folder / "index")
    results: dict[str, Any] = {"vectors": len(bank), "dim": bank.dim, "windows": len(sequences.train)}
    for name, train in MODELS.items():
        seconds, model = time_call(lambda one=train, to=folder / name: one(bank, sequences, to))
        snapshot = BankSnapshot(bank, index, model)
        questions = make_questions(snapshot, sequences.val)
        (run,) = run_systems([make_system(make_cascade(snapshot).pipeline(ALONE))], snapshot, questions)
        scores = {metric: mean(column) for metric, column in sorted(score_ranks(run.ranks).items())}
        curves = {key: value for key, value in model.manifest["training"].items() if "_by_" in key}
        results[name] = {"train_s": round(seconds, 1), **scores, "lvm_p50_ms": run.percentile("lvm", 50), **curves}
        results["questions"] = len(questions)
        print(folder.name, name, results[name], file=sys.stderr, flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=MOST, help="documents of each source")
    parser.add_argument("--receipt", default="cascade_models", help="its name under receipts/; empty writes none")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        real, planted = Path(scratch) / "real", Path(scratch) / "planted"
        real_bank(real, args.most)
        plant_bank(planted)
        results = {"real": measured(real), "planted": measured(planted)}
    if args.receipt:
        write_receipt(args.receipt, results)


if __name__ == "__main__":
    main()
