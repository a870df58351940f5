"""`assay bench gate`: check a run against rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.options import json_option

if TYPE_CHECKING:
    from assay.bench.receipt import Receipt

_WORDS = {"pass": ("GO", "green"), "fail": ("NO-GO", "red"), "not_measured": ("NOT MEASURED", "yellow")}
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
    from assay.bench.gates.rules import load_rules
    from assay.bench.gates.verdicts import EXIT_CODES, judge_receipt
    from assay.bench.receipt import read, write
    from assay.cli.terminal import escape_json

    verdicts = judge_receipt(read(receipt), load_rules(rules), None if against is None else read(against))
    if out is not None:
        write(verdicts, out)
    if as_data:
        click.echo(escape_json(verdicts.dumps().rstrip()))
    else:
        show(verdicts)
    raise click.exceptions.Exit(EXIT_CODES[verdicts.measured["verdict"]])


def show(verdicts: Receipt) -> None:
    """The verdicts for people: one line for each gate, and the strata that decided it."""
    from assay.cli.terminal import sanitize

    canonical = verdicts.canonical
    dataset, baseline = canonical["dataset"], canonical["baseline"]
    against = f" against {sanitize(baseline['name'])}" if baseline else ""
    data = f"{sanitize(dataset['name'])}/{sanitize(dataset['split'])}"
    click.secho(
        f"{sanitize(canonical['system']['name'])}{against} on {data}, rules {sanitize(canonical['rules']['name'])}",
        dim=True,
    )
    for gate in (*canonical["gates"], *verdicts.measured["gates"]):
        _show_gate(gate)
    word, colour = _WORDS[verdicts.measured["verdict"]]
    click.secho(word, fg=colour, bold=True)


def _show_gate(result: dict[str, Any]) -> None:
    """The gate; below one of many strata, those that did not pass."""
    findings = result["findings"]
    if len(findings) == 1:
        _line("", result["verdict"], result["name"], result["why"])
        return
    passed = sum(finding["verdict"] == "pass" for finding in findings)
    decisive = "" if result["verdict"] != "pass" else f"; the closest: {result['why']}"
    _line("", result["verdict"], result["name"], f"{passed} of {len(findings)} strata pass{decisive}")
    for finding in findings:
        if finding["verdict"] != "pass":
            _line("    ", finding["verdict"], finding["scope"], finding["why"])


def _line(pad: str, verdict: str, name: str, why: str) -> None:
    from assay.cli.terminal import sanitize

    mark, colour = _MARKS[verdict]
    click.echo(
        f"{pad}{click.style(mark, fg=colour, bold=True)} {click.style(sanitize(name), bold=True)}  {sanitize(why)}"
    )
