"""Renders a difference as one HTML page without network or scripts: a summary, then one foldable section per query."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from assay.bench.diff import Difference, Moved, RankingChange
from assay.page.document import render_document


def render_page(difference: Difference, names: tuple[str, str]) -> str:
    """The whole page."""
    a, b = map(escape, names)
    changed = [change for change in difference.changes if not change.unchanged]
    parts = [
        f"<h1>{a} → {b}</h1>",
        *_summary(difference, a, b),
        *(line for place, change in enumerate(changed) for line in _change(change, unfolded=place == 0)),
    ]
    return render_document(f"{names[0]} → {names[1]}", parts)


def _summary(difference: Difference, a: str, b: str) -> Iterator[str]:
    if difference.digests["a"] == difference.digests["b"]:
        yield "<p>Nothing changes: both are the same pipeline.</p>"
        return
    yield (
        f"<p>{len(difference.changes)} queries, first {difference.k}: {difference.unchanged:.0%} unchanged, another "
        f"first result for {difference.top_changed:.0%}, mean overlap {difference.mean_overlap:.2f}, rank-biased "
        f"overlap {difference.mean_rbo:.3f}."
    )
    if difference.latency_ratio is not None:
        yield f" {b} takes {difference.latency_ratio:.2f}× the time of {a}, without embedding the query."
    yield "</p>"
    for reason in dict.fromkeys(reason for change in difference.changes for reason in change.degraded):
        yield f'<p class="left">{escape(reason)}</p>'


def _change(change: RankingChange, *, unfolded: bool) -> Iterator[str]:
    first = ' <span class="left">first result changed</span>' if change.top_changed else ""
    yield f'<details{" open" if unfolded else ""}><summary class="split">'
    yield f"<b>{escape(change.query.text)}</b>{first}"
    yield f'<span class="soft small">rbo {change.rbo:.3f}</span>'
    yield f'<meter min="0" max="1" value="{change.rbo:.3f}" aria-label="rank-biased overlap"></meter>'
    yield "</summary>"
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Moved chunks"><table><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in ("A", "B", "chunk", "why"))
    yield "</tr></thead><tbody>"
    yield from map(_row, change.moved)
    yield "</tbody></table></div></details>"


def _row(moved: Moved) -> str:
    kind = "entered" if moved.before is None else "left" if moved.after is None else ""
    ranks = "".join(f'<td class="number">{"" if r is None else f"#{r}"}</td>' for r in (moved.before, moved.after))
    title = escape(moved.title or moved.doc_id)
    why = f"A: {escape(moved.why_before)}<br>B: {escape(moved.why_after)}"
    chunk = f'<td>{title}<br><span class="soft small">{escape(moved.doc_id)}</span></td>'
    return f'<tr class="{kind}">{ranks}{chunk}<td class="soft small">{why}</td></tr>'
