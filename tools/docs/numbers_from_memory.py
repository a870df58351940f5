"""Writes the tables of agent memory in documents from receipts/memory."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from assay.bench.receipt import Receipt, read
from assay.bench.report import Report, build_report
from assay.bench.report.markdown import render_table
from assay.bench.stats.paired import compare_pair
from assay.page.tables import ReportTable

RECEIPTS = Path(__file__).resolve().parents[2] / "receipts" / "memory"


def memory(split: str = "test@end") -> str:
    """The memory preset and what it is compared with: quality by turn and by session, and silence."""
    boards = {board.dataset["name"]: board for board in _report().boards if board.dataset["split"] == split}
    names = [
        run.system
        for run in boards["locomo"].systems
        if not run.system.startswith(("memory-", "recall-")) and run.system in boards["locomo_sessions"].receipts
    ]
    order = sorted(names, key=lambda name: -_mean(boards["locomo"].receipts[name], "nDCG@10"))
    rows = []
    for name in order:
        cells = [name]
        for level in ("locomo", "locomo_sessions"):
            receipt = boards[level].receipts[name]
            cells += [f"{_mean(receipt, metric):.3f}" for metric in ("nDCG@10", "R@5")]
            cells += [
                f"{receipt.canonical['abstention'][key]:.3f}" for key in ("silent", "wrongly_silent", "separation")
            ]
        rows.append(tuple(cells))
    level = ("nDCG@10", "R@5", "silent", "wrongly silent", "separation")
    head = ("system", *(f"turn: {name}" for name in level), *(f"session: {name}" for name in level))
    return render_table(ReportTable(head, tuple(rows)))


def memory_kinds(split: str = "test@end") -> str:
    """nDCG@10 by turn and by session for every kind of question; both levels ask the same ones."""
    boards = {board.dataset["name"]: board for board in _report().boards if board.dataset["split"] == split}
    systems, levels = ("bm25", "dense", "default", "memory"), (boards["locomo"], boards["locomo_sessions"])
    canonical = boards["locomo"].receipts["memory"].canonical
    sizes = {name: len(places) for name, places in canonical["strata"].items()}
    rows = [
        (
            stratum,
            f"{sizes[stratum]}",
            *(f"{_mean(board.receipts[name], 'nDCG@10', stratum):.3f}" for board in levels for name in systems),
        )
        for stratum in canonical["aggregates"]
        if stratum.startswith("type=")
    ]
    named = (f"{level}: {name}" for level in ("turn", "session") for name in systems)
    return render_table(ReportTable(("questions", "n", *named), tuple(rows)))


def memory_ablations(split: str = "test@end") -> str:
    """What the preset loses or gains without each stage: its nDCG@10 minus that of the whole, paired."""
    boards = {board.dataset["name"]: board for board in _report().boards if board.dataset["split"] == split}
    rows = []
    for name in sorted(boards["locomo"].receipts):
        if not name.startswith("memory-"):
            continue
        cells = [name.removeprefix("memory-")]
        for level in ("locomo", "locomo_sessions"):
            board = boards[level]
            pair = [board.receipts["memory"], board.receipts[name]]
            comparison = build_report(pair, board.metric, "memory").boards[0].test(name)
            assert comparison is not None
            p = comparison.paired
            cells += [f"{p.difference:+.4f}", f"{p.ci_low:+.3f} … {p.ci_high:+.3f}", f"{p.p:.3f}"]
        rows.append(tuple(cells))
    head = ("without", "turn: Δ", "95 %", "p", "session: Δ", "95 % ", "p ")
    return render_table(ReportTable(head, tuple(rows)))


def recall() -> str:
    """The presets on conversation memory: nDCG@10, and Success@1 by kind of question about changing facts."""
    boards = {(board.dataset["name"], board.dataset["split"]): board for board in _report().boards}
    sets = [("locomo", "test@end"), ("locomo_sessions", "test@end"), ("beam", "test@end")]
    facts = boards["changing_facts", "test"]
    kinds = ("present", "past", "previous", "as_of", "apart")
    rows = []
    for name in ("recall", "learned", "default", "bm25", "dense", "memory"):
        cells = [name]
        for place in sets:
            receipt = boards[place].receipts.get(name)
            cells.append("–" if receipt is None else f"{_mean(receipt, 'nDCG@10'):.3f}")
        receipt = facts.receipts.get(name)
        cells += ["–" if receipt is None else f"{_mean(receipt, 'Success@1', f'type={kind}'):.3f}" for kind in kinds]
        rows.append(tuple(cells))
    head = ("system", "LoCoMo turn", "LoCoMo session", "BEAM", *(f"facts: {kind.replace('_', ' ')}" for kind in kinds))
    return render_table(ReportTable(head, tuple(rows)))


def recall_intervals() -> str:
    """`recall` minus each other preset on every confirming split: nDCG@10, and Success@1 for changing facts, paired."""
    boards = {(board.dataset["name"], board.dataset["split"]): board.receipts for board in _report().boards}
    sets = {
        "LoCoMo turn": (boards["locomo", "test@end"], "nDCG@10"),
        "LoCoMo session": (boards["locomo_sessions", "test@end"], "nDCG@10"),
        "BEAM": (boards["beam", "test@end"], "nDCG@10"),
        "facts, first": (boards["changing_facts", "test"], "Success@1"),
    }
    rows = []
    for name in ("learned", "default", "bm25", "dense", "memory"):
        cells = [name]
        for receipts, metric in sets.values():
            if name not in receipts:
                cells.append("–")
                continue
            other, own = (np.array(receipts[system].canonical["scores"][metric]) for system in (name, "recall"))
            paired = compare_pair(other, own)
            cells.append(f"{paired.difference:+.3f} ({paired.ci_low:+.3f} … {paired.ci_high:+.3f})")
        rows.append(tuple(cells))
    return render_table(ReportTable(("recall minus", *sets), tuple(rows)))


def memory_store() -> str:
    """Storing many memories at once, and one by one."""
    measured = json.loads((RECEIPTS.parent / "memory_store.json").read_text("utf-8"))["measured"]
    many, used, turns = measured["store_many"], measured["processor"], measured["in turns"]
    first = f"`store_many`, {measured['memories']:,} into an empty memory"
    rows = (
        (f"{first}, processor time of all threads", f"{used['seconds']}", f"{used['ms each']}"),
        (f"{first}, by the clock", f"{many['seconds']}", f"{many['ms each']}"),
        ("`store_many`, blocks of 100 into that memory, by the clock", "–", f"{turns['store_many, ms each']}"),
        ("`store`, one by one into that memory, by the clock", "–", f"{turns['store, ms each']}"),
    )
    size = (
        f"Memories of {measured['characters (mean)']} characters on average, on two cores that shared a load of "
        f"{measured['load before']} with other work.\n\n"
    )
    return size + render_table(ReportTable(("what", "s", "ms each"), rows))


@cache
def _report() -> Report:
    return build_report([read(path) for path in sorted(RECEIPTS.glob("*.json"))])


def _mean(receipt: Receipt, metric: str, scope: str = "all") -> float:
    return float(receipt.canonical["aggregates"][scope][metric] or 0.0)


WRITERS = {
    "memory": memory,
    "recall_quality": recall,
    "recall_intervals": recall_intervals,
    "memory_kinds": memory_kinds,
    "memory_ablations": memory_ablations,
    "memory_store": memory_store,
}
