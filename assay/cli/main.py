"""`assay`: the table of commands."""

from __future__ import annotations

from collections.abc import Mapping

import click

from assay import __version__
from assay.cli.failures import Group
from assay.cli.options import STORE_HELP
from assay.cli.terminal import show_anything

COMMANDS: Mapping[str, str] = {
    "add": "assay.cli.add:add",
    "search": "assay.cli.search:search",
    "explain": "assay.cli.explain:explain",
    "replay": "assay.cli.replay:replay",
    "ls": "assay.cli.ls:ls",
    "rm": "assay.cli.rm:rm",
    "watch": "assay.cli.watch:watch",
    "memory": "assay.cli.memory:memory",
    "bench": "assay.cli.bench:bench",
    "judge": "assay.cli.judge:judge",
    "pipeline": "assay.cli.pipeline:pipeline",
    "mcp": "assay.cli.mcp:mcp",
    "model": "assay.cli.model:model",
    "bank": "assay.cli.bank:bank",
    "lvm": "assay.cli.lvm:lvm",
    "tmd": "assay.cli.tmd:tmd",
    "serve-hybrid": "assay.cli.serve_hybrid:serve_hybrid",
    "stats": "assay.cli.stats:stats",
    "doctor": "assay.cli.doctor:doctor",
    "optimize": "assay.cli.optimize:optimize",
    "reembed": "assay.cli.reembed:reembed",
    "tag": "assay.cli.tag:tag",
    "export": "assay.cli.export:export",
    "copy": "assay.cli.copy:copy",
    "backup": "assay.cli.backup:backup",
    "restore": "assay.cli.backup:restore",
}


@click.group("assay", cls=Group, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="assay")
@click.option("--store", metavar="STORE", envvar="ASSAY_STORE", help=STORE_HELP)
def cli(store: str | None) -> None:
    """Hybrid retrieval that proves itself: index a folder, ask, and see why.

    \b
    assay add ./handbook
    assay search "how do I rotate the signing key?"
    """


def main() -> None:
    """The entry point."""
    show_anything()
    cli(prog_name="assay")
