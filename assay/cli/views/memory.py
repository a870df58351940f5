"""Prints memories: what was stored, recalled, forgotten, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click
from rich.console import Console
from rich.text import Text

from assay.cli.terminal import format_count, format_date, make_console, sanitize, supports_unicode
from assay.cli.views.answer import format_score
from assay.cli.views.footer import impossible_lines, remark_lines, step_texts, warning_lines
from assay.cli.views.layout import align_columns, flow_pieces, spread_ends, wrap
from assay.cli.views.waterfall import largest_addend, leg_colours, waterfall_pieces
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
SHOWN_PLACES = 3
"""Records that have one and the same problem, by name; more are counted."""
_WORDS = {
    "stored": "green",
    "merged": "green",
    "superseded": "green",
    "skipped": "yellow",
    "refused": "yellow",
}


def show_stored(done: StoreOutcome) -> None:
    """What became of a text, and what is near it."""
    screen = make_console()
    screen.print(Text.assemble((done.action, f"bold {_WORDS[done.action]}"), " ", (sanitize(done.id), "cyan")))
    for line in wrap(Text(sanitize(done.reason)), screen, 2):
        screen.print(line)
    if done.memory is not None and done.action != "skipped":
        _print(screen, _entry(done.memory, screen))
    for conflict in done.conflicts:
        said = f"may replace {conflict.memory.id}: {conflict.why}; to do so: --supersedes {conflict.memory.id}"
        _print(screen, wrap(Text(sanitize(said), "yellow"), screen, 2))
    if done.near:
        screen.print(Text("near it", "dim"))
        for line in align_columns([_near(near) for near in done.near], right=(1, 2), indent=2):
            line.truncate(screen.width, overflow="ellipsis")
            screen.print(line)


def _near(near: NearDuplicate) -> list[Text]:
    cosine = "–" if near.cosine is None else f"{near.cosine:.2f}"
    return [
        Text(sanitize(near.memory.id), "cyan"),
        Text(f"cosine {cosine}"),
        Text(f"overlap {near.overlap:.2f}"),
        Text("the same" if near.duplicate else "not the same", "yellow" if near.duplicate else "dim"),
        Text(sanitize(near.memory.text)),
    ]


def show_entries(entries: Iterable[MemoryEntry]) -> None:
    screen = make_console()
    for entry in entries:
        _print(screen, _entry(entry, screen))


def _entry(entry: MemoryEntry, screen: Console) -> Iterator[Text]:
    """Id and facts on one line, the text below."""
    yield from flow_pieces([Text(sanitize(entry.id), "cyan"), *_facts(entry)], screen.width, " · ")
    yield from wrap(Text(sanitize(entry.text, keep_lines=True)), screen, 2)


def _facts(entry: MemoryEntry) -> list[Text]:
    facts = [entry.scope, entry.category, f"importance {entry.importance:g}", format_date(entry.created)]
    facts += [f"tags {', '.join(entry.tags)}"] if entry.tags else []
    facts += [] if entry.expires is None else [f"expires {format_date(entry.expires)}"]
    facts += [f"superseded by {entry.superseded_by}"] if entry.superseded_by else []
    return [Text(sanitize(part), "dim") for part in facts]


def show_recalled(recalled: RecallAnswer, *, plain: bool = False) -> None:
    """Memories with the parts of their scores, then how it came about."""
    screen = make_console(plain=plain)
    answer = recalled.answer
    if answer is None:
        _print(screen, wrap(Text.assemble(("not looked up: ", "bold"), sanitize(recalled.skipped)), screen, 0))
        screen.print(Text.assemble(("cure: ", "green"), "to look all the same: --always"))
        return
    bars = not plain and supports_unicode()
    most = largest_addend(hit.hit.waterfall for hit in recalled.hits)
    colours = leg_colours(span.name for span in answer.trace if span.kind == "leg")
    for hit in recalled.hits:
        _print(screen, _hit(hit, screen, most, colours, bars=bars))
        screen.print()
    if not recalled.hits:
        _print(screen, wrap(Text(sanitize(recalled.explain_silence("for another: --scope NAME")), "bold"), screen, 0))
    _print(screen, _ending(recalled, screen))


def _hit(hit: RecalledMemory, screen: Console, most: float, colours: dict[str, str], *, bars: bool) -> Iterator[Text]:
    left = Text.assemble(
        (f"{hit.rank:>{INDENT - 1}} ", "bold cyan"), (sanitize(f"{hit.memory.scope} · {hit.memory.category}"), "dim")
    )
    yield from spread_ends(
        left, Text.assemble((f"{format_date(hit.memory.created)} · ", "dim"), (sanitize(hit.id), "cyan")), screen.width
    )
    yield from wrap(Text(sanitize(hit.text, keep_lines=True), "bold"), screen, INDENT)
    score = format_score(hit.score)
    start = INDENT + len(score) + 2
    for number, line in enumerate(
        flow_pieces(waterfall_pieces(hit.hit.waterfall, most, colours, bars=bars), screen.width - start)
    ):
        first = Text.assemble(" " * INDENT, (score, "bold"), "  ")
        yield (Text(" " * start) if number else first).append_text(line)
    if hit.served_for:
        yield Text(f"{' ' * INDENT}found as {sanitize(hit.served_for)}, which it supersedes", "yellow")


def _ending(recalled: RecallAnswer, screen: Console) -> Iterator[Text]:
    """What could not run, what happened behind the pipeline, the verdict, the steps."""
    answer = recalled.answer
    assert answer is not None
    impossible = list(impossible_lines(answer))  # first: a judge that fails is one of the warnings
    yield from warning_lines(answer)
    yield from remark_lines(answer)
    yield from impossible
    for note in recalled.notes:
        yield from wrap(Text(sanitize(note), "dim"), screen, 0)
    spent = answer.ms
    facts = [
        Text(recalled.word, "bold green" if recalled.word == "answered" else "bold yellow"),
        Text(format_count(len(recalled.hits), "memory")),
        *_range_texts(recalled),
        Text(f"as of {format_date(answer.query.at or 0.0)}", "dim"),
        Text(f"{spent:.1f} ms" if spent < 100 else f"{spent:,.0f} ms", "dim"),
    ]
    yield from flow_pieces(facts, screen.width, " · ")
    yield from flow_pieces(step_texts(answer), screen.width)


def _range_texts(recalled: RecallAnswer) -> list[Text]:
    """The period that was asked for, in its own words where the query has them."""
    if recalled.range is None:
        return []
    words = f"“{sanitize(recalled.range.words)}”: " if recalled.range.words else ""
    return [Text(f"{words}{recalled.range}", "dim")]


def show_explained(explanation: MemoryExplanation, *, plain: bool = False) -> None:
    """The memory, the verdict on it, its way through the steps."""
    screen = make_console(plain=plain)
    _print(screen, _entry(explanation.memory, screen))
    screen.print()
    if explanation.rank is not None and explanation.score is not None:
        screen.print(Text(f"Rank {explanation.rank}, score {format_score(explanation.score)}.", "bold green"))
        _print(screen, wrap(Text(sanitize(explanation.why())), screen, 2))
    else:
        screen.print(Text("Not recalled.", "bold yellow"))
        for reason in explanation.reasons:
            _print(screen, wrap(Text(f"• {sanitize(reason)}"), screen, 2))
    if explanation.steps:
        screen.print(Text("\nStep by step", "bold"))
        _print(screen, align_columns([_passage(passage) for passage in explanation.steps], right=(1, 2), indent=2))


def _passage(passage: ChunkStep) -> list[Text]:
    if passage.rank is None or passage.score is None:
        return [Text(sanitize(passage.step)), Text("–", "dim"), Text(), Text(sanitize(passage.why), "yellow")]
    return [Text(sanitize(passage.step)), Text(f"#{passage.rank}"), Text(format_score(passage.score), "bold"), Text()]


def show_forgotten(done: ForgetOutcome) -> None:
    """What is gone, from where, and what was not reached; or what would go."""
    screen = make_console()
    word = "purged" if done.purged else "forgotten" if done.done else "this would be forgotten"
    if not done.memories:
        screen.print(Text("nothing to forget was found", "yellow"))
        return
    screen.print(
        Text(f"{word}: {format_count(len(done.memories), 'memory')}", "bold green" if done.done else "bold yellow")
    )
    for entry in done.memories:
        _print(screen, _entry(entry, screen))
    if not done.done:
        screen.print(Text(f"nothing was forgotten; to do it: --confirm {done.token}"))
    for title, places in (("removed from", done.erased), ("not reached", done.unreached)):
        if places:
            screen.print(Text(title, "bold"))
        for place in places:
            _print(screen, wrap(Text(f"• {sanitize(place)}"), screen, 2))


def show_stats(stats: MemoryStats) -> None:
    screen = make_console()
    screen.print(
        Text.assemble((format_count(stats.memories, "memory"), "bold"), f" in {', '.join(map(sanitize, stats.scopes))}")
    )
    rows = [("tokens", f"{stats.tokens:,}"), ("superseded", f"{stats.superseded:,}"), ("expired", f"{stats.expired:,}")]
    rows.append(("hidden", f"{stats.hidden:,} forgotten and not purged"))
    if stats.oldest is not None and stats.newest is not None:
        rows.append(("from", f"{format_date(stats.oldest)} to {format_date(stats.newest)}"))
    for title, counts in (("scopes", stats.by_scope), ("categories", stats.by_category), ("tags", stats.by_tag)):
        if counts:
            rows.append(
                (title, ", ".join(f"{sanitize(name)} {number:,}" for name, number in list(counts.items())[:12]))
            )
    for line in align_columns([[Text(name, "dim"), Text(value)] for name, value in rows], right=(), indent=2):
        screen.print(line)


def show_history(changes: Sequence[MemoryChange]) -> None:
    screen = make_console()
    for change in changes:
        ended = "now" if change.until_version is None else f"v{change.until_version}"
        head = Text.assemble((f"v{change.from_version} to {ended}", "bold"), ("  " + sanitize(change.began), "dim"))
        screen.print(head)
        _print(screen, _entry(change.memory, screen))
        if change.ended:
            screen.print(Text(f"  ended: {sanitize(change.ended)}", "dim"))


def show_imported(done: ImportOutcome) -> None:
    parts = [
        f"{format_count(done.stored, 'memory')} stored",
        f"{done.skipped:,} known already",
        f"{done.refused:,} noise",
    ]
    click.echo(", ".join(parts))
    places: dict[str, list[str]] = {}
    for where, why in done.problems:
        places.setdefault(why, []).append(where)
    for why, wheres in places.items():
        more = f" and {len(wheres) - SHOWN_PLACES:,} more" if len(wheres) > SHOWN_PLACES else ""
        click.echo(f"  {sanitize(', '.join(wheres[:SHOWN_PLACES]))}{more}: {sanitize(why)}")


def _print(screen: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        screen.print(line)
