"""What to fix first: the failing lines with the losses behind them, the largest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.bench.rb006.diagnostics.losses import REASONS

MOST = 6
_CURES = {
    "choice": "the confidence of the race: it sends these to the wrong path",
    "routing": "the router or its expansion: these walks lose their evidence on the way down",
    "hop": "the bridges: entities of the first hop that lead nowhere, or to too many chunks",
    "ranking": "the score of chunks, or the rerank stage",
    "selection": "the selector: the pool has the evidence, the 400 tokens do not",
}


def list_advice(canonical: Mapping[str, Any]) -> list[str]:
    """At most MOST sentences, the most valuable first. Every number is in the receipt."""
    at = canonical["scales"][str(canonical["judged_at"])]
    found = [*_stopped(canonical), *_losses(at), *_routing(at), *_detection(at), *_strata(at)]
    return found[:MOST]


def _stopped(canonical: Mapping[str, Any]) -> list[str]:
    open_stages = [stage["title"] for stage in canonical["stages"] if stage["state"] == "not run"]
    if not open_stages:
        return []
    return [f"The run stopped at a kill line; not measured: {', '.join(open_stages).lower()}."]


def _losses(at: Mapping[str, Any]) -> list[str]:
    losses = at["losses"]
    if not losses or not losses["missed"]:
        return []
    lines = []
    for reason, count in sorted(losses["reasons"].items(), key=lambda item: (-item[1], item[0]))[:3]:
        strata = sorted(
            ((one["reasons"].get(reason, 0), tag) for tag, one in losses["strata"].items()), key=lambda x: (-x[0], x[1])
        )
        where = ", ".join(f"{tag} {number}" for number, tag in strata[:3] if number)
        lines.append(
            f"{count} of {losses['missed']} missed feasible queries: {REASONS[reason]} ({where}). "
            f"Look at {_CURES[reason]}."
        )
    return lines


def _routing(at: Mapping[str, Any]) -> list[str]:
    bad = [line for line in at["nodes"] if line["missed"]][:3]
    if not bad:
        return []
    shown = ", ".join(f"node {n['node']} (level {n['level']}, {n['missed']} of {n['walks']} walks)" for n in bad)
    return [f"Most routing errors happen at {shown}."]


def _detection(at: Mapping[str, Any]) -> list[str]:
    kinds = at["detection"].get("kinds", {})
    weak = [(one["recall"], kind) for kind, one in kinds.items() if one["recall"] is not None and one["recall"] < 0.7]
    if not weak:
        return []
    shown = ", ".join(f"{kind.replace('_', ' ')} {recall:.2f}" for recall, kind in sorted(weak))
    return [f"The detector misses impossible queries; recall by kind: {shown}."]


def _strata(at: Mapping[str, Any]) -> list[str]:
    worse = [line for line in at["strata"] if line["difference"] < 0.0]
    if not worse:
        return []
    shown = ", ".join(
        f"{line['stratum']} {line['difference']:+.3f} (n {line['n']})"
        for line in sorted(worse, key=lambda line: line["difference"])[:3]
    )
    return [f"Below the flat baseline at 400 tokens: {shown}."]
