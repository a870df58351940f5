"""What an `add` did, for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from assay.cli.terminal import console, count, safe, seconds

if TYPE_CHECKING:
    from assay.kb import KnowledgeBase
    from assay.sync import AddReport

MOST_LISTED = 20


def show_report(report: AddReport, base: KnowledgeBase, spent: float) -> None:
    """Files by what became of them, chunks, problems with their cures, and what the store holds now."""
    screen = console()
    said = {"added": report.added, "changed": report.changed, "removed": report.removed, "unchanged": report.unchanged}
    styles = {"added": "green", "changed": "yellow", "removed": "red", "unchanged": "dim"}
    line = Text(f"{count(report.files + report.removed, 'file')}: ")
    shown = [Text(f"{number:,} {word}", styles[word]) for word, number in said.items() if number]
    line.append_text(Text(", ").join(shown) if shown else Text("nothing to read there", "yellow"))
    screen.print(line)
    moves = [f"+{report.chunks_added:,}" * bool(report.chunks_added), f"−{report.chunks_removed:,}" * bool(report.chunks_removed)]
    changed = " ".join(move for move in moves if move) or "no change"
    rate = f", {report.chunks_added / spent:,.0f} a second" if report.chunks_added >= 100 else ""
    screen.print(Text(f"chunks: {changed} in {seconds(spent)}{rate}"))
    view = base.snapshot()
    model = base.spec if base.store.settings["dim"] else "no embedding model: words only (assay model install)"
    screen.print(Text(f"store:  {safe(str(base.store.folder))} · v{view.version} · {count(view.size, 'chunk')} · {model}", "dim"))
    if report.ignored:
        why = Counter(reason for _, reason in report.ignored)
        listed = ", ".join(f"{safe(reason)} ({number:,})" for reason, number in why.most_common(5))
        screen.print(Text(f"passed over {count(len(report.ignored), 'file')}: {listed}", "dim"))
    if report.problems:
        screen.print(Text(f"{count(len(report.problems), 'problem')}:", "bold yellow"))
        for name, reason in report.problems[:MOST_LISTED]:
            what, _, cure = reason.partition("; cure: ")
            screen.print(Text.assemble("  ", (safe(name), "bold"), "  ", (safe(what), "yellow")))
            if cure:
                screen.print(Text.assemble("    ", ("cure: ", "green"), safe(cure)))
        if len(report.problems) > MOST_LISTED:
            screen.print(Text(f"  … and {len(report.problems) - MOST_LISTED} more (--json lists all)", "dim"))
