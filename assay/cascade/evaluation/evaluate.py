"""Runs a whole evaluation: opens or makes bank, index and model, runs the grid, writes the results.

A made index and model are in `eval_index` and `eval_lvm` beside the output. They are reused for the same bank and, for
the model, the same sequences: a model of another split may have seen the answers.
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
from assay.cascade.bank.planted import PlantedSettings, plant_bank
from assay.cascade.bank.sequences import Sequences, open_sequences
from assay.cascade.bank.train import train_model
from assay.cascade.evaluation.grid import Axes, run_grid
from assay.cascade.evaluation.report import TITLE, goal_line, headline, to_markdown
from assay.cascade.lvm.model import open_model
from assay.engine.checks import check_whole
from assay.errors import ConfigError, ModelError
from assay.types import Progress
from assay.util.atomic_files import write_text

INDEX, MODEL = "eval_index", "eval_lvm"


@dataclass(frozen=True)
class EvaluationJob:
    """What to evaluate. A missing bank is planted; a missing index or model is made beside the output.

    `most` 0 takes every held-out question.
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
    bank_path = job.bank or _ensure_planted_bank(folder / "planted", progress)
    bank = open_bank(bank_path)
    sequences = open_sequences(job.val or bank_path.with_name("sequences.npz"), bank, train=False)
    index = job.index or _ensure_index(folder / INDEX, bank, progress)
    model = job.model or _ensure_model(folder / MODEL, bank, sequences, progress)
    service = cascade.open_cascade(bank_path, index, model, job.pipeline)
    grid = run_grid(
        service, sequences, axes, name=job.name or bank_path.parent.name or "bank", most=job.most, progress=progress
    )
    write(grid.receipt, out)
    page = to_markdown(grid)
    write_text(out.with_suffix(".md"), page)
    write_text(folder / f"{TITLE}.md", page)
    return f"{page}\n{headline(grid)} {goal_line(grid)}"


def _ensure_planted_bank(folder: Path, progress: Progress) -> Path:
    path = folder / "bank.npz"
    if not path.with_name("sequences.npz").is_file():  # written last
        plant_bank(folder, PlantedSettings(), progress)
    return path


def _ensure_index(folder: Path, bank: Bank, progress: Progress) -> Path:
    try:
        open_index(folder, bank).open()
    except WrongIndex:
        build_index(bank, folder, progress=progress)
    return folder


def _ensure_model(folder: Path, bank: Bank, sequences: Sequences, progress: Progress) -> Path:
    if not len(sequences.train):
        raise ConfigError("the sequences have no half to train a model on", "name a trained one: --model DIR")
    try:
        training = open_model(folder).manifest.get("training", {})
    except ModelError:
        training = {}
    if (training.get("bank"), training.get("sequences")) != (bank.digest, sequences.digest):
        train_model(bank, sequences, folder, progress=progress)
    return folder
