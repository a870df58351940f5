"""Renders a difference as one HTML page without network or scripts: a summary, then one foldable section per query."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from assay.bench.diff import Difference, Moved, RankingChange

_STYLE = """
:root { color-scheme: light dark; --in: #00734d; --out: #b3401a; --dim: #777; }
@media (prefers-color-scheme: dark) { :root { --in: #3fc796; --out: #ff8a5c; --dim: #999; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
summary { cursor: pointer; display: flex; gap: 1rem; padding: .3rem 0; border-bottom: 1px solid #8884; }
summary b { flex: 1; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; overflow-wrap: anywhere; }
td.rank { white-space: nowrap; font-variant-numeric: tabular-nums; }
.in { color: var(--in); } .out { color: var(--out); } .dim { color: var(--dim); font-size: .9em; }
meter { width: 6rem; }
"""


def render_page(difference: Difference, names: tuple[str, str]) -> str:
    """The whole page."""
    a, b = map(escape, names)
    changed = [change for change in difference.changes if not change.unchanged]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>{a} → {b}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{a} → {b}</h1>",
            *_summary(difference, a, b),
            *(line for place, change in enumerate(changed) for line in _change(change, unfolded=place == 0)),
            "</body></html>\n",
        ]
    )


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
        yield f'<p class="out">{escape(reason)}</p>'


def _change(change: RankingChange, *, unfolded: bool) -> Iterator[str]:
    first = ' <span class="out">first result changed</span>' if change.top_changed else ""
    yield f"<details{' open' if unfolded else ''}><summary>"
    yield f"<b>{escape(change.query.text)}</b>{first}"
    yield f'<span class="dim">rbo {change.rbo:.3f}</span><meter min="0" max="1" value="{change.rbo:.3f}"></meter>'
    yield "</summary><table><tr><th>A</th><th>B</th><th>chunk</th><th>why</th></tr>"
    yield from map(_row, change.moved)
    yield "</table></details>"


def _row(moved: Moved) -> str:
    kind = "in" if moved.before is None else "out" if moved.after is None else ""
    ranks = "".join(f'<td class="rank">{"" if r is None else f"#{r}"}</td>' for r in (moved.before, moved.after))
    title = escape(moved.title or moved.doc_id)
    why = f"A: {escape(moved.why_before)}<br>B: {escape(moved.why_after)}"
    chunk = f'<td>{title}<br><span class="dim">{escape(moved.doc_id)}</span></td>'
    return f'<tr class="{kind}">{ranks}{chunk}<td class="dim">{why}</td></tr>'
