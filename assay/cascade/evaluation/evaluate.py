"""A whole evaluation: bank, index and model opened or made, the grid run, everything written beside each other.

What is made lies in `eval_index` and `eval_lvm` beside the output. It is taken again while it is of the same bank and,
the model, learned from the same sequences: one of another split may have learned what is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.bench.receipt import write
from assay.cascade import service as cascade
from assay.cascade.bank.bank import Bank, open_bank
from assay.cascade.bank.errors import WrongIndex
from assay.cascade.bank.index import open_index
from assay.cascade.bank.index_build import build_index
from assay.cascade.bank.planted import PlantedPlan, plant
from assay.cascade.bank.sequences import Sequences, open_sequences
from assay.cascade.bank.train import train
from assay.cascade.evaluation.grid import Axes, run_grid
from assay.cascade.evaluation.report import TITLE, goal, headline, markdown
from assay.cascade.lvm.model import open_model
from assay.engine.checks import check_whole
from assay.errors import ConfigError, ModelError
from assay.types import Progress
from assay.util.atomic import write_text

INDEX, MODEL = "eval_index", "eval_lvm"


@dataclass(frozen=True)
class EvaluationJob:
    """What to evaluate. Without a bank a planted one is made; without index or model they are, beside the output.

    `most` 0 asks every held-out question.
    """

    bank: Path | None = None
    val: Path | None = None
    index: Path | None = None
    model: Path | None = None
    pipeline: str = "cascade"
    most: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        check_whole("queries", self.most, 0)


def evaluate(job: EvaluationJob, axes: Axes, out: Path, progress: Progress = lambda *_: None) -> str:
    """Writes OUT (the grid's receipt), OUT with .md, and the results page in the same folder; returns a summary."""
    if out.suffix != ".json":
        raise ConfigError(f"{out} is no place for JSON: its Markdown goes beside it", "name a file that ends in .json")
    folder = out.parent
    folder.mkdir(parents=True, exist_ok=True)
    bank_path = job.bank or _planted(folder / "planted", progress)
    bank = open_bank(bank_path)
    sequences = open_sequences(job.val or bank_path.with_name("sequences.npz"), bank, train=False)
    index = job.index or _indexed(folder / INDEX, bank, progress)
    model = job.model or _trained(folder / MODEL, bank, sequences, progress)
    opened = cascade.open(bank_path, index, model, job.pipeline)
    grid = run_grid(
        opened, sequences, axes, name=job.name or bank_path.parent.name or "bank", most=job.most, progress=progress
    )
    write(grid.receipt, out)
    page = markdown(grid)
    write_text(out.with_suffix(".md"), page)
    write_text(folder / f"{TITLE}.md", page)
    return f"{page}\n{headline(grid)} {goal(grid)}"


def _planted(folder: Path, progress: Progress) -> Path:
    path = folder / "bank.npz"
    if not path.with_name("sequences.npz").is_file():  # written last
        plant(folder, PlantedPlan(), progress)
    return path


def _indexed(folder: Path, bank: Bank, progress: Progress) -> Path:
    try:
        open_index(folder, bank).open()
    except WrongIndex:
        build_index(bank, folder, progress=progress)
    return folder


def _trained(folder: Path, bank: Bank, sequences: Sequences, progress: Progress) -> Path:
    if not len(sequences.train):
        raise ConfigError("the sequences have no half to train a model on", "name a trained one: --model DIR")
    try:
        said = open_model(folder).manifest.get("training", {})
    except ModelError:
        said = {}
    if (said.get("bank"), said.get("sequences")) != (bank.digest, sequences.digest):
        train(bank, sequences, folder, progress=progress)
    return folder
