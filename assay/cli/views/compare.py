"""Prints a comparison of runs: a table of metrics, and the intervals of the strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from assay.cli.terminal import format_count, make_console, sanitize, supports_unicode

if TYPE_CHECKING:
    from assay.bench.receipt import Receipt

WIDTH = 33
"""Columns of the picture."""
ALPHA = 0.05

Row = Mapping[str, Any]


def show(comparison: Receipt) -> None:
    canonical = comparison.canonical
    baseline = canonical["baseline"]
    for system in canonical["systems"][1:]:
        rows = [row for row in canonical["results"] if row["system"] == system["name"]]
        latency = next(row for row in comparison.measured["latency"] if row["system"] == system["name"])
        _head(system["name"], baseline, canonical, rows)
        _metrics([row for row in rows if row["scope"] == "all"])
        click.echo(f"{'latency':<12} {_ratios(latency)}")
        _picture([row for row in rows if row["metric"] == canonical["metrics"][0]])
        click.echo()


def show_pooled(pooled: Receipt) -> None:
    """Over several sets: one table per system and metric, a line per set, and the test over sets."""
    canonical = pooled.canonical
    tests = canonical["tests"]
    for row in canonical["pooled"]:
        system, metric = row["system"], row["metric"]
        click.secho(f"{sanitize(system)} against {sanitize(canonical['baseline'])}", bold=True, nl=False)
        click.echo(f", {sanitize(metric)} over {format_count(row['n'], 'set')}")
        sets = [one for one in canonical["results"] if one["system"] == system and one["metric"] == metric]
        _picture([{**one, "scope": one["set"]} for one in sets], "set")
        click.echo(
            f"mean of sets {row['mean_a']:.4f} → {row['mean_b']:.4f}, {row['difference']:+.4f} "
            f"({row['ci_low']:+.4f} … {row['ci_high']:+.4f}), "
            f"{row['wins']} won, {row['ties']} tied, {row['losses']} lost, p {row['p_adjusted']:.4f}\n"
        )
    click.secho(f"{tests['test']}, one value per set, {tests['draws']:,} draws; p by Holm", dim=True)
    for name, missing in canonical["incomplete"].items():
        click.secho(f"left out: {sanitize(name)} (no {metric} of {', '.join(map(sanitize, missing))})", dim=True)


def _head(system: str, baseline: str, canonical: Row, rows: Sequence[Row]) -> None:
    dataset, tests = canonical["dataset"], canonical["tests"]
    queries = max((row["n"] for row in rows), default=0)
    click.secho(f"{sanitize(system)} against {sanitize(baseline)}", bold=True, nl=False)
    click.echo(f" on {sanitize(dataset['name'])}/{sanitize(dataset['split'])}, {format_count(queries, 'query')}")
    description = (
        f"{tests['test']}, {tests['draws']:,} draws; p by Holm over {format_count(len(canonical['metrics']), 'metric')}"
    )
    others = len(canonical["systems"]) - 1
    click.secho(description + (f" of {format_count(others, 'system')}" if others > 1 else ""), dim=True)


def _metrics(rows: Sequence[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    for name in ("before", "after", "delta", "95 % interval", "p", "effect", "W/T/L"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            sanitize(row["metric"]),
            f"{row['mean_a']:.3f}",
            f"{row['mean_b']:.3f}",
            Text(f"{row['difference']:+.4f}", style=_colour(row)),
            f"{row['ci_low']:+.3f} … {row['ci_high']:+.3f}",
            Text(f"{row['p_adjusted']:.4f}", style="bold" if row["p_adjusted"] <= ALPHA else ""),
            "" if row["d_z"] is None else f"{row['d_z']:+.2f}",
            f"{row['wins']}/{row['ties']}/{row['losses']}",
        )
    make_console().print(table)
    if rows and rows[0]["power"] is not None:
        first = rows[0]
        effect = f"a true difference of {first['effect']:g} in {sanitize(first['metric'])}"
        click.secho(
            f"power: {first['power']:.2f} to show {effect}, 0.80 for one of {first['minimum_effect']:.3f}", dim=True
        )


def _ratios(latency: Row) -> str:
    if latency["why"]:
        return str(latency["why"])
    return "  ".join(f"{name} ×{ratio:.2f}" for name, ratio in latency["ratio"].items()) + "  (timed in turns, one run)"


def _picture(rows: Sequence[Row], by: str = "stratum") -> None:
    """Every scope's interval on one scale: the mean, its interval, and zero."""
    from rich.table import Table
    from rich.text import Text

    if len(rows) < 2:
        return
    low = min(0.0, *(row["ci_low"] for row in rows))
    high = max(0.0, *(row["ci_high"] for row in rows))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{sanitize(rows[0]['metric'])} by {by}", overflow="fold")
    table.add_column("n", justify="right")
    table.add_column("delta", justify="right")
    table.add_column(f"{low:+.3f}".ljust(WIDTH - 6) + f"{high:+.3f}", no_wrap=True)
    table.add_column("p", justify="right")
    for row in rows:
        table.add_row(
            sanitize(row["scope"]),
            str(row["n"]),
            f"{row['difference']:+.4f}",
            Text(bar(row, low, high), style=_colour(row)),
            f"{row['p_adjusted']:.4f}",
        )
    click.echo()
    make_console().print(table)


def bar(row: Row, low: float, high: float, width: int = WIDTH) -> str:
    """`──●──` from the interval's low to its high end, `│` at zero, between `low` and `high` of the whole picture."""
    line, dot, zero = ("─", "●", "│") if supports_unicode() else ("-", "o", "|")

    def place(value: float) -> int:
        return round((value - low) / (high - low) * (width - 1)) if high > low else width // 2

    cells = [" "] * width
    for at in range(place(row["ci_low"]), place(row["ci_high"]) + 1):
        cells[at] = line
    cells[place(0.0)] = zero
    cells[place(row["difference"])] = dot
    return "".join(cells)


def _colour(row: Row) -> str:
    """Green and red only for what is beyond chance."""
    if row["p_adjusted"] > ALPHA:
        return ""
    return "green" if row["difference"] > 0 else "red"
