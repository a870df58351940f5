"""`assay`: the table of commands."""

from __future__ import annotations

from collections.abc import Mapping

import click

from assay import __version__
from assay.cli.failures import CommandGroup
from assay.cli.options import STORE_HELP
from assay.cli.terminal import replace_unencodable

COMMANDS: Mapping[str, str] = {
    "init": "assay.cli.commands.init:init",
    "add": "assay.cli.commands.add:add",
    "search": "assay.cli.commands.search:search",
    "explain": "assay.cli.commands.explain:explain",
    "replay": "assay.cli.commands.replay:replay",
    "ls": "assay.cli.commands.ls:ls",
    "rm": "assay.cli.commands.rm:rm",
    "watch": "assay.cli.commands.watch:watch",
    "memory": "assay.cli.memory.group:memory",
    "bench": "assay.cli.bench.group:bench",
    "receipt": "assay.cli.commands.receipt:receipt",
    "judge": "assay.cli.commands.judge:judge",
    "pipeline": "assay.cli.commands.pipeline:pipeline",
    "components": "assay.cli.commands.components:components",
    "allow": "assay.cli.commands.allow:allow",
    "mcp": "assay.cli.commands.mcp:mcp",
    "model": "assay.cli.commands.model:model",
    "bank": "assay.cli.commands.bank:bank",
    "lvm": "assay.cli.commands.lvm:lvm",
    "tmd": "assay.cli.commands.tmd:tmd",
    "serve": "assay.cli.commands.serve:serve",
    "key": "assay.cli.commands.key:key",
    "serve-hybrid": "assay.cli.commands.serve_hybrid:serve_hybrid",
    "tree": "assay.cli.commands.tree:tree",
    "stats": "assay.cli.commands.stats:stats",
    "doctor": "assay.cli.commands.doctor:doctor",
    "optimize": "assay.cli.commands.optimize:optimize",
    "reembed": "assay.cli.commands.reembed:reembed",
    "tag": "assay.cli.commands.tag:tag",
    "export": "assay.cli.commands.export:export",
    "copy": "assay.cli.commands.copy:copy",
    "backup": "assay.cli.commands.backup:backup",
    "restore": "assay.cli.commands.backup:restore",
}


@click.group("assay", cls=CommandGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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
    replace_unencodable()
    cli(prog_name="assay")
