"""Prints a synthetic suite: its kinds of queries with examples, a warning, and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from assay.bench.collection import Collection
from assay.bench.synth.suite import Suite
from assay.bench.synth.suite_writer import WARNING
from assay.cli.terminal import format_count, make_console, sanitize
from assay.cli.views.layout import align_columns, wrap

EXAMPLES = 2


def show(suite: Suite, collection: Collection, folder: Path) -> None:
    screen = make_console()
    for name, reason in collection.problems:
        screen.print(Text.assemble(("left out ", "yellow"), f"{sanitize(name)}: {sanitize(reason)}"))
    read = f"{format_count(len(collection.documents), 'document')} in {format_count(collection.chunks, 'chunk')}"
    screen.print(
        Text.assemble(
            (format_count(suite.size, "query").capitalize(), "bold"), f" from {read} → {sanitize(str(folder))}"
        )
    )
    if suite.size < suite.requested:
        screen.print(
            Text(f"{suite.requested:,} were asked for; these documents give no more that could be checked.", "yellow")
        )
    screen.print()
    for line in align_columns([*_rows(suite, screen.width)], right=(1, 2), indent=2):
        screen.print(line)
    screen.print()
    for line in wrap(Text(WARNING, "dim"), screen, 0):
        screen.print(line)
    path = sanitize(shlex.quote(str(folder)))
    screen.print(Text.assemble(("next: ", "green"), f"assay bench run {path} --systems bm25,dense,default"))


def _rows(suite: Suite, width: int) -> Iterator[list[Text]]:
    yield [Text(word, "dim") for word in ("kind", "queries", "copied", "for example")]
    for kind, queries in suite.queries.items():
        examples = Text(" · ").join(Text(sanitize(query.text)) for query in queries[:EXAMPLES])
        examples.truncate(max(width - 36, 30), overflow="ellipsis")
        yield [Text(kind, "cyan"), Text(str(len(queries))), Text(f"{suite.copied_share(kind):.0%}"), examples]
