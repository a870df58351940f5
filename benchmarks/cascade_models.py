"""Which next-vector model? Ridge by rank, ridge by cosine, recurrent: on real ordered text and on a planted bank.

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
from assay.bench.systems import of
from assay.cascade.bank.bank import Bank, open_bank
from assay.cascade.bank.index_build import build_index
from assay.cascade.bank.planted import plant
from assay.cascade.bank.sequences import Sequences, open_sequences
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.bank.train import divided, train
from assay.cascade.bank.windows import windows
from assay.cascade.evaluation.questions import questions
from assay.cascade.evaluation.runs import answered, columns
from assay.cascade.lvm.model import NextVector
from assay.cascade.lvm.rank import deciding, reciprocal_rank
from assay.cascade.lvm.ridge import ALPHAS, Ridge, fit, save_ridge
from assay.cascade.service import CascadeSettings, cascade
from benchmarks.cascade_grids import MOST, real_bank
from benchmarks.measure import timed, write_receipt

CONTEXT = 8
ALONE = CascadeSettings(k0=500, k1=50, k=10, weight=1.0)
Trained = Callable[[Bank, Sequences, Path], NextVector]


def stay(bank: Bank, _: Sequences, folder: Path) -> NextVector:
    return save_ridge(folder, Ridge(np.zeros((bank.dim, 2 * bank.dim), np.float32), 0.5), CONTEXT, {"training": {}})


def ridge(bank: Bank, sequences: Sequences, folder: Path) -> NextVector:
    return train(bank, sequences, folder, context=CONTEXT)


def ridge_by_cosine(bank: Bank, sequences: Sequences, folder: Path) -> NextVector:
    """The α of the best cosine instead of the best rank."""
    learned, held = divided(sequences.train)
    some = deciding(windows(bank, held, CONTEXT))
    made = [fit(windows(bank, learned, CONTEXT), [some], alphas=(alpha,))[0] for alpha in ALPHAS]
    reached = [reciprocal_rank(some, one.steps(some.current, some.context)) for one in made]
    best = max(range(len(made)), key=lambda place: reached[place][1])
    curve = {f"{alpha:g}": cosine for alpha, (_, cosine) in zip(ALPHAS, reached, strict=True)}
    return save_ridge(folder, made[best], CONTEXT, {"training": {"cosine_by_alpha": curve}})


def recurrent(bank: Bank, sequences: Sequences, folder: Path) -> NextVector:
    return train(bank, sequences, folder, "recurrent", context=CONTEXT)


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
    found: dict[str, Any] = {"vectors": len(bank), "dim": bank.dim, "windows": len(sequences.train)}
    for name, trained in MODELS.items():
        seconds, model = timed(lambda one=trained, to=folder / name: one(bank, sequences, to))
        snapshot = BankSnapshot(bank, index, model)
        asked = questions(snapshot, sequences.val)
        (run,) = answered([of(cascade(snapshot).pipeline(ALONE))], snapshot, asked)
        scores = {metric: mean(column) for metric, column in sorted(columns(run.ranks).items())}
        said = {key: value for key, value in model.manifest["training"].items() if "_by_" in key}
        found[name] = {"train_s": round(seconds, 1), **scores, "lvm_p50_ms": run.percentile("lvm", 50), **said}
        found["questions"] = len(asked)
        print(folder.name, name, found[name], file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=MOST, help="documents of each source")
    parser.add_argument("--receipt", default="cascade_models", help="its name under receipts/; empty writes none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as aside:
        real, planted = Path(aside) / "real", Path(aside) / "planted"
        real_bank(real, given.most)
        plant(planted)
        found = {"real": measured(real), "planted": measured(planted)}
    if given.receipt:
        write_receipt(given.receipt, found)


if __name__ == "__main__":
    main()
