"""Prints a leave-one-set-out result: a line per set with the system chosen for it, then the means of the family."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli.terminal import format_count, make_console, sanitize

if TYPE_CHECKING:
    from assay.bench.receipt import Receipt


def show(receipt: Receipt) -> None:
    from rich.table import Table

    canonical = receipt.canonical
    dev, test = canonical["splits"]
    row = canonical["left_out"]
    click.secho(f"chosen elsewhere against {sanitize(canonical['baseline'])}", bold=True, nl=False)
    click.echo(f", {sanitize(canonical['metric'])} on {sanitize(test)} of {format_count(row['n'], 'set')}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("set", "chosen on the others", "best of its own"):
        table.add_column(name, overflow="fold")
    for name in ("before", "after", "delta", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in canonical["sets"]:
        table.add_row(
            *(sanitize(one[key]) for key in ("name", "chosen", "best_of_its_own")),
            f"{one['mean_a']:.3f}",
            f"{one['mean_b']:.3f}",
            f"{one['difference']:+.4f}",
            f"{one['ci_low']:+.3f} … {one['ci_high']:+.3f}",
        )
    make_console().print(table)
    click.echo(
        f"mean of sets {row['mean_a']:.4f} → {row['mean_b']:.4f}, {row['difference']:+.4f} "
        f"({row['ci_low']:+.4f} … {row['ci_high']:+.4f}), {row['wins']} won, {row['ties']} tied, {row['losses']} lost, "
        f"p {row['p']:.4f} by sign flips, {row['sign_test']:.4f} by signs\n"
    )
    means = Table(box=None, pad_edge=False, header_style="bold")
    means.add_column("system", overflow="fold")
    for name in (dev, test):
        means.add_column(f"mean on {sanitize(name)}", justify="right", no_wrap=True)
    for name, found in sorted(canonical["systems"].items(), key=lambda item: -item[1]["dev"]["mean"]):
        means.add_row(sanitize(name), f"{found['dev']['mean']:.4f}", f"{found['test']['mean']:.4f}")
    make_console().print(means)
    click.secho(f"chosen on the {sanitize(dev)} splits of all sets: {sanitize(canonical['chosen_on_all'])}", dim=True)
    for name, missing in canonical["incomplete"].items():
        click.secho(f"left out: {sanitize(name)} (no run of {', '.join(map(sanitize, missing))})", dim=True)
