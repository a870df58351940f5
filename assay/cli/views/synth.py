"""What a synthetic suite holds: its kinds with an example each, what to think of it, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from assay.bench.collection import Collection
from assay.bench.synth.suite import Suite
from assay.bench.synth.write import WARNING
from assay.cli.terminal import console, count, safe
from assay.cli.views.layout import columns, wrapped

EXAMPLES = 2


def show(suite: Suite, collection: Collection, folder: Path) -> None:
    screen = console()
    for name, reason in collection.problems:
        screen.print(Text.assemble(("left out ", "yellow"), f"{safe(name)}: {safe(reason)}"))
    read = f"{count(len(collection.documents), 'document')} in {count(collection.chunks, 'chunk')}"
    screen.print(
        Text.assemble((count(suite.size, "query").capitalize(), "bold"), f" from {read} → {safe(str(folder))}")
    )
    if suite.size < suite.asked:
        screen.print(
            Text(f"{suite.asked:,} were asked for; these documents give no more that could be checked.", "yellow")
        )
    screen.print()
    for line in columns([*_rows(suite, screen.width)], right=(1, 2), indent=2):
        screen.print(line)
    screen.print()
    for line in wrapped(Text(WARNING, "dim"), screen, 0):
        screen.print(line)
    told = safe(shlex.quote(str(folder)))
    screen.print(Text.assemble(("next: ", "green"), f"assay bench run {told} --systems bm25,dense,default"))


def _rows(suite: Suite, width: int) -> Iterator[list[Text]]:
    yield [Text(word, "dim") for word in ("kind", "queries", "copied", "for example")]
    for kind, made in suite.queries.items():
        shown = Text(" · ").join(Text(safe(one.text)) for one in made[:EXAMPLES])
        shown.truncate(max(width - 36, 30), overflow="ellipsis")
        yield [Text(kind, "cyan"), Text(str(len(made))), Text(f"{suite.copied(kind):.0%}"), shown]
