"""What a judge sees: the query, one document with the query's words marked, and how far the work has come."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from assay.bench.judge.agreement import Agreement
from assay.bench.judge.session import JudgingSession
from assay.bench.judge.write import Written
from assay.cli.terminal import count, safe, safe_piece
from assay.cli.views.layout import wrapped
from assay.text.analyse import Analyser
from assay.text.highlight import evidence

LINES = 8
"""Lines of text shown at first; `t` shows all."""
PROMPT = "0 no · 1 related · 2 answers · 3 perfectly   s skip · u undo · t text · q quit · ? help"
HELP = """0 or n   not relevant: a person who asks this does not want it
1 or y   related: it is about the subject, or answers a part
2        it answers
3        it answers perfectly: nothing better can be hoped for
s        skip: no judgement; it does not come again for you
u        undo the last one
t        show the whole text
q        quit; everything is saved already, the dataset is written
?        this help"""


SAYINGS = {
    "help": HELP,
    "unknown": "{key!r} is no key here; ? lists them",
    "nothing to undo": "There is nothing to take back in this sitting.",
}


def show_item(session: JudgingSession, analyser: Analyser, screen: Console, *, whole: bool = False) -> bool:
    """The item to judge now; False when there is none. Nothing says which pipeline found it, or at which rank."""
    item = session.item
    if item is None:
        return False
    if screen.is_terminal:
        screen.clear()
    mine = [one for one in session.items if one.query.id == item.query.id]
    queries = list(dict.fromkeys(one.query.id for one in session.items))
    at = f"query {queries.index(item.query.id) + 1} of {len(queries)} · document {mine.index(item) + 1} of {len(mine)}"
    screen.print(Text(f"{at} · {count(session.open, 'item')} to go", "dim"))
    for line in wrapped(Text(safe(item.query.text), "bold cyan"), screen, 0):
        screen.print(line)
    chunk = item.chunk
    steps = [chunk.title or chunk.doc_id, *(step for step in chunk.section.split(" > ") if step)]
    screen.print(Text(safe(" › ".join(steps)), "bold"))
    width = (screen.width - 2) * LINES
    text = _marked(chunk.text, analyser.query_terms(item.query.text), analyser, len(chunk.text) if whole else width)
    for line in wrapped(text, screen, 2):
        screen.print(line)
    screen.print(Text(PROMPT, "dim"))
    return True


def _marked(text: str, terms: list[str], analyser: Analyser, width: int) -> Text:
    found = evidence(text, terms, analyser, width)
    shown = Text("… " if found.cut_before else "", "dim")
    at = 0
    for start, end in found.marks:
        shown.append(safe_piece(found.text[at:start])).append(safe_piece(found.text[start:end]), "bold yellow")
        at = end
    return shown.append(safe_piece(found.text[at:])).append(" …" if found.cut_after else "", "dim")


def show_end(
    written: Written | None, found: list[Agreement], session: JudgingSession, screen: Console, next_step: str
) -> None:
    """What was saved, whether judges agree, and what to do next."""
    if written is None:
        screen.print(Text("Nothing judged yet, so there is no dataset.", "yellow"))
        return
    screen.print(
        Text.assemble(
            (count(written.judgements, "judgement"), "bold"),
            f" of {count(written.queries, 'query')}, {written.relevant} relevant → {safe(str(written.folder))}",
        )
    )
    if written.lost:
        screen.print(
            Text(f"{count(written.lost, 'judgement')} of documents that left the store are kept aside", "yellow")
        )
    if session.open:
        screen.print(Text(f"{count(session.open, 'item')} still open; the same command goes on there", "dim"))
    for one in found:
        said = "no number: both gave one grade throughout" if one.kappa is None else f"κ = {one.kappa:.2f}"
        binary = "" if one.binary is None else f", relevant or not κ = {one.binary:.2f}"
        who = " and ".join(safe(name) for name in one.judges)
        screen.print(Text(f"{who} on {count(one.items, 'item')}: {one.same:.0%} the same, {said}{binary}"))
    screen.print(Text.assemble(("next: ", "green"), safe(next_step)))
