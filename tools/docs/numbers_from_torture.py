"""Writes what the campaigns of `make torture` found, and what checksums cost, from their receipts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.docs.markdown_table import table

_RECEIPTS = Path(__file__).resolve().parents[2] / "receipts"


def campaigns() -> str:
    """One row for each campaign: the trials done of those planned, what came out, and what broke the promise."""
    rows = []
    for path in sorted((_RECEIPTS / "torture").glob("*.json")):
        report = _read(path)
        outcomes = ", ".join(f"{name} {count:,}" for name, count in report["outcomes"].items() if count)
        trials = f"{report['trials']:,} of {report.get('planned', report['trials']):,}"
        minutes = f"{report.get('trial_seconds', report['seconds']) / 60:.1f}"
        rows.append([path.stem, trials, outcomes, len(report["failures"]), minutes])
    return table(["campaign", "trials", "outcomes", "failures", "minutes"], rows)


def checksums() -> str:
    """What verified files cost, as times of the same steps with and without checksums in one run."""
    report = _read(_RECEIPTS / "checksums.json")
    rows = [[name, f"{ratio:.2f}"] for name, ratio in report["ratios"].items()]
    return table([f"{report['chunks']:,} chunks", "with / without checksums"], rows)


def _read(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))["measured"]
    return report


WRITERS: dict[str, Callable[[], str]] = {"torture": campaigns, "checksums": checksums}
