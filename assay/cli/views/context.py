"""Prints a packed context: its text, why each sentence is in it, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from assay.cli.terminal import format_count, sanitize
from assay.cli.views.layout import wrap
from assay.engine.context import PackedContext

_INDENT = 4


def context_lines(context: PackedContext, screen: Console) -> Iterator[Text]:
    """The context as it is pasted, indented, and below it the reason for each sentence."""
    sentences = format_count(len(context.sentences), "sentence")
    chunks = format_count(len(context.sources), "chunk")
    used = f"{context.tokens:,} of {context.budget:,} tokens · {sentences} of {chunks} · {context.packer}"
    yield Text.assemble(("Context", "bold"), (f"  {used}", "dim"))
    for line in context.text.splitlines():
        yield from wrap(Text(sanitize(line)), screen, _INDENT) if line.strip() else (Text(),)
    yield Text()
    for one in context.sentences:
        yield from wrap(Text(sanitize(f"[{one.citation}] {one.why()}"), "dim"), screen, _INDENT)
    left_out = Counter(one.why for one in context.dropped)
    for why, number in left_out.items():
        yield from wrap(Text(sanitize(f"left out of {format_count(number, 'chunk')}: {why}"), "dim"), screen, _INDENT)
    yield Text()
