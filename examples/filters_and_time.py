"""Filters, the clock, old versions and token budgets: each narrows what a search sees, and says so."""

from pathlib import Path
from tempfile import TemporaryDirectory

import assay

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DAYS = "how many days of vacation do I get?"


def show(label: str, answer: assay.Answer) -> None:
    print(f"{label:14}", ", ".join(f"{hit.title} ({hit.chunk.tokens} tokens)" for hit in answer))


with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(HANDBOOK)
    kb.tag("before")  # a name for the store as it is now

    # A filter reads what the front matter says; it acts while candidates are found, so the list is never short.
    show("not outdated", kb.search(DAYS, k=2, where='not (status = "outdated") and lang = "en"'))
    show("in German", kb.search("Wie viele Urlaubstage habe ich?", k=1, where='lang = "de"'))
    show("deep water", kb.search("gauge", k=3, where="depth_m > 6"))

    # `at` is the moment of the question: what was written later is hidden.
    show("mid 2024", kb.search(DAYS, k=1, at="2024-06-01"))
    show("mid 2025", kb.search(DAYS, k=1, at="2025-06-01"))

    # `snapshot` is the state of the store: what was removed later is still there.
    kb.remove("handbook/people/vacation-2025.md")
    show("after removal", kb.search(DAYS, k=1, where='title ~ "vacation"'))
    show("as it was", kb.search(DAYS, k=1, where='title ~ "vacation"', snapshot="before"))

    # A budget keeps what fits, best first.
    show("100 tokens", kb.search("security incident", budget=100))
