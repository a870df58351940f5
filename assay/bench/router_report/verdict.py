"""The one verdict of a router report: the command's exit code, the JSON and the Markdown all read it here.

pass          every gate holds
recall_loss   all that fails is recall against the second source, and the report has its size and interval: the
              router policy accepts a loss that is quantified
fail          any other gate fails
not_measured  no gate fails, but one could not be measured
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.bench.receipt import Receipt

EXIT_CODES: Mapping[str, int] = {"pass": 0, "fail": 1, "not_measured": 2, "recall_loss": 6}


def decide_verdict(gate: Receipt, compared: Sequence[Mapping[str, Any]], second: str) -> dict[str, Any]:
    """The verdict over all gates of a gate receipt, timed ones included. `second` is the name of the baseline arm."""
    gates = [*gate.canonical["gates"], *gate.measured["gates"]]
    verdict = gate.measured["verdict"]
    failed = [one for one in gates if one["verdict"] == "fail"]
    measured = all(one["verdict"] != "not_measured" for one in gates)
    if failed and measured and all(_is_quantified(one["rule"], compared, second) for one in failed):
        verdict = "recall_loss"
    return {
        "verdict": verdict,
        "exit_code": EXIT_CODES[verdict],
        "gates": [{key: one[key] for key in ("name", "verdict", "observed", "why")} for one in gates],
    }


def _is_quantified(rule: Mapping[str, Any], compared: Sequence[Mapping[str, Any]], second: str) -> bool:
    """Is it a rule about recall against the second source, and does the report have the difference?"""
    if not rule.get("relative") or not rule["metric"].startswith("R@"):
        return False
    return any(row["against"] == second and row.get("metric") == rule["metric"] for row in compared)
