"""Writes the tables of the learned ranker in documents: what it costs, and what it gains on sets that were left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.bench.report.markdown import render_table
from assay.page.tables import ReportTable

BASE = "default-0.1"


def ranker_cost(receipt: Mapping[str, Any]) -> str:
    """Wall and processor time of the presets as multiples of default-0.1, and the median of the step itself."""
    wall, processor = receipt[f"ratio to {BASE}"], receipt[f"processor, ratio to {BASE}"]
    rows = [
        [name, wall[name]["p50_ms"], wall[name]["p95_ms"], processor[name]["p50_ms"], processor[name]["p95_ms"]]
        for name in wall
    ]
    head = [f"{receipt['chunks']:,} chunks", "p50", "p95", "processor p50", "processor p95"]
    return _table(head, rows)


def ranker_left_out(receipt: Mapping[str, Any]) -> str:
    """nDCG@10 of every contender on the test sample of every set, one table per encoder."""
    parts = []
    for encoder, found in receipt.items():
        if encoder == "splits":
            continue
        sets, over = list(found["sets"]), found["over default"]
        rows = []
        for system, mean in found["mean"].items():
            gain = over.get(system)
            changes = [""] * 3
            if gain:
                changes = [_change(gain), f"{gain['wins']}, {gain['losses']}", f"{gain['p']:.3f}"]
            rows.append([system, *(f"{found['test'][system][name]:.3f}" for name in sets), f"{mean:.4f}", *changes])
        head = ["", *sets, "mean", "over default", "won, lost", "p"]
        parts.append(f"**{encoder}**\n\n" + _table(head, rows))
    return "\n".join(parts)


SHOWN = (
    "bm25",
    "dense",
    "rrf",
    "convex-0.5",
    "tm2c2-0.7",
    "dbsf",
    "spread-0.1",
    BASE,
    "equal",
    "learned",
    "default",
    "fusions elsewhere",
    "learned elsewhere",
    "learned elsewhere, with public pairs",
    "five features elsewhere",
    "five features elsewhere, with public pairs",
    "seven features elsewhere",
    "seven features elsewhere, with public pairs",
    "all features elsewhere",
    "all features elsewhere, with public pairs",
)


def ranker_transfer(receipt: Mapping[str, Any]) -> str:
    """nDCG@10 of the main contenders on the test sample of every set, one table per encoder."""
    parts = []
    for encoder, found in receipt.items():
        if encoder in ("splits", "between"):
            continue
        sets, over, legs = list(found["sets"]), found[f"over {BASE}"], found["over the better leg"]
        rows = []
        for system in SHOWN:
            if system not in found["mean"]:
                continue
            gain, worst = over.get(system), ""
            if system in legs:
                name = min(sets, key=lambda one: float(legs[system][one]["difference"]))
                one = legs[system][name]
                worst = f"{name} {one['difference']:+.3f} ({one['ci_low']:+.3f} … {one['ci_high']:+.3f})"
            change = _change(gain) if gain else ""
            won = f"{gain['wins']}, {gain['losses']}" if gain else ""
            scores = [f"{found['test'][system][name]:.3f}" for name in sets]
            rows.append([system, *scores, f"{found['mean'][system]:.4f}", change, won, worst])
        head = ["", *sets, "mean", f"over {BASE}", "won, lost", "least over the better leg"]
        parts.append(f"**{encoder}**\n\n" + _table(head, rows))
    return "\n".join(parts)


def ranker_between(receipt: Mapping[str, Any]) -> str:
    """The contenders of the other encoders against the base on the first: over sets, over questions, and the sets that
    gain and lose most."""
    parts = []
    for encoder, found in receipt["between"].items():
        rows = []
        for system in SHOWN:
            if system not in found:
                continue
            over, within = found[system]["over sets"], found[system]["within sets"]
            low, high = (f(within, key=lambda one: float(within[one]["difference"])) for f in (min, max))
            rows.append(
                [
                    system,
                    f"{over['mean_b']:.4f}",
                    _change(over),
                    f"{over['wins']}, {over['losses']}",
                    _change(found[system]["over questions"]),
                    *(f"{name} {within[name]['difference']:+.3f}" for name in (low, high)),
                ]
            )
        head = [encoder, "mean", f"over {BASE} of the first encoder", "won, lost", "over questions", "least", "most"]
        parts.append(_table(head, rows))
    return "\n".join(parts)


def _change(one: Mapping[str, float]) -> str:
    return f"{one['difference']:+.4f} ({one['ci_low']:+.4f} … {one['ci_high']:+.4f})"


def rerank_pipeline(receipt: Mapping[str, Any]) -> str:
    """nDCG@10 of the best pipelines on the sample of every set, and the differences to the base over sets."""
    sets, over = list(receipt["sets"]), receipt[f"over {BASE}"]
    rows = []
    for system, mean in receipt["mean"].items():
        gain = over.get(system)
        change = _change(gain) if gain else ""
        won = f"{gain['wins']}, {gain['losses']}" if gain else ""
        rows.append([system, *(f"{receipt['test'][system][name]:.3f}" for name in sets), f"{mean:.4f}", change, won])
    return _table(["", *sets, "mean", f"over {BASE}", "won, lost"], rows)


def ranker_public(receipt: Mapping[str, Any]) -> str:
    """The sources of public pairs as unseen sets: differences to the base over sources."""
    found = receipt["minilm"]
    means = {name: sum(row.values()) / len(row) for name, row in found["public test"].items()}
    rows = [[BASE, f"{means[BASE]:.4f}", "", "", ""]]
    for name, one in found[f"public over {BASE}"].items():
        rows.append([name, f"{means[name]:.4f}", _change(one), f"{one['wins']}, {one['losses']}", f"{one['p']:.3f}"])
    return _table([f"{len(found['public'])} sources", "mean", f"over {BASE}", "won, lost", "p"], rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    return render_table(ReportTable(tuple(head), tuple(tuple(str(cell) for cell in row) for row in rows)))
