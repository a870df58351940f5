"""Sentences that both forms of the report share: what was run, what went wrong, and what a verdict means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.bench.rb006.measures.curves import GRID
from assay.bench.receipt import Receipt


def describe_run(receipt: Receipt) -> list[str]:
    """What was measured, where it was judged, and what limits it."""
    canonical = receipt.canonical
    settings, suite = canonical["settings"], canonical["suite"]
    scales = ", ".join(f"{scale:,}" for scale in settings["scales"])
    lines = [
        f"World {suite['templates']}, base {suite['base']}, seed {suite['seed']}, {suite['queries']} queries; corpora "
        f"of {scales} chunks, judged at {canonical['judged_at']:,}. The gated arm is {settings['race']}, the rerank "
        f"stage {settings['rerank']}; both were declared before the run."
    ]
    if settings["quick"]:
        lines.append("A quick run: tiny corpora and a few queries to exercise the code. Its numbers mean nothing.")
    elif canonical["judged_at"] != canonical["declared"]["scale"]:
        lines.append(
            f"Not a verdict of record: the declared scale is {canonical['declared']['scale']:,} chunks, this run "
            f"stopped at {canonical['judged_at']:,}."
        )
    if suite["templates"] == "dev":
        lines.append("The dev world is for tuning: these numbers choose settings and prove nothing.")
    if note := receipt.measured.get("note"):
        lines.append(f"What changed: {note}")
    if clock := receipt.measured.get("clock"):
        minutes = receipt.measured.get("minutes", {})
        spent = ", ".join(f"{value:.3g} minutes at {int(scale):,} chunks" for scale, value in minutes.items())
        lines.append(f"Measured {clock}" + (f"; the queries of all systems took {spent}." if spent else "."))
    return lines


def describe_troubles(receipt: Receipt) -> list[str]:
    """The systems whose queries failed, or ran without a part that they need: their numbers are not those of the
    system that the name stands for."""
    lines = []
    messages = receipt.measured.get("messages", {})
    for scale, at in receipt.canonical["scales"].items():
        for name, one in sorted(at["systems"].items()):
            for kind, says in (("failed", "failed"), ("degraded", "ran with less than they need")):
                if kind in one:
                    why = f": {messages[name][0]}" if messages.get(name) else "."
                    count = f"{one[kind]} of {len(at['queries'])} feasible queries"
                    lines.append(f"{name} at {int(scale):,} chunks: {count} {says}{why}")
    return lines


def describe_verdict(verdict: Mapping[str, Any]) -> str:
    """Why a hypothesis has its outcome."""
    failed = [line for line in verdict["go"] if line["verdict"] == "fail"]
    unknown = [line for line in verdict["go"] if line["verdict"] == "not_measured"]
    if verdict["outcome"] == "GO":
        return "Every go line holds."
    if verdict["outcome"] == "KILL":
        held = sum(line["verdict"] == "pass" for line in verdict["kill"])
        return f"{held} of {len(verdict['kill'])} kill lines hold ({verdict['kill_when']} of them decides)."
    parts = []
    if failed:
        parts.append(f"{len(failed)} of {len(verdict['go'])} go lines fail")
    if unknown:
        parts.append(f"{len(unknown)} not measured")
    return f"{', '.join(parts)}." if parts else ""


def describe_line(line: Mapping[str, Any]) -> str:
    """A threshold with what was observed: ".041, ≥ .08"."""
    if line["observed"] is None:
        return f"not measured, {_sign(line['op'])} {line['threshold']:g}"
    observed = f"{line['observed']:.3f}" if isinstance(line["observed"], float) else str(line["observed"])
    if line["value"] == "budget_at_parity" and line["observed"] > GRID[-1]:
        observed = f"above {GRID[-1]}"
    return f"{observed}, {_sign(line['op'])} {line['threshold']:g}"


def _sign(op: str) -> str:
    return {">=": "≥", "<=": "≤"}.get(op, op)
