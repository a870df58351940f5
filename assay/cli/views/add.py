"""Prints the report of an `add`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from assay.cli.terminal import format_count, format_seconds, make_console, sanitize

if TYPE_CHECKING:
    from assay.ingest.add_report import AddReport
    from assay.kb import KnowledgeBase

MOST_LISTED = 20
_STYLES = {"added": "green", "changed": "yellow", "removed": "red", "unchanged": "dim"}


def show_report(report: AddReport, base: KnowledgeBase, spent: float, passed_over: bool = False) -> None:
    """Print files by outcome, chunks, what the store holds now, warnings, problems with their cures; every file that
    was passed over if `passed_over`."""
    screen = make_console()
    remarks = (*_passed_over(report, passed_over), *_warnings(report), *_problems(report))
    for line in (_files(report), _chunks(report, spent), _store(base), *remarks):
        screen.print(line, soft_wrap=True)  # long lines are the terminal's to break


def _files(report: AddReport) -> Text:
    line = Text(f"{format_count(report.files + report.removed, 'file')}: ")
    counts = [(word, getattr(report, word)) for word in _STYLES]
    parts = [Text(f"{number:,} {word}", _STYLES[word]) for word, number in counts if number]
    none = "none could be read" if report.problems else "there is nothing to read there"
    return line.append_text(Text(", ").join(parts) if parts else Text(none, "yellow"))


def _chunks(report: AddReport, spent: float) -> Text:
    added = f"+{report.chunks_added:,}" if report.chunks_added else ""
    removed = f"−{report.chunks_removed:,}" if report.chunks_removed else ""
    rate = f", {report.chunks_added / spent:,.0f} a second" if report.chunks_added >= 100 else ""
    return Text(f"chunks: {f'{added} {removed}'.strip() or 'no change'} in {format_seconds(spent)}{rate}")


def _store(base: KnowledgeBase) -> Text:
    view = base.snapshot()
    none = "words only" if base.backend.no_vectors else "words only: no embedding model (assay model install)"
    model = base.spec if base.store.settings["dim"] else none
    return Text(
        f"store: {sanitize(str(base.store.address))} · v{view.version} · {format_count(view.size, 'chunk')} · {model}",
        "dim",
    )


def _passed_over(report: AddReport, listed: bool) -> Iterator[Text]:
    if report.ignored:
        why = Counter(reason for _, reason in report.ignored)
        reasons = ", ".join(f"{sanitize(reason)} ({number:,})" for reason, number in why.most_common(5))
        hint = "" if listed else "; list them: --passed-over"
        yield Text(f"passed over {format_count(len(report.ignored), 'file')}: {reasons}{hint}", "dim")
    for name, reason in sorted(report.ignored) if listed else ():
        yield Text.assemble("  ", sanitize(name), "  ", (sanitize(reason), "dim"))


def _warnings(report: AddReport) -> Iterator[Text]:
    if report.warnings:
        yield Text(f"{format_count(len(report.warnings), 'warning')}; the files are in the store:", "yellow")
    for name, text in report.warnings[:MOST_LISTED]:
        yield Text.assemble("  ", (sanitize(name), "bold"), "  ", (sanitize(text), "yellow"))
    if len(report.warnings) > MOST_LISTED:
        yield Text(f"  … and {len(report.warnings) - MOST_LISTED} more (--json lists all)", "dim")


def _problems(report: AddReport) -> Iterator[Text]:
    if report.problems:
        left_out = (
            f"{format_count(len(report.problems), 'problem')}; left out, and what the store had of them before stays:"
        )
        yield Text(left_out, "bold yellow")
    for name, reason in report.problems[:MOST_LISTED]:
        what = reason.text.rpartition(f"{name}: ")[2]  # the reason names the file by its whole path; once is enough
        yield Text.assemble("  ", (sanitize(name), "bold"), "  ", (sanitize(what), "yellow"))
        if reason.cure:
            yield Text.assemble(("    cure: ", "green"), sanitize(reason.cure))
    if len(report.problems) > MOST_LISTED:
        yield Text(f"  … and {len(report.problems) - MOST_LISTED} more (--json lists all)", "dim")
