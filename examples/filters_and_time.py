"""Filters, the scoring clock, old versions and token budgets."""

from pathlib import Path
from tempfile import TemporaryDirectory

import assay

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DAYS = "how many days of vacation do I get?"


def show(label: str, answer: assay.Answer) -> None:
    print(f"{label:14}", ", ".join(f"{hit.title} ({hit.chunk.tokens} tokens)" for hit in answer))


with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(HANDBOOK)
    kb.tag("before")  # names the present version of the store

    # A filter reads the front matter. It applies while candidates are searched, so the list is never short.
    show("not outdated", kb.search(DAYS, k=2, where='not (status = "outdated") and lang = "en"'))
    show("in German", kb.search("Wie viele Urlaubstage habe ich?", k=1, where='lang = "de"'))
    show("deep water", kb.search("gauge", k=3, where="depth_m > 6"))

    # `at` is the scoring clock: chunks written later are hidden.
    show("mid 2024", kb.search(DAYS, k=1, at="2024-06-01"))
    show("mid 2025", kb.search(DAYS, k=1, at="2025-06-01"))

    # `snapshot` selects a version of the store: what was removed later is still there.
    kb.remove("handbook/people/vacation-2025.md")
    show("after removal", kb.search(DAYS, k=1, where='title ~ "vacation"'))
    show("as it was", kb.search(DAYS, k=1, where='title ~ "vacation"', snapshot="before"))

    # A budget selects what fits, best first.
    show("100 tokens", kb.search("security incident", budget=100))
