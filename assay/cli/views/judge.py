"""What a judge sees: the query, one document with the query's words marked, and how far the work has come."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from assay.bench.judge.agreement import Agreement
from assay.bench.judge.judgement_writer import WrittenJudgements
from assay.bench.judge.session import JudgingSession
from assay.cli.terminal import format_count, sanitize, sanitize_piece
from assay.cli.views.layout import wrap
from assay.text.analyser import Analyser
from assay.text.highlight import find_excerpt

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


MESSAGES = {
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
    items = [other for other in session.items if other.query.id == item.query.id]
    queries = list(dict.fromkeys(other.query.id for other in session.items))
    query_place = f"query {queries.index(item.query.id) + 1} of {len(queries)}"
    place = f"document {items.index(item) + 1} of {len(items)}"
    screen.print(Text(f"{query_place} · {place} · {format_count(session.open, 'item')} to go", "dim"))
    for line in wrap(Text(sanitize(item.query.text), "bold cyan"), screen, 0):
        screen.print(line)
    chunk = item.chunk
    steps = [chunk.title or chunk.doc_id, *(step for step in chunk.section.split(" > ") if step)]
    screen.print(Text(sanitize(" › ".join(steps)), "bold"))
    width = (screen.width - 2) * LINES
    text = _marked(chunk.text, analyser.query_terms(item.query.text), analyser, len(chunk.text) if whole else width)
    for line in wrap(text, screen, 2):
        screen.print(line)
    screen.print(Text(PROMPT, "dim"))
    return True


def _marked(text: str, terms: list[str], analyser: Analyser, width: int) -> Text:
    excerpt = find_excerpt(text, terms, analyser, width)
    marked = Text("… " if excerpt.cut_before else "", "dim")
    at = 0
    for start, end in excerpt.marks:
        marked.append(sanitize_piece(excerpt.text[at:start])).append(
            sanitize_piece(excerpt.text[start:end]), "bold yellow"
        )
        at = end
    return marked.append(sanitize_piece(excerpt.text[at:])).append(" …" if excerpt.cut_after else "", "dim")


def show_end(
    written: WrittenJudgements | None,
    agreements: list[Agreement],
    session: JudgingSession,
    screen: Console,
    next_step: str,
) -> None:
    """What was saved, whether judges agree, and what to do next."""
    if written is None:
        screen.print(Text("Nothing judged yet, so there is no dataset.", "yellow"))
        return
    screen.print(
        Text.assemble(
            (format_count(written.judgements, "judgement"), "bold"),
            f" of {format_count(written.queries, 'query')}, {written.relevant} relevant → ",
            sanitize(str(written.folder)),
        )
    )
    if written.lost:
        screen.print(
            Text(f"{format_count(written.lost, 'judgement')} of documents that left the store are kept aside", "yellow")
        )
    if session.open:
        screen.print(Text(f"{format_count(session.open, 'item')} still open; the same command goes on there", "dim"))
    for pair in agreements:
        kappa = "no number: both gave one grade throughout" if pair.kappa is None else f"κ = {pair.kappa:.2f}"
        binary = "" if pair.binary is None else f", relevant or not κ = {pair.binary:.2f}"
        judges = " and ".join(sanitize(name) for name in pair.judges)
        screen.print(Text(f"{judges} on {format_count(pair.items, 'item')}: {pair.same:.0%} the same, {kappa}{binary}"))
    screen.print(Text.assemble(("next: ", "green"), sanitize(next_step)))
