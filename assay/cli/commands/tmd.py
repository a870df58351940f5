"""`assay tmd`: Task/Modifier/Domain codes."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.failures import CommandGroup

_FILE = click.Path(path_type=Path)


@click.group(cls=CommandGroup)
def tmd() -> None:
    """Give the vectors of a bank their Task/Modifier/Domain codes."""


@tmd.command()
@click.argument("path", type=_FILE, metavar="BANK.npz")
@click.option("--out", required=True, type=_FILE, metavar="FILE", help="The bank with its new codes.")
@click.option("--codes", type=_FILE, metavar="FILE", help="Take codes from NPY uint16, or from lines id<TAB>code.")
@click.option("--layout", default="spec", show_default=True, help="How the bits are laid out: spec or wide.")
@click.option("--embedder", default="", metavar="SPEC", help="The model that made the bank.  [default: the installed]")
def tag(path: Path, out: Path, codes: Path | None, layout: str, embedder: str) -> None:
    """Assign codes without hand labels: each vector takes the nearest of 16 domains, 32 tasks and 64 modifiers.

    The bank's vectors must come from the embedder that reads the descriptions.
    """
    import numpy as np

    from assay import embed
    from assay.cascade.bank.bank import open_bank, write_bank
    from assay.cascade.tmd.prototypes import embed_prototypes, read_codes, read_descriptions
    from assay.errors import ModelError
    from assay.score.tmd_layout import find_layout

    source, bit_layout = open_bank(path), find_layout(layout)
    if codes is not None:
        assigned = read_codes(codes, source.ids)
    else:
        model = embed.load(embedder or embed.default_spec())
        if model is None:
            raise ModelError("descriptions are read by an embedding model", "assay model install, or give --codes")
        if model.dim != source.dim:
            raise ModelError(
                f"{model.name} makes vectors of {model.dim} numbers, the bank has {source.dim}",
                "name the embedder that made the bank: --embedder",
            )
        assigned = embed_prototypes(model, bit_layout).codes(source.vectors)
    tagged = write_bank(out, source.vectors, source.ids, assigned, bit_layout.lanes(assigned))
    domains = np.bincount(bit_layout.domain.of(assigned), minlength=bit_layout.domain.count)
    names = [name for name, _ in read_descriptions()["domain"]]
    click.echo(f"{len(tagged):,} vectors, {len(np.unique(assigned)):,} codes; digest {tagged.digest[:12]}")
    for number in np.argsort(-domains, kind="stable"):
        if domains[number]:
            name = names[number] if number < len(names) else ""
            click.echo(click.style(f"  domain {number:2d} {name:15s} {domains[number]:,}", dim=True))


@tmd.command()
@click.argument("bits", type=click.IntRange(0, 65_535))
@click.option("--layout", default="spec", show_default=True, help="How the bits are laid out: spec or wide.")
def show(bits: int, layout: str) -> None:
    """Say what a code means."""
    from assay.cascade.tmd.prototypes import read_descriptions
    from assay.score.tmd_layout import find_layout

    bit_layout = find_layout(layout)
    for field, number in zip(("domain", "task", "modifier"), bit_layout.unpack(bits), strict=True):
        names = read_descriptions()[field]
        description = names[int(number)][1] if int(number) < len(names) else "(no description)"
        click.echo(f"{field:9s} {int(number):2d}  {description}")
    click.echo(f"lane      {int(bit_layout.lanes(bits))}")
