"""What a report says in sentences: what was measured, what leads, what is doubtful. The same in every dress."""

from __future__ import annotations

from assay.bench.receipt import Receipt
from assay.bench.report.gather import Board


def about(board: Board) -> str:
    d = board.dataset
    said = f"{d['documents']:,} documents, {d['queries']:,} scored queries, {d['label']} judgements"
    return f"{said}, {d['abstain']:,} queries without an answer kept apart" if d.get("abstain") else said


def verdict(board: Board) -> str:
    """Who leads, and whether that is more than chance."""
    best = board.best.system
    test = board.test(best)
    if test is None:
        return f"{best} leads with {board.metric} {board.mean(board.best):.4f}; it is what the others are held against."
    p = test.paired
    clear = test.p_adjusted <= 0.05
    said = f"{best} leads with {board.metric} {board.mean(board.best):.4f}, {p.difference:+.4f} over {board.reference}"
    said += f" (95 %: {p.ci_low:+.4f} to {p.ci_high:+.4f}; adjusted p = {test.p_adjusted:.3g})"
    if clear:
        return f"{said}."
    seen = "" if p.minimum_effect is None else f" {p.n} queries can show a difference of {p.minimum_effect:.3f}."
    return f"{said}: not more than chance may give.{seen}"


def doubts(board: Board) -> list[str]:
    """Everything a reader should know before believing the numbers."""
    said = [f"{name} was not measured: {why}" for name, why in board.unmeasured.items()]
    if board.missing:
        said.append(f"not run here: {', '.join(board.missing)}")
    said += [f"{f.level}: {name}: {f.text}" for name, found in board.doubts.items() for f in found]
    common: dict[str, list[str]] = {}
    for name, receipt in board.receipts.items():
        for finding in receipt.canonical["preflight"]:
            common.setdefault(f"{finding['level']}: {finding['where']}: {finding['text']}", []).append(name)
        if receipt.canonical["failed"]:
            first, why = next(iter(receipt.canonical["failed"].items()))
            said.append(f"{name}: {len(receipt.canonical['failed'])} queries failed, {first}: {why}")
    for text, names in common.items():
        said.append(text if len(names) == len(board.receipts) else f"{text} ({', '.join(names)})")
    return said + [str(note) for note in board.dataset.get("notes", ())]


def outcome(receipt: Receipt) -> str:
    """One line on a gate or a sweep."""
    said = receipt.canonical
    word = str(said.get("verdict", said.get("status", "see the receipt")))
    return f"{receipt.kind} {receipt.digest[:12]}: {word}"
