"""The cascade at size: 637,000 × 768 vectors with planted next vectors, one thread, everything measured in one run.

python -m benchmarks.cascade                        makes its bank in a temporary folder: 6 GB of disk, some minutes
python -m benchmarks.cascade --size 65536           smaller
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SIZE, DIM = 637_000, 768
TIMED, ROUNDS = 300, 3
WINDOWS = 40_000
ASKED = 1_000
"""Held-out questions: enough that every domain has more than the thirty below which a lane is not measured."""

_OPENING = """
import sys, time, json
start = time.perf_counter()
import numpy, faiss
from assay.cascade.service import CascadeQuery, open_cascade
imported = time.perf_counter()
folder = sys.argv[1]
cascade = open_cascade(folder + "/bank.npz", folder + "/index", folder + "/lvm")
opened = time.perf_counter()
cascade.search(CascadeQuery(numpy.asarray(cascade.snapshot.bank.vectors[0]), 0))
print(json.dumps([opened - imported, time.perf_counter() - opened]))
"""
_ANSWERS = """
import sys, json, faiss
faiss.omp_set_num_threads(int(sys.argv[2]))
from pathlib import Path
from assay.cascade.service import open_cascade
from assay.cascade.bank.sequences import open_sequences
from assay.cascade.evaluation.questions import make_questions
folder = Path(sys.argv[1])
cascade = open_cascade(folder / "bank.npz", folder / "index", folder / "lvm")
questions = make_questions(cascade.snapshot, open_sequences(folder / "sequences.npz", cascade.snapshot.bank).val, 50)
print(json.dumps([cascade.search(question.request).digest for question in questions]))
"""


def child(code: str, *arguments: str, threads: str = "1") -> Any:
    env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def built(folder: Path, size: int, dim: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Bank, index and model in a folder, with the seconds each took."""
    from assay.cascade.bank.bank import open_bank
    from assay.cascade.bank.index_build import build_index
    from assay.cascade.bank.planted import PlantedSettings, plant_bank
    from assay.cascade.bank.sequences import open_sequences
    from assay.cascade.bank.train import train_model
    from benchmarks.measure import time_call

    say("planting")
    planting, bank = time_call(lambda: plant_bank(folder, PlantedSettings(size, dim, topics=500, val_share=0.02)))
    say("indexing")
    indexing, index = time_call(lambda: build_index(bank, folder / "index"))
    sequences = open_sequences(folder / "sequences.npz", bank)
    say("training")
    training, model = time_call(lambda: train_model(bank, sequences, folder / "lvm", context=4, most=WINDOWS))
    checking, _ = time_call(lambda: open_bank(folder / "bank.npz", verify=True))
    return {
        "vectors": len(bank),
        "dim": dim,
        "plant_s": round(planting, 1),
        "index_s": round(indexing, 1),
        "train_s": round(training, 1),
        "whole_check_s": round(checking, 1),
        "index": {key: index.manifest[key] for key in ("kind", "nlist", "recall")},
        "model": {"name": model.name, **model.manifest["training"]},
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def latency(folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """FAISS's own search and the whole cascade, in turns; of its rounds each question counts with its fastest."""
    import numpy as np

    from assay.cascade.bank.sequences import open_sequences
    from assay.cascade.evaluation.questions import make_questions
    from assay.cascade.service import open_cascade

    say("timing")
    cascade = open_cascade(folder / "bank.npz", folder / "index", folder / "lvm")
    snapshot, settings = cascade.snapshot, cascade.settings
    questions = make_questions(snapshot, open_sequences(folder / "sequences.npz", snapshot.bank).val, TIMED)
    faiss_index = snapshot.index._faiss
    parameters = snapshot.index._parameters(cascade.leg.nprobe, settings.k0)
    best = [{"faiss_own": np.inf, "total": np.inf, "scoring": np.inf} for _ in questions]
    for turn in range(ROUNDS):
        for place, question in enumerate(questions):
            for who in ("faiss", "cascade") if (turn + place) % 2 else ("cascade", "faiss"):
                start = time.perf_counter()
                if who == "faiss":
                    faiss_index.search(question.request.vector[None, :], settings.k0, params=parameters)
                    best[place]["faiss_own"] = min(best[place]["faiss_own"], (time.perf_counter() - start) * 1000.0)
                    continue
                answer = cascade.search(question.request, time.perf_counter)
                total = (time.perf_counter() - start) * 1000.0
                spans = {span.name: span.ms for span in answer.trace}
                scoring = spans["lvm"] + spans["tmd"]
                best[place]["scoring"] = min(best[place]["scoring"], scoring)
                if total < best[place]["total"]:
                    best[place].update(total=total, **{f"{name}_span": ms for name, ms in spans.items()})
    percentiles = {name: _percentiles([one[name] for one in best]) for name in best[0]}
    bound = 1.2 * percentiles["faiss_own"]["p95"] + 2.0
    return {
        "questions": len(questions),
        "rounds": ROUNDS,
        "ms": percentiles,
        "bound_ms": round(bound, 3),
        "total_p95_within_bound": percentiles["total"]["p95"] <= bound,
        "total_p95_below_30_ms": percentiles["total"]["p95"] < 30.0,
        "scoring_500_p95_below_1_ms": percentiles["scoring"]["p95"] < 1.0,
    }


def _percentiles(values: list[float]) -> dict[str, float]:
    import numpy as np

    p50, p95 = np.percentile(values, [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3)}


def quality(folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The recommended starting point against the next-vector model alone, and the rows every report has."""
    from assay.cascade.bank.sequences import open_sequences
    from assay.cascade.evaluation.grid import Axes, run_grid
    from assay.cascade.evaluation.report import goal_line, headline
    from assay.cascade.service import open_cascade

    say("evaluating")
    cascade = open_cascade(folder / "bank.npz", folder / "index", folder / "lvm")
    sequences = open_sequences(folder / "sequences.npz", cascade.snapshot.bank)
    grid = run_grid(cascade, sequences, Axes(k0=(500,), weight=(0.7,), nprobe=(16,)), name="planted", most=ASKED)
    (cell,), (alone,) = grid.cells, grid.alone
    assert cell.gate is not None
    return {
        "questions": len(cell.receipt.canonical["queries"]),
        "rows": grid.receipt.canonical["rows"],
        "lvm_only": alone.receipt.canonical["aggregates"]["all"],
        "cascade": cell.receipt.canonical["aggregates"]["all"],
        "gates": {
            one["name"]: one["verdict"] for half in (cell.gate.canonical, cell.gate.measured) for one in half["gates"]
        },
        "verdict": headline(grid),
        "goal": goal_line(grid),
        "doubts": grid.receipt.canonical["doubts"],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--receipt", default="cascade", help="its name under receipts/; empty writes none")
    parser.add_argument("--folder", type=Path, help="keep the bank here, and take it from here when it is there")
    args = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in _ONE):  # libraries read these when they load
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.cascade", *sys.argv[1:]], {**os.environ, **_ONE})
    from benchmarks.measure import write_receipt

    def say(what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        about = folder / "built.json"
        if not about.is_file():
            about.write_text(json.dumps(built(folder, args.size, args.dim, say)))
        opening = [child(_OPENING, str(folder)) for _ in range(3)]
        results = {
            "built": json.loads(about.read_text()),
            "open_s": round(min(one[0] for one in opening), 3),
            "first_search_s": round(min(one[1] for one in opening), 3),
            "latency": latency(folder, say),
            "quality": quality(folder, say),
        }
        say("comparing threads")
        answers = [child(_ANSWERS, str(folder), threads, threads=threads) for threads in ("1", "2", "2")]
        results["same_answers_across_runs_and_threads"] = answers[0] == answers[1] == answers[2]
        results["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(results, indent=1))
    if args.receipt:
        write_receipt(args.receipt, results)


if __name__ == "__main__":
    main()
