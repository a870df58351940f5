"""Writes the vector cascade's tables in documents from receipts/cascade.json and receipts/cascade."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.bench.receipt import Receipt, read

RECEIPTS = Path(__file__).resolve().parents[2] / "receipts"
_SCORES = ("Success@1", "Success@5", "Success@10", "RR@10")


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def grids() -> str:
    """The rows of both banks: what a stage adds, at K0 500 and nprobe 16, and the verdicts."""
    found = [read(path) for path in (RECEIPTS / "cascade" / "real.json", RECEIPTS / "cascade" / "planted.json")]
    text = _table(
        ["bank", "row", "Hit@1", "Hit@5", "Hit@10", "MRR@10"], [row for receipt in found for row in _rows(receipt)]
    )
    return text + "\n" + "\n".join(f"- {_verdict(receipt)}" for receipt in found) + "\n"


def _rows(receipt: Receipt) -> list[list[str]]:
    grid = receipt.canonical
    rows = dict(grid["rows"])
    for cell in sorted(grid["cells"], key=lambda one: -float(one["lambda"])):
        if (cell["k0"], cell["nprobe"]) == (500, 16):
            rows["lvm-only" if cell["lambda"] == 1.0 else f"cascade, λ {cell['lambda']:g}"] = cell["scores"]
    rows.pop("faiss-only nprobe 8", None)
    return [
        [grid["dataset"]["name"], name, *(f"{scores[metric]:.3f}" for metric in _SCORES)]
        for name, scores in rows.items()
    ]


def _verdict(receipt: Receipt) -> str:
    grid, measured, chosen = receipt.canonical, receipt.measured, receipt.measured["chosen"]
    which = "no configuration passes"
    if chosen:
        used = "-".join(dict.fromkeys(str(f(map(int, chosen["nprobe_used"]))) for f in (min, max)))
        which = f"K0 {chosen['k0']}, λ {chosen['lambda']:g}, nprobe {chosen['nprobe']} (used {used})"
    (goal,) = measured["goal"]
    doubts = f" Doubt: {'; '.join(grid['doubts'])}." if grid["doubts"] else ""
    return (
        f"{grid['dataset']['name']} ({grid['index']['vectors']:,} × {grid['index']['dim']}, {grid['questions']:,} "
        f"questions): {which}; goal Hit@5 ≥ 0.78: {goal['verdict']} ({goal['observed']:.3f}).{doubts}"
    )


def codes() -> str:
    """How often the code of what follows says the same as the current one, on both banks."""
    found = [read(RECEIPTS / "cascade" / name).canonical for name in ("real.json", "planted.json")]
    return _table(
        ["bank", "same lane", "same domain", "same task"],
        [
            [
                grid["dataset"]["name"],
                *(f"{grid['codes_agree'][field]:.1%}" for field in ("lane", "domain", "task")),
            ]
            for grid in found
        ],
    )


def models() -> str:
    """Next-vector models alone, on both banks."""
    found: Mapping[str, Any] = json.loads((RECEIPTS / "cascade_models.json").read_text("utf-8"))["measured"]
    rows = []
    for bank, grid in found.items():
        for name, one in grid.items():
            if isinstance(one, Mapping):
                scores = [f"{one[metric]:.3f}" for metric in _SCORES]
                rows.append([f"{bank} ({grid['windows']:,} windows)", name, f"{one['train_s']}", *scores])
    return _table(["bank", "model", "trained in s", "Hit@1", "Hit@5", "Hit@10", "MRR@10"], rows)


def ways() -> str:
    """Ways to guess the next vector against staying put, on real text."""
    found: Mapping[str, Any] = json.loads((RECEIPTS / "cascade_next.json").read_text("utf-8"))["measured"]
    tasks = ("next", "next, past left out", "section, past left out")
    rows = []
    for way, row in found["rows"].items():
        cells = []
        for task in tasks:
            mean, low, high = row[task]["over_identity"]
            over = "" if way == "identity" else f" ({mean:+.3f}, {low:+.3f} … {high:+.3f})"
            cells.append(f"{row[task]['hit@5']:.3f}{over}")
        rows.append([f"{way} {row['setting']}".strip(), *cells])
    return _table(["searched with", *tasks], rows)


def size() -> str:
    """Speed at 637k × 768, beside what was promised."""
    path = RECEIPTS / "cascade.json"
    if not path.is_file():
        return "No receipt.\n"
    found: Mapping[str, Any] = json.loads(path.read_text("utf-8"))["measured"]
    built, timed, ms = found["built"], found["latency"], found["latency"]["ms"]
    mark = {True: "yes", False: "**no**"}
    rows = [
        ["FAISS's own search, p50 / p95 ms", f"{ms['faiss_own']['p50']} / {ms['faiss_own']['p95']}", ""],
        [
            "whole cascade, p50 / p95 ms",
            f"{ms['total']['p50']} / {ms['total']['p95']}",
            f"≤ {timed['bound_ms']} (1.2x + 2): {mark[timed['total_p95_within_bound']]}; "
            f"< 30: {mark[timed['total_p95_below_30_ms']]}",
        ],
        [
            "scoring 500 by lvm and tmd, p50 / p95 ms",
            f"{ms['scoring']['p50']} / {ms['scoring']['p95']}",
            f"< 1: {mark[timed['scoring_500_p95_below_1_ms']]}",
        ],
        ["opening bank, index and model, s", f"{found['open_s']}", f"< 1: {mark[found['open_s'] < 1.0]}"],
        ["same answers across runs and threads", mark[found["same_answers_across_runs_and_threads"]], ""],
        ["planting / indexing / training, s", f"{built['plant_s']} / {built['index_s']} / {built['train_s']}", ""],
        ["peak memory while building, MB", f"{built['peak_mb']:,}", ""],
    ]
    quality = found["quality"]
    scores = [[n, *(f"{quality[n][m]:.3f}" for m in _SCORES)] for n in ("lvm_only", "cascade")]
    head = f"{built['vectors']:,} × {built['dim']}, {built['index']['nlist']} lists, nprobe 16, one thread"
    return (
        _table([head, "measured", "promised"], rows)
        + "\n"
        + _table(["row", "Hit@1", "Hit@5", "Hit@10", "MRR@10"], scores)
    )


WRITERS: dict[str, Callable[[], str]] = {
    "cascade_grids": grids,
    "cascade_next": ways,
    "cascade_codes": codes,
    "cascade_models": models,
    "cascade": size,
}
