"""Nothing found, explained: what was searched, by what, and what the question itself hid."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from assay.backend.contract import StoreSnapshot, store_snapshot
from assay.cli.terminal import count, day, safe
from assay.engine.answer import Answer
from assay.engine.foreign_chunks import base_snapshot
from assay.errors import QueryError
from assay.where import Compare, Filter


def nothing_found(answer: Answer) -> Iterator[Text]:
    """An empty answer is an answer: it says how hard it looked."""
    query = safe(answer.query.text)
    asked = f" for “{query if len(query) <= 60 else query[:59] + '…'}”" if query else ": the query is empty"
    yield Text(f"Nothing found{asked}.", "bold")
    for reason in _reasons(answer):
        yield Text(f"  {reason}.")
    yield Text()


def _reasons(answer: Answer) -> Iterator[str]:
    size = answer.snapshot.size
    view = store_snapshot(base_snapshot(answer.snapshot))
    if not size:
        at = f" at v{view.version}" if view is not None else ""
        yield f"This store is empty{at}; fill it: assay add ./my-docs"
        return
    legs = [span for span in answer.trace if span.kind == "leg"]
    ran = [f"{safe(span.name)} found {len(span.gave):,}" for span in legs if not span.skipped]
    not_run = [safe(span.name) for span in legs if span.skipped]
    searched = f"The store has {count(size, 'chunk')}; {', '.join(ran) if ran else 'no leg could run'}"
    yield searched + (f"; {', '.join(not_run)} did not run" if not_run and ran else "")
    if view is not None:
        yield from _hidden(answer, view)
    for span in answer.trace:
        dropped = sum(len(note.ids) for note in span.notes if note.kind == "dropped")
        if dropped:
            yield f"{safe(span.name)} dropped {count(dropped, 'candidate')}"


def _hidden(answer: Answer, view: StoreSnapshot) -> Iterator[str]:
    """What the filter, the scope and the clock of the question left to search."""
    query = answer.query
    if query.where is not None:
        yield f"The filter {safe(str(query.where))} keeps {_kept(view, query.where):,} of them"
    if query.scope is not None:
        yield f"The scope {safe(query.scope)!r} holds {_kept(view, Compare('scope', '=', query.scope)):,} of them"
    if query.at is not None:
        later = _kept(view, Compare("created", ">", query.at, True))
        yield f"{later:,} of them were created after {day(query.at)} and are hidden by --at"


def _kept(view: StoreSnapshot, condition: Filter) -> int:
    try:
        return len(view.live_rows(condition))
    except QueryError:
        return 0  # no chunk has such a field
