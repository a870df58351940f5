"""Writes the tables of token-budgeted contexts in documents from receipts/context."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.bench.report.markdown import render_table
from assay.page.tables import ReportTable

RECEIPTS = Path(__file__).resolve().parents[2] / "receipts" / "context"
SETS = ("hotpotqa", "chunking_eval", "covidqa_long", "qed", "fever_eraser", "multihoprag_facts")
BUDGETS = (200, 400, 800)
ABLATIONS = (
    *("default", "without terms", "without names", "without facets", "without hops", "without words"),
    *("without sentence", "relevance only"),
)


def _read(name: str) -> Any:
    return json.loads((RECEIPTS / f"{name}.json").read_text("utf-8"))["measured"]


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    return render_table(ReportTable(tuple(head), tuple(tuple(str(cell) for cell in row) for row in rows)))


def _signed(value: float) -> str:
    return f"{value:+.3f}"


def _gain(one: Mapping[str, Any]) -> str:
    low, high = one["interval"]
    return f"{_signed(one['mean'])} [{_signed(low)}, {_signed(high)}]"


def gains(arm: str, split: str = "test") -> str:
    """A of the naive packer and what an arm adds to it, set by set."""
    rows = []
    for name in SETS:
        found = _read(name)[split]
        naive = found["means"]["naive"]
        cells = [f"{naive[f'A@{budget}tok']:.3f} {_gain(found['gains'][arm][f'A@{budget}tok'])}" for budget in BUDGETS]
        rows.append([name, found["queries"], *cells])
    mean = _read("summary")[split][arm]
    rows.append(["mean gain", "", *(_signed(mean[f"A@{budget}tok"]) for budget in BUDGETS)])
    return _table(["set", "questions", *(f"A@{budget}" for budget in BUDGETS)], rows)


def arms(split: str = "test") -> str:
    """The mean gain of every arm over its baseline."""
    summary = _read("summary")[split]
    rows = [[arm, *(_signed(found[f"A@{budget}tok"]) for budget in BUDGETS)] for arm, found in summary.items()]
    return _table(["arm", *(f"A@{budget}" for budget in BUDGETS)], rows)


def evidence(split: str = "test") -> str:
    """ER, EP and answers in the context at 200 tokens, naive and coverage."""
    rows = []
    for name in SETS:
        means = _read(name)[split]["means"]
        pairs = [
            (means["naive"][f"{measure}@200tok"], means["coverage"][f"{measure}@200tok"])
            for measure in ("ER", "EP", "AIC")
        ]
        rows.append([name, *("–" if a is None else f"{a:.3f} → {b:.3f}" for a, b in pairs)])
    return _table(["set", "ER@200", "EP@200", "AIC@200"], rows)


def ablations() -> str:
    """A@200 of the coverage packer without each of its parts, less naive, on the mean of all sets."""
    rows = []
    for variant in ABLATIONS:
        cells = []
        for split in ("dev", "test"):
            differences = [
                _read(name)[split]["variants"][variant] - _read(name)[split]["means"]["naive"]["A@200tok"]
                for name in SETS
            ]
            cells.append(_signed(sum(differences) / len(differences)))
        rows.append([variant, *cells])
    return _table(["coverage packer", "dev", "test"], rows)


def held_out() -> str:
    """Each set with the constants that are best on the dev splits of the others."""
    summary = _read("summary")
    rows = [[name, one["variant"], _signed(one["test"])] for name, one in summary["leave_one_out"].items()]
    return _table(
        ["set", "chosen on the others", "gain A@200, test"],
        [*rows, ["mean", "", _signed(summary["leave_one_out_mean"])]],
    )


def signals() -> str:
    """A on dev with each sentence score in the place of the packer's."""
    rows = [[name, *(f"{value:.3f}" for value in found.values())] for name, found in _read("signals")["mean"].items()]
    return _table(["sentence score", "A@200", "A@400"], rows)


def latency() -> str:
    """Search alone, and with each packer."""
    found = _read("latency")
    rows = [
        [name, times["p50_ms"], times["p95_ms"], found["ratio_to_search"][name]]
        for name, times in found["times"].items()
    ]
    cold = found["cold_encoding"]
    rows.append(
        ["first sight of the sentences, added", cold["p50_ms"], cold["p95_ms"], found["cold_encoding_ratio_to_search"]]
    )
    return _table(["what", "p50 ms", "p95 ms", "p50 / search"], rows)


WRITERS: dict[str, Callable[[], str]] = {
    "context_gains": lambda: gains("coverage"),
    "context_arms": arms,
    "context_evidence": evidence,
    "context_ablations": ablations,
    "context_held_out": held_out,
    "context_signals": signals,
    "context_latency": latency,
}
