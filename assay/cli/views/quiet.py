"""An answer for scripts: one line per result on stdout, what could not run on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli.terminal import safe

if TYPE_CHECKING:
    from assay.engine.answer import Answer


def show_quietly(answer: Answer) -> None:
    for hit in answer:
        place = safe(" › ".join(part for part in (hit.title, hit.chunk.section) if part))
        click.echo(f"{hit.rank}\t{hit.score:.6g}\t{safe(hit.id)}\t{place}")
    for line in answer.verdict.degraded:
        click.echo(f"degraded: {safe(line)}", err=True)
