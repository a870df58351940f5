"""`assay lvm`: next-vector models."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.failures import CommandGroup

_FILE = click.Path(path_type=Path)


@click.group(cls=CommandGroup)
def lvm() -> None:
    """Train and adopt models that predict the next vector."""


@lvm.command()
@click.argument("bank", type=_FILE, metavar="BANK.npz")
@click.argument("sequences", type=_FILE, metavar="SEQ.npz")
@click.option("--out", required=True, type=_FILE, metavar="DIR", help="The model's folder.")
@click.option("--model", type=click.Choice(["ridge", "recurrent"]), default="ridge", show_default=True)
@click.option("--context", default=8, show_default=True, type=click.IntRange(0), help="Vectors before the current one.")
@click.option("--decay", default=0.5, show_default=True, help="Weight of each older vector (ridge).")
@click.option("--most", default=0, type=click.IntRange(0), help="Learn from so many windows.  [default: all]")
@click.option("--seed", default=1, show_default=True, help="Seed of the training (recurrent).")
def train(bank: Path, sequences: Path, out: Path, model: str, context: int, decay: float, most: int, seed: int) -> None:
    """Train a model on the training half of a bank's sequences.

    `ridge` is solved in closed form, in seconds; `recurrent` is a small network trained with torch (the extra `lvm`)
    and written as ONNX.
    """
    import time

    from assay.cascade.bank.bank import open_bank
    from assay.cascade.bank.sequences import open_sequences
    from assay.cascade.bank.train import train_model as train_model
    from assay.cli.progress import progress_bars

    start = time.perf_counter()
    vectors = open_bank(bank)
    pairs = open_sequences(sequences, vectors)
    with progress_bars() as bar:
        trained = train_model(
            vectors,
            pairs,
            out,
            "ridge" if model == "ridge" else "recurrent",
            context=context,
            decay=decay,
            seed=seed,
            most=most,
            progress=bar.step,
        )
    training = trained.manifest["training"]
    click.echo(f"{trained.name}: {training['windows']:,} windows in {time.perf_counter() - start:.1f} s")
    by_alpha = training.get("reciprocal_rank_by_alpha")
    best = max(by_alpha.values() if by_alpha else training["reciprocal_rank_by_epoch"])
    identity = training["identity"]["reciprocal_rank"]
    click.echo(f"  reciprocal rank {best:.4f} on windows kept back; staying put reaches {identity:.4f}")
    click.echo(click.style(f"  {out}  digest {trained.digest[:12]}", dim=True))


@lvm.command()
@click.argument("file", type=_FILE, metavar="MODEL.onnx")
@click.option("--out", required=True, type=_FILE, metavar="DIR", help="The model's folder.")
@click.option("--name", default="", help="What telemetry calls it.  [default: the file's name]")
def adopt(file: Path, out: Path, name: str) -> None:
    """Adopt an ONNX model: inputs current [n, D] and context [n, C, D], output delta [n, D].

    It must have been trained on vectors of length one: its manifest records that, and every call checks its input.
    """
    from assay.cascade.lvm.onnx import adopt_onnx as adopt_model

    adopted = adopt_model(file, out, name)
    click.echo(f"{adopted.name}: {adopted.dim} numbers, {adopted.context} vectors of context")


@lvm.command()
@click.argument("folder", type=_FILE, metavar="DIR")
def show(folder: Path) -> None:
    """Print a model's manifest, once its files are checked."""
    import json

    from assay.cascade.lvm.model import open_model

    click.echo(json.dumps(dict(open_model(folder).manifest), indent=1, sort_keys=True))
