"""Trains rerankers of our own from all-MiniLM-L6-v2 and judges them: a cross-encoder, and late interaction.

    python -m benchmarks.train_reranker data                    # sample questions, states, mined negatives
    python -m benchmarks.train_reranker train cross --run ce    # resumes when it was interrupted
    python -m benchmarks.train_reranker train late --run late --steps 200
    python -m benchmarks.train_reranker export --run ce         # keeps the trained part in benchmarks/reranker/weights
    python -m benchmarks.train_reranker assemble --install      # the model from that and the installed minilm
    python -m benchmarks.train_reranker judge --cross ce --late late       # writes receipts/reranker.json, or --receipt
    python -m benchmarks.train_reranker check --run ce --model FOLDER      # the int8 folder against the run
    python -m benchmarks.train_reranker speed --model FOLDER               # adds pairs per second to the receipt

Everything is kept in --work and may be interrupted at any time; run the same command again. Training pairs are one
gzip file per source in --train ({"q", "pos", "neg"} per line); lab sets come from ASSAY_DATA. Lists of lab sets are
mined, but `train` uses only those of --lab-sets, none by default: such a model has seen nothing of any set it is judged
on. Needs torch (the extra `lvm`), `onnx` and `tokenizers`; bf16 is on unless --no-bf16 is given.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from assay.embed.cache_home import cache_home
from assay.embed.installed_models import models_folder
from assay.embed.shipped_models import SHIPPED
from assay.embed.weights import fetch_weights, read_safetensors
from assay.errors import AssayError, MissingExtra
from benchmarks.measure import RECEIPTS
from benchmarks.reranker.assembly import WEIGHTS
from benchmarks.reranker.candidates import SETS, collect
from benchmarks.reranker.corpus import build_corpus, compute_states
from benchmarks.reranker.export import NAME
from benchmarks.reranker.mining import mine_lists
from benchmarks.reranker.sources import LAB_SETS, SOURCES, TrainingError


def report(text: str) -> None:
    print(text, flush=True)


def _receipt(options: argparse.Namespace) -> Path:
    return RECEIPTS / f"{options.receipt}.json"


def load_weights(options: argparse.Namespace) -> dict[str, Any]:
    """The encoder's weights, fetched once and kept in the work folder."""
    kept = options.work / "model.safetensors"
    if not kept.exists():
        options.work.mkdir(parents=True, exist_ok=True)
        raw = fetch_weights(SHIPPED["minilm"], options.weights).raw
        kept.write_bytes(raw)
    return read_safetensors(fetch_weights(SHIPPED["minilm"], str(kept)).raw)


def make_data(options: argparse.Namespace) -> None:
    corpus = build_corpus(
        options.train, options.work, options.seed, options.share, options.sources, options.lab_sets, options.joined
    )
    report(f"{len(corpus.questions)} questions, {corpus.passages} passages")
    from benchmarks.reranker.encoder import FrozenEncoder  # needs torch; a missing source is reported without

    encode = partial(FrozenEncoder(load_weights(options)).states, bf16=options.bf16)
    states = compute_states(corpus, options.work, encode, report)
    lists = mine_lists(corpus, states.vectors(), options.work, report)
    report(f"{len(lists)} lists")


def train(options: argparse.Namespace) -> None:
    from benchmarks.reranker import arms

    arms.train(
        options.arm, options.work, options.run, arms.plan_of(options), options.lab_sets, load_weights(options), report
    )


def export(options: argparse.Namespace) -> None:
    from benchmarks.reranker import arms

    about = arms.export_cross(options.work, options.run, options.to, load_weights(options))
    report(json.dumps({name: about[name] for name in ("calibration", "sha256", "model_sha256")}, indent=1))


def assemble(options: argparse.Namespace) -> None:
    from benchmarks.reranker import assembly

    target = models_folder() / NAME if options.install else options.to
    if target is None:
        raise TrainingError("assemble has no target", "give --to FOLDER or --install")
    files = assembly.assemble(target, options.trained)
    report(f"{target}: {files['model.onnx']['bytes']:,} bytes, sha256 {files['model.onnx']['sha256'][:12]}")


def judge(options: argparse.Namespace) -> None:
    from benchmarks.reranker import arms

    folder = options.work / "judge"
    for name in options.sets:
        for split in (options.dev, options.test):
            collect(folder, name, split, report)
    measured = arms.judge(options.work, folder, options, load_weights(options), report)
    arms.update_receipt(_receipt(options), measured)
    for system, result in measured["results"].items():
        report(f"{system:28} weight {result['weight']} test {result['test']['mean']:.4f}")


def speed(options: argparse.Namespace) -> None:
    from benchmarks.reranker.speed import measure_speed, measure_training, update_speed

    training = measure_training(load_weights(options))
    update_speed(_receipt(options), measure_speed(str(options.model)), training)


def check(options: argparse.Namespace) -> None:
    """Compare the int8 folder with the run it was exported from, on judged sets; add it to the receipt."""
    from assay.rerank.pair_reader import PairReader
    from benchmarks.reranker.judging import check_export
    from benchmarks.reranker.speed import MAX_TOKENS

    receipt = _receipt(options)
    content = json.loads(receipt.read_text("utf-8"))
    weight = content["measured"]["results"][f"learned + {options.run}"]["weight"]
    reader = PairReader(str(options.model), "", MAX_TOKENS)
    folder, split = options.work / "judge", options.split
    found = [check_export(folder, name, split, options.run, weight, reader.logits) for name in options.sets]
    about = json.loads((options.model / "about.json").read_text("utf-8"))
    content["measured"]["export"] = {"run": options.run, "files": about["files"], "agreement": found}
    receipt.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    report(json.dumps(found))


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=cache_home() / "reranker", help="where everything is kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", help="source of the encoder's weights, as `assay model install` takes it")
    parser.add_argument("--receipt", default="reranker", help="the receipt that judge, check and speed write")
    parser.add_argument("--no-bf16", dest="bf16", action="store_false")
    parser.add_argument("--lab-sets", nargs="*", default=None, choices=[*LAB_SETS], help="lab sets to use")
    steps = parser.add_subparsers(dest="step", required=True)
    data = steps.add_parser("data")
    data.add_argument("--train", type=Path, default=Path(os.environ.get("ASSAY_TRAIN", "train")))
    data.add_argument("--share", type=float, default=0.4, help="share of the questions in the table of sources")
    data.add_argument("--sources", nargs="+", default=[*SOURCES], choices=[*SOURCES])
    data.add_argument("--joined", type=float, default=0.15, help="questions made of two, as a share of the questions")
    training = steps.add_parser("train")
    training.add_argument("arm", choices=("cross", "late"))
    training.add_argument("--run", required=True, help="the name of the run, a folder in --work")
    training.add_argument("--start", default="", help="a run whose model this one starts from")
    training.add_argument("--steps", type=int, default=600)
    training.add_argument("--rate", type=float)
    training.add_argument("--threads", type=int, default=2)
    exporting = steps.add_parser("export")
    exporting.add_argument("--run", required=True)
    exporting.add_argument("--to", type=Path, default=WEIGHTS, help="the folder of the trained part")
    assembling = steps.add_parser("assemble")
    assembling.add_argument("--trained", type=Path, default=WEIGHTS, help="the folder of the trained part")
    assembling.add_argument("--to", type=Path, help="a folder for the model")
    assembling.add_argument("--install", action="store_true", help="among the installed models, for the step's `model`")
    judging = steps.add_parser("judge")
    judging.add_argument("--cross", nargs="*", default=[], help="runs of the arm cross")
    judging.add_argument("--late", nargs="*", default=[], help="runs of the arm late")
    judging.add_argument("--sets", nargs="+", default=SETS)
    judging.add_argument("--dev", default="dev~50")
    judging.add_argument("--test", default="test~120")
    checking = steps.add_parser("check")
    checking.add_argument("--run", required=True)
    checking.add_argument("--model", type=Path, required=True, help="a folder that `assemble` wrote of this run")
    checking.add_argument("--sets", nargs="+", default=("squad2_mini", "locomo"), choices=SETS)
    checking.add_argument("--split", default="test~120")
    timing = steps.add_parser("speed")
    timing.add_argument("--model", type=Path, required=True, help="a folder that `assemble` wrote")
    options = parser.parse_args(arguments)
    if options.lab_sets is None:
        options.lab_sets = [*LAB_SETS] if options.step == "data" else []
    return options


STEPS = {
    "data": make_data,
    "train": train,
    "export": export,
    "assemble": assemble,
    "judge": judge,
    "check": check,
    "speed": speed,
}


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    try:
        STEPS[options.step](options)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "onnx", "tokenizers"):
            raise
        missing = MissingExtra("training a reranker", {"torch": "lvm", "onnx": "model"}.get(error.name, "onnx"))
        sys.exit(f"error: {missing}")
    except AssayError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
