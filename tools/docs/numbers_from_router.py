"""Writes the router's tables in documents from receipts/router.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

RECEIPT = Path(__file__).resolve().parents[2] / "receipts" / "router.json"
Row = Mapping[str, Any]


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def _measured() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(RECEIPT.read_text("utf-8"))["measured"]
    return found


def alone() -> str:
    """Every source by itself."""
    rows = [
        [name, who, f"{seen['R@10']:.3f}", f"{seen['nDCG@10']:.3f}", f"{seen['p50_ms']:.1f}", f"{seen['p95_ms']:.1f}"]
        for name, found in _measured().items()
        for who, seen in found["alone"].items()
    ]
    return _table(["set", "source", "R@10", "nDCG@10", "p50 ms", "p95 ms"], rows)


def triggers(first: str, fusion: str) -> str:
    """One first source under one fusion: how often each trigger asked, what it gained against the first alone, which
    part of the gain of asking always that is, and what a question cost. `always` is shown under every fusion."""
    rows = []
    for name, found in _measured().items():
        own = [row for row in found["triggers"] if row["first"] == first]
        always = next(row for row in own if (row["trigger"], row["fusion"]) == ("always", fusion))
        rows += [
            [name, _trigger(row), *_seen(row), _spent(row), _part(row, always)]
            for row in own
            if row["fusion"] == fusion
        ]
        rows += [
            [name, f"always, {row['fusion']}", *_seen(row), _spent(row), ""]
            for row in own
            if row["trigger"] == "always" and row["fusion"] != fusion
        ]
    head = ["set", "trigger", "asked", "gain R@10", "gain nDCG@10", "stage 2 ms", "of always"]
    shown = len(head) if any(row[-1] for row in rows) else len(head) - 1
    return _table(head[:shown], [row[:shown] for row in rows])


def _trigger(row: Row) -> str:
    return str(row["trigger"]) + ("" if row["threshold"] is None else f" {row['threshold']:g}")


def _seen(row: Row) -> list[str]:
    return [f"{row['used']:.1%}", *(_gain(row["gain"][metric]) for metric in ("R@10", "nDCG@10"))]


def _gain(found: list[float]) -> str:
    mean, low, high = found
    return f"{mean:+.3f} ({low:+.3f} … {high:+.3f})"


def _part(row: Row, always: Row) -> str:
    """Which part of what asking always gains in R@10; nothing where that may be nothing."""
    whole, low, _ = always["gain"]["R@10"]
    return f"{row['gain']['R@10'][0] / whole:.0%}" if low > 0.0 else ""


def _spent(row: Row) -> str:
    return f"{row['ms']['stage2']:.1f}"


def reports() -> str:
    """The routers whose whole report is committed: what stage 2 did, what it gained, and the verdict."""
    rows = []
    for name, found in _measured().items():
        for who, seen in found["reports"].items():
            counters = [str(seen["counters"][f"stage2_{what}"]) for what in ("used", "skipped_budget", "not_triggered")]
            against = [_gain(seen["against"][arm]) for arm in ("first", "second")]
            rows.append(
                [f"{name}, {seen['questions']}", who, *counters, f"{seen['R@10']:.3f}", *against, seen["verdict"]]
            )
    head = ["set, questions", "router", "used", "skipped", "not asked", "R@10", "over first", "over second", "verdict"]
    return _table(head, rows)


WRITERS: dict[str, Callable[[], str]] = {
    "router_alone": alone,
    "router_hybrid": partial(triggers, "hybrid", "rrf"),
    "router_words": partial(triggers, "words", "rrf"),
    "router_reports": reports,
    "router_floor_words": partial(triggers, "floor words", "append_fill"),
    "router_small_store": partial(triggers, "small store", "rrf"),
    "router_five_words": partial(triggers, "five words", "append_fill"),
}
