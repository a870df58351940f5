"""Explains an empty answer: what was searched, what each leg found, and what the query filtered out."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from assay.cli.terminal import format_count, format_date, sanitize
from assay.engine.answer import Answer
from assay.where import Compare


def explain_empty(answer: Answer) -> Iterator[Text]:
    """The lines that explain an empty answer."""
    query = sanitize(answer.query.text)
    subject = f" for “{query if len(query) <= 60 else query[:59] + '…'}”" if query else ": the query is empty"
    if answer.status.abstained:
        yield from _withheld(answer, subject)
        return
    yield Text(f"Nothing found{subject}.", "bold")
    for reason in _reasons(answer):
        yield Text(f"  {reason}.")
    yield Text()


def _withheld(answer: Answer, subject: str) -> Iterator[Text]:
    """What was found and withheld, and how to see it."""
    count = sum(len(note.ids) for span in answer.trace if span.name == "abstain" for note in span.notes)
    yield Text(f"Abstained{subject}: {format_count(count, 'result')} withheld.", "bold")
    yield Text("  See what was found: --no-abstain.")
    yield Text()


def _reasons(answer: Answer) -> Iterator[str]:
    if not answer.searched:
        at = "" if answer.version is None else f" at v{answer.version}"
        yield f"This store is empty{at}; fill it: assay add ./my-docs"
        return
    legs = [span for span in answer.trace if span.kind == "leg"]
    ran = [f"{sanitize(span.name)} found {len(span.ranking):,}" for span in legs if not span.skipped]
    not_run = [sanitize(span.name) for span in legs if span.skipped]
    searched = (
        f"The store has {format_count(answer.searched, 'chunk')}; {', '.join(ran) if ran else 'no leg could run'}"
    )
    yield searched + (f"; {', '.join(not_run)} did not run" if not_run and ran else "")
    if answer.version is not None:
        yield from _filtered_out(answer)
    for span in answer.trace:
        dropped = sum(len(note.ids) for note in span.notes if note.kind == "dropped")
        if dropped:
            yield f"{sanitize(span.name)} dropped {format_count(dropped, 'candidate')}"


def _filtered_out(answer: Answer) -> Iterator[str]:
    """What the filter, the scope and the clock of the query left to search."""
    query = answer.query
    if query.where is not None:
        yield f"The filter {sanitize(str(query.where))} keeps {answer.count_matching(query.where):,} of them"
    if query.scope is not None:
        in_scope = answer.count_matching(Compare("scope", "=", query.scope))
        yield f"The scope {sanitize(query.scope)!r} holds {in_scope:,} of them"
    if query.at is not None:
        later = answer.count_matching(Compare("created", ">", query.at, True))
        yield f"{later:,} of them were created after {format_date(query.at)} and are hidden by --at"
