"""Prints the queries on which a system loses most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assay.cli.terminal import format_count, sanitize

if TYPE_CHECKING:
    from assay.bench.losses import QueryLoss

MOST_DOCUMENTS = 5
"""Relevant documents shown for each query."""


def show(losses: Sequence[QueryLoss], system: str, others: Sequence[str], metric: str) -> None:
    against = " and ".join(map(sanitize, others))
    if not losses:
        click.echo(f"{sanitize(system)} loses no query against {against} by {metric}")
        return
    click.secho(f"{sanitize(system)} against {against}: the {format_count(len(losses), 'worst query')}", bold=True)
    for loss in losses:
        click.echo()
        values = "  ".join(f"{sanitize(name)} {value:.3f}" for name, value in loss.values.items())
        click.secho(f"{loss.loss:+.3f}  {sanitize(loss.text)}", bold=True)
        click.secho(f"        {metric}  {values}", dim=True)
        click.echo(f"        first  {sanitize(loss.first)}")
        for one in loss.relevant[:MOST_DOCUMENTS]:
            ranks = "  ".join(
                f"{sanitize(name)} {'–' if rank is None else f'#{rank}'}" for name, rank in one.ranks.items()
            )
            click.echo(f"        wanted {sanitize(one.title or one.document)}  ({ranks})")
        if len(loss.relevant) > MOST_DOCUMENTS:
            click.secho(f"        and {len(loss.relevant) - MOST_DOCUMENTS} more relevant documents", dim=True)
