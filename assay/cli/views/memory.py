"""Memories in a terminal: what was stored, recalled, forgotten, and why. Nothing outside the scopes is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click
from rich.console import Console
from rich.text import Text

from assay.cli.terminal import console, count, day, safe, speaks_unicode
from assay.cli.views.answer import score_text
from assay.cli.views.footer import remarks, steps, warnings
from assay.cli.views.layout import columns, ends, flow, wrapped
from assay.cli.views.waterfall import largest, tints, waterfall
from assay.engine.answer import ChunkStep
from assay.memory.types import (
    ForgetOutcome,
    ImportOutcome,
    MemoryChange,
    MemoryEntry,
    MemoryExplanation,
    MemoryStats,
    NearDuplicate,
    RecallAnswer,
    RecalledMemory,
    StoreOutcome,
)

INDENT = 4
_WORDS = {
    "stored": "green",
    "merged": "green",
    "superseded": "green",
    "skipped": "yellow",
    "refused": "yellow",
}


def show_stored(done: StoreOutcome) -> None:
    """What became of a text, and what is near it."""
    screen = console()
    screen.print(Text.assemble((done.action, f"bold {_WORDS[done.action]}"), " ", (safe(done.id), "cyan")))
    for line in wrapped(Text(safe(done.reason)), screen, 2):
        screen.print(line)
    if done.entry is not None and done.action != "skipped":
        _print(screen, _entry(done.entry, screen))
    if done.near:
        screen.print(Text("near it", "dim"))
        for line in columns([_near(near) for near in done.near], right=(1, 2), indent=2):
            line.truncate(screen.width, overflow="ellipsis")
            screen.print(line)


def _near(near: NearDuplicate) -> list[Text]:
    cosine = "–" if near.cosine is None else f"{near.cosine:.2f}"
    return [
        Text(safe(near.entry.id), "cyan"),
        Text(f"cosine {cosine}"),
        Text(f"overlap {near.overlap:.2f}"),
        Text("the same" if near.duplicate else "not the same", "yellow" if near.duplicate else "dim"),
        Text(safe(near.entry.text)),
    ]


def show_entries(entries: Iterable[MemoryEntry]) -> None:
    screen = console()
    for entry in entries:
        _print(screen, _entry(entry, screen))


def _entry(entry: MemoryEntry, screen: Console) -> Iterator[Text]:
    """Id and facts on one line, the text below."""
    yield from flow([Text(safe(entry.id), "cyan"), *_facts(entry)], screen.width, " · ")
    yield from wrapped(Text(safe(entry.text, keep_lines=True)), screen, 2)


def _facts(entry: MemoryEntry) -> list[Text]:
    said = [entry.scope, entry.category, f"importance {entry.importance:g}", day(entry.created)]
    said += [f"tags {', '.join(entry.tags)}"] if entry.tags else []
    said += [] if entry.expires is None else [f"expires {day(entry.expires)}"]
    said += [f"superseded by {entry.superseded_by}"] if entry.superseded_by else []
    return [Text(safe(part), "dim") for part in said]


def show_recalled(found: RecallAnswer, *, plain: bool = False) -> None:
    """Memories with the parts of their scores, then how it came about."""
    screen = console(plain=plain)
    answer = found.answer
    if answer is None:
        _print(screen, wrapped(Text.assemble(("not looked up: ", "bold"), safe(found.skipped)), screen, 0))
        screen.print(Text.assemble(("cure: ", "green"), "to look all the same: --always"))
        return
    bars = not plain and speaks_unicode()
    most = largest(hit.hit.waterfall for hit in found.hits)
    colours = tints(span.name for span in answer.trace if span.kind == "leg")
    for hit in found.hits:
        _print(screen, _hit(hit, screen, most, colours, bars=bars))
        screen.print()
    if not found.hits:
        screen.print(Text("Nothing is remembered about that here.", "bold"))
    _print(screen, _ending(found, screen))


def _hit(hit: RecalledMemory, screen: Console, most: float, colours: dict[str, str], *, bars: bool) -> Iterator[Text]:
    left = Text.assemble(
        (f"{hit.rank:>{INDENT - 1}} ", "bold cyan"), (safe(f"{hit.entry.scope} · {hit.entry.category}"), "dim")
    )
    yield from ends(left, Text.assemble((f"{day(hit.entry.created)} · ", "dim"), (safe(hit.id), "cyan")), screen.width)
    yield from wrapped(Text(safe(hit.text, keep_lines=True), "bold"), screen, INDENT)
    score = score_text(hit.score)
    start = INDENT + len(score) + 2
    for number, line in enumerate(flow(waterfall(hit.hit.waterfall, most, colours, bars=bars), screen.width - start)):
        first = Text.assemble(" " * INDENT, (score, "bold"), "  ")
        yield (Text(" " * start) if number else first).append_text(line)
    if hit.served_for:
        yield Text(f"{' ' * INDENT}found as {safe(hit.served_for)}, which it supersedes", "yellow")


def _ending(found: RecallAnswer, screen: Console) -> Iterator[Text]:
    """What could not run, what happened behind the pipeline, the verdict, the steps."""
    answer = found.answer
    assert answer is not None
    yield from warnings(answer)
    yield from remarks(answer)
    for note in found.notes:
        yield from wrapped(Text(safe(note), "dim"), screen, 0)
    spent = answer.ms
    said = [
        Text(found.word, "bold green" if found.word == "answered" else "bold yellow"),
        Text(count(len(found.hits), "memory")),
        Text(f"as of {day(answer.query.at or 0.0)}", "dim"),
        Text(f"{spent:.1f} ms" if spent < 100 else f"{spent:,.0f} ms", "dim"),
    ]
    yield from flow(said, screen.width, " · ")
    yield from flow(steps(answer), screen.width)


def show_explained(found: MemoryExplanation, *, plain: bool = False) -> None:
    """The memory, the verdict on it, its way through the steps."""
    screen = console(plain=plain)
    _print(screen, _entry(found.entry, screen))
    screen.print()
    if found.rank is not None and found.score is not None:
        screen.print(Text(f"Rank {found.rank}, score {score_text(found.score)}.", "bold green"))
        _print(screen, wrapped(Text(safe(found.why())), screen, 2))
    else:
        screen.print(Text("Not recalled.", "bold yellow"))
        for reason in found.reasons:
            _print(screen, wrapped(Text(f"• {safe(reason)}"), screen, 2))
    if found.passages:
        screen.print(Text("\nStep by step", "bold"))
        _print(screen, columns([_passage(passage) for passage in found.passages], right=(1, 2), indent=2))


def _passage(passage: ChunkStep) -> list[Text]:
    if passage.rank is None or passage.score is None:
        return [Text(safe(passage.step)), Text("–", "dim"), Text(), Text(safe(passage.why), "yellow")]
    return [Text(safe(passage.step)), Text(f"#{passage.rank}"), Text(score_text(passage.score), "bold"), Text()]


def show_forgotten(done: ForgetOutcome) -> None:
    """What is gone, from where, and what was not reached; or what would go."""
    screen = console()
    word = "purged" if done.purged else "forgotten" if done.done else "this would be forgotten"
    if not done.entries:
        screen.print(Text("nothing to forget was found", "yellow"))
        return
    screen.print(Text(f"{word}: {count(len(done.entries), 'memory')}", "bold green" if done.done else "bold yellow"))
    for entry in done.entries:
        _print(screen, _entry(entry, screen))
    if not done.done:
        screen.print(Text(f"nothing was forgotten; to do it: --confirm {done.token}"))
    for title, places in (("removed from", done.erased), ("not reached", done.unreached)):
        if places:
            screen.print(Text(title, "bold"))
        for place in places:
            _print(screen, wrapped(Text(f"• {safe(place)}"), screen, 2))


def show_stats(found: MemoryStats) -> None:
    screen = console()
    screen.print(Text.assemble((count(found.memories, "memory"), "bold"), f" in {', '.join(map(safe, found.scopes))}"))
    rows = [("tokens", f"{found.tokens:,}"), ("superseded", f"{found.superseded:,}"), ("expired", f"{found.expired:,}")]
    rows.append(("hidden", f"{found.hidden:,} forgotten and not purged"))
    if found.oldest is not None and found.newest is not None:
        rows.append(("from", f"{day(found.oldest)} to {day(found.newest)}"))
    for title, counts in (("scopes", found.by_scope), ("categories", found.by_category), ("tags", found.by_tag)):
        if counts:
            rows.append((title, ", ".join(f"{safe(name)} {number:,}" for name, number in list(counts.items())[:12])))
    for line in columns([[Text(name, "dim"), Text(value)] for name, value in rows], right=(), indent=2):
        screen.print(line)


def show_history(changes: Sequence[MemoryChange]) -> None:
    screen = console()
    for change in changes:
        ended = "now" if change.died is None else f"v{change.died}"
        head = Text.assemble((f"v{change.born} to {ended}", "bold"), ("  " + safe(change.began), "dim"))
        screen.print(head)
        _print(screen, _entry(change.entry, screen))
        if change.ended:
            screen.print(Text(f"  ended: {safe(change.ended)}", "dim"))


def show_imported(done: ImportOutcome) -> None:
    parts = [f"{count(done.stored, 'memory')} stored", f"{done.skipped:,} known already", f"{done.refused:,} noise"]
    click.echo(", ".join(parts))
    for where, why in done.problems:
        click.echo(f"  {safe(where)}: {safe(why)}")


def _print(screen: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        screen.print(line)
