"""`assay bench gate`: may this result pass?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.options import json_option

if TYPE_CHECKING:
    from assay.bench.receipt import Receipt

_SAID = {"pass": ("GO", "green"), "fail": ("NO-GO", "red"), "not_measured": ("NOT MEASURED", "yellow")}
_MARKS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "not_measured": ("?", "yellow")}
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("receipt", type=_FILE)
@click.option("--against", type=_FILE, metavar="RECEIPT", help="The baseline's receipt.")
@click.option(
    "--rules", default="promote", show_default=True, metavar="NAME|FILE", help="Shipped rules or a TOML file."
)
@click.option("--out", type=_FILE, metavar="FILE", help="Write the verdicts as a receipt.")
@json_option
def gate(receipt: Path, against: Path | None, rules: str, out: Path | None, as_data: bool) -> None:
    """Hold a run against rules; exits with 0, 1 or 2.

    0 is GO: every gate passes. 1 is NO-GO: one fails. 2 is NOT MEASURED: none fails, but something the rules ask
    for was not measured, or the receipts do not fit together. The vocabulary of rules: docs/gates.md.

    \b
    assay bench gate receipts/b.json --against receipts/a.json --rules promote
    """
    from assay.bench.gates.check import EXIT, judge
    from assay.bench.gates.rules import load
    from assay.bench.receipt import read, write
    from assay.cli.terminal import escaped

    found = judge(read(receipt), load(rules), None if against is None else read(against))
    if out is not None:
        write(found, out)
    if as_data:
        click.echo(escaped(found.dumps().rstrip()))
    else:
        show(found)
    raise click.exceptions.Exit(EXIT[found.measured["verdict"]])


def show(found: Receipt) -> None:
    """The verdicts for people: one line for each gate, and the strata that decided it."""
    from assay.cli.terminal import safe

    canonical = found.canonical
    dataset, baseline = canonical["dataset"], canonical["baseline"]
    against = f" against {safe(baseline['name'])}" if baseline else ""
    click.secho(
        f"{safe(canonical['system']['name'])}{against} on {safe(dataset['name'])}/{safe(dataset['split'])}, "
        f"rules {safe(canonical['rules']['name'])}",
        dim=True,
    )
    for one in (*canonical["gates"], *found.measured["gates"]):
        _show_gate(one)
    said, colour = _SAID[found.measured["verdict"]]
    click.secho(said, fg=colour, bold=True)


def _show_gate(one: dict[str, Any]) -> None:
    """The gate; below one of many strata, those that did not pass."""
    findings = one["findings"]
    if len(findings) == 1:
        _line("", one["verdict"], one["name"], one["why"])
        return
    passed = sum(finding["verdict"] == "pass" for finding in findings)
    decisive = "" if one["verdict"] != "pass" else f"; the closest: {one['why']}"
    _line("", one["verdict"], one["name"], f"{passed} of {len(findings)} strata pass{decisive}")
    for finding in findings:
        if finding["verdict"] != "pass":
            _line("    ", finding["verdict"], finding["scope"], finding["why"])


def _line(pad: str, verdict: str, name: str, why: str) -> None:
    from assay.cli.terminal import safe

    mark, colour = _MARKS[verdict]
    click.echo(f"{pad}{click.style(mark, fg=colour, bold=True)} {click.style(safe(name), bold=True)}  {safe(why)}")
