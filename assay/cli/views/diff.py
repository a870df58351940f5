"""Prints what changes between two pipelines: a summary, then the most changed queries with the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from assay.bench.diff import Difference, Moved, RankingChange
from assay.cli.terminal import format_count, make_console, sanitize
from assay.cli.views.layout import spread_ends, wrap

MOST_MOVED = 6
"""Chunks shown of one query; the others are counted."""


def show(difference: Difference, names: tuple[str, str], top: int) -> None:
    screen = make_console()
    a, b = (sanitize(name) for name in names)
    if difference.digests["a"] == difference.digests["b"]:
        screen.print(Text.assemble(("Nothing changes: ", "bold green"), f"{a} and {b} are the same pipeline"))
        screen.print(Text(f"digest {difference.digests['a'][:12]}", "dim"))
        return
    for line in _summary(difference, a, b, screen):
        screen.print(line)
    changed = [change for change in difference.changes if not change.unchanged]
    for change in changed[:top]:
        screen.print()
        for line in _change(change, screen):
            screen.print(line)
    if len(changed) > top:
        screen.print(
            Text(f"\n… and {format_count(len(changed) - top, 'changed query')} more: --top {len(changed)}", "dim")
        )


def _summary(difference: Difference, a: str, b: str, screen: Console) -> Iterator[Text]:
    queries = format_count(len(difference.changes), "query")
    if difference.unchanged == 1.0:
        yield Text(f"Nothing changes in the first {difference.k} of {queries}.", "bold green")
    else:
        yield Text.assemble((f"{a} → {b}", "bold"), f" · {queries}, first {difference.k}")
        yield Text(
            f"{difference.unchanged:.0%} unchanged · another first result for {difference.top_changed:.0%} · "
            f"mean overlap {difference.mean_overlap:.2f} · mean rank-biased overlap {difference.mean_rbo:.3f}"
        )
    if difference.ms is not None and difference.latency_ratio is not None:
        yield Text(
            f"{b} takes {difference.latency_ratio:.2f}× the time of {a} "
            f"(medians {difference.ms[1]:.1f} and {difference.ms[0]:.1f} ms, in turns, without embedding the query)",
            "dim",
        )
    for line in dict.fromkeys(line for change in difference.changes for line in change.degraded):
        yield from wrap(Text(f"! {sanitize(line)}", "yellow"), screen, 0)


def _change(change: RankingChange, screen: Console) -> Iterator[Text]:
    times = f" ×{change.query.times}" if change.query.times > 1 else ""
    left = Text.assemble((sanitize(change.query.text), "bold"), (times, "dim"))
    flag = "first result changed · " if change.top_changed else ""
    yield from spread_ends(
        left, Text(f"{flag}overlap {change.overlap:.2f} · rbo {change.rbo:.3f}", "yellow"), screen.width
    )
    ordered = sorted(change.moved, key=_weight)
    for moved in ordered[:MOST_MOVED]:
        yield from _moved(moved, screen)
    if len(ordered) > MOST_MOVED:
        yield Text(f"  … and {len(ordered) - MOST_MOVED} more moved", "dim")


def _weight(moved: Moved) -> tuple[bool, int, bool]:
    """What entered and left before what only moved, and of these what touches the top first."""
    ranks = [rank for rank in (moved.before, moved.after) if rank is not None]
    return len(ranks) == 2, min(ranks), moved.after is None


def _moved(moved: Moved, screen: Console) -> Iterator[Text]:
    if moved.before is None:
        sign, colour, rank = "+", "green", f"#{moved.after}"
    elif moved.after is None:
        sign, colour, rank = "−", "red", f"#{moved.before}"
    else:
        sign, colour, rank = "·", "cyan", f"#{moved.before} → #{moved.after}"
    title = sanitize(moved.title or moved.doc_id)
    yield Text.assemble((f"  {sign} {rank:<9} ", colour), title, (f"  {sanitize(moved.id[:8])}", "dim"))
    if moved.before is None or moved.after is None:
        yield from wrap(Text(f"A: {sanitize(moved.why_before)} · B: {sanitize(moved.why_after)}", "dim"), screen, 14)
