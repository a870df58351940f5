"""`assay memory`: the table of the memory service's commands."""

from __future__ import annotations

from collections.abc import Mapping

import click

from assay.cli.failures import CommandGroup

MEMORY_COMMANDS: Mapping[str, str] = {
    "store": "assay.cli.memory.write:store",
    "recall": "assay.cli.memory.recall:recall",
    "explain": "assay.cli.memory.recall:explain",
    "forget": "assay.cli.memory.forget:forget",
    "update": "assay.cli.memory.write:update",
    "list": "assay.cli.memory.listing:list_",
    "stats": "assay.cli.memory.listing:stats",
    "history": "assay.cli.memory.listing:history",
    "export": "assay.cli.memory.transfer:export",
    "import": "assay.cli.memory.transfer:import_",
}


@click.group(cls=CommandGroup, table=MEMORY_COMMANDS)
def memory() -> None:
    """What an agent remembers: store, recall, update, forget, why.

    Every command works in scopes: `global` unless --scope names others, as often as needed. Nothing outside them is
    seen, counted or changed.

    \b
    assay memory store "Ada lives in Lisbon." --scope user:ada
    assay memory recall "where does Ada live?" --scope user:ada --scope global
    """
