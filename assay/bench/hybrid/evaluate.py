"""A whole evaluation: bank, index and model opened or made, the grid run, everything written beside each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay import cascade
from assay.atomic import write_text
from assay.bank.bank import Bank, open_bank
from assay.bank.index_build import build_index
from assay.bank.planted import Plan, plant
from assay.bank.sequences import Sequences, open_sequences
from assay.bank.train import train
from assay.bench.hybrid.grid import Axes, run_grid
from assay.bench.hybrid.report import TITLE, goal, headline, markdown
from assay.bench.receipt import write
from assay.errors import ConfigError

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Job:
    """What to evaluate. Without a bank a planted one is made; without index or model they are, beside the output."""

    bank: Path | None = None
    val: Path | None = None
    index: Path | None = None
    model: Path | None = None
    pipeline: str = "cascade"
    most: int = 0
    name: str = ""


def evaluate(job: Job, axes: Axes, out: Path, progress: Progress = lambda *_: None) -> str:
    """Writes OUT (the grid's receipt), OUT with .md, and the results page in the same folder; returns a summary."""
    folder = out.parent
    folder.mkdir(parents=True, exist_ok=True)
    bank_path = job.bank or _planted(folder / "planted", progress)
    bank = open_bank(bank_path)
    sequences = open_sequences(job.val or bank_path.with_name("sequences.npz"), bank, train=job.model is None)
    index = job.index or _indexed(folder / f"index-{bank.digest[:12]}", bank, progress)
    model = job.model or _trained(folder / f"lvm-{bank.digest[:12]}", bank, sequences, progress)
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
    if not path.is_file():
        plant(folder, Plan(), progress)
    return path


def _indexed(folder: Path, bank: Bank, progress: Progress) -> Path:
    if not (folder / "index.json").is_file():
        build_index(bank, folder, progress=progress)
    return folder


def _trained(folder: Path, bank: Bank, sequences: Sequences, progress: Progress) -> Path:
    if not len(sequences.train):
        raise ConfigError("the sequences have no half to train a model on", "name a trained one: --model DIR")
    if not (folder / "lvm.json").is_file():
        train(bank, sequences, folder, progress=progress)
    return folder
