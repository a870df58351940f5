"""`assay tmd`: Task/Modifier/Domain codes."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.failures import Group

_FILE = click.Path(path_type=Path)


@click.group(cls=Group)
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
    from assay.cascade.tmd.prototypes import descriptions, prototypes, read_codes
    from assay.errors import ModelError
    from assay.score.tmd_layout import layout as known

    held, bits = open_bank(path), known(layout)
    if codes is not None:
        found = read_codes(codes, held.ids)
    else:
        model = embed.load(embedder or embed.default_spec())
        if model is None:
            raise ModelError("descriptions are read by an embedding model", "assay model install, or give --codes")
        if model.dim != held.dim:
            raise ModelError(
                f"{model.name} makes vectors of {model.dim} numbers, the bank has {held.dim}",
                "name the embedder that made the bank: --embedder",
            )
        found = prototypes(model, bits).codes(held.vectors)
    made = write_bank(out, held.vectors, held.ids, found, bits.lanes(found))
    domains = np.bincount(bits.domain.of(found), minlength=bits.domain.count)
    names = [name for name, _ in descriptions()["domain"]]
    click.echo(f"{len(made):,} vectors, {len(np.unique(found)):,} codes; digest {made.digest[:12]}")
    for number in np.argsort(-domains, kind="stable"):
        if domains[number]:
            name = names[number] if number < len(names) else ""
            click.echo(click.style(f"  domain {number:2d} {name:15s} {domains[number]:,}", dim=True))


@tmd.command()
@click.argument("bits", type=click.IntRange(0, 65_535))
@click.option("--layout", default="spec", show_default=True, help="How the bits are laid out: spec or wide.")
def show(bits: int, layout: str) -> None:
    """Say what a code means."""
    from assay.cascade.tmd.prototypes import descriptions
    from assay.score.tmd_layout import layout as known

    place = known(layout)
    for field, number in zip(("domain", "task", "modifier"), place.unpack(bits), strict=True):
        listed = descriptions()[field]
        said = listed[int(number)][1] if int(number) < len(listed) else "(no description)"
        click.echo(f"{field:9s} {int(number):2d}  {said}")
    click.echo(f"lane      {int(place.lanes(bits))}")
