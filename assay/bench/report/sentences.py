"""The sentences of a report: the dataset, the leading system, the caveats. Shared by Markdown and HTML."""

from __future__ import annotations

from assay.bench.messages import failures, notes, render_message
from assay.bench.receipt import Receipt
from assay.bench.report.boards import Board


def describe_dataset(board: Board) -> str:
    d = board.dataset
    counts = f"{d['documents']:,} documents, {d['queries']:,} scored queries, {d['label']} judgements"
    return f"{counts}, {d['abstain']:,} queries without an answer kept apart" if d.get("abstain") else counts


def describe_leader(board: Board) -> str:
    """The leading system, and whether its lead is significant."""
    best = board.best.system
    test = board.test(best)
    if test is None:
        return f"{best} leads with {board.metric} {board.mean(board.best):.4f}; it is what the others are held against."
    p = test.paired
    clear = test.p_adjusted <= 0.05
    sentence = (
        f"{best} leads with {board.metric} {board.mean(board.best):.4f}, {p.difference:+.4f} over {board.reference}"
    )
    sentence += f" (95 %: {p.ci_low:+.4f} to {p.ci_high:+.4f}; adjusted p = {test.p_adjusted:.3g})"
    if clear:
        return f"{sentence}."
    detectable = "" if p.minimum_effect is None else f" {p.n} queries can show a difference of {p.minimum_effect:.3f}."
    return f"{sentence}: not more than chance may give.{detectable}"


def list_caveats(board: Board) -> list[str]:
    """The caveats of a board: systems not measured, missing baselines, findings, failures, notes."""
    caveats = [f"{name} was not measured: {why}" for name, why in board.unmeasured.items()]
    if board.missing:
        caveats.append(f"not run here: {', '.join(board.missing)}")
    caveats += [f"{f.level}: {name}: {f.text}" for name, found in board.doubts.items() for f in found]
    common: dict[str, list[str]] = {}
    for name, receipt in board.receipts.items():
        for finding in receipt.canonical["preflight"]:
            text = f"{finding['level']}: {finding['where']}: {render_message(finding)}"
            common.setdefault(text, []).append(name)
        failed = failures(receipt)
        if failed:
            first, why = next(iter(failed.items()))
            caveats.append(f"{name}: {len(failed)} queries failed, {first}: {why}")
    for text, names in common.items():
        caveats.append(text if len(names) == len(board.receipts) else f"{text} ({', '.join(names)})")
    return caveats + list(dict.fromkeys(note for receipt in board.receipts.values() for note in notes(receipt)))


def describe_receipt(receipt: Receipt) -> str:
    """One line about the receipt of a gate or a sweep."""
    canonical = receipt.canonical
    word = str(canonical.get("verdict", canonical.get("status", "see the receipt")))
    return f"{receipt.kind} {receipt.digest[:12]}: {word}"
