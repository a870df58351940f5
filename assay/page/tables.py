"""Tables as plain rows, and as HTML that scrolls sideways where it is too wide."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class ReportTable:
    """Columns and rows; the first column is a name, the others are right-aligned. `strong` rows are emphasised, and
    columns of `texts` hold sentences."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()


def render_table(found: ReportTable, label: str = "Table") -> str:
    """Render a table; the part that scrolls can be reached by keyboard."""
    head = "".join(f'<th scope="col"{_kind(found, place)}>{escape(cell)}</th>' for place, cell in enumerate(found.head))
    rows = []
    for number, row in enumerate(found.rows):
        kind = ' class="lead"' if number in found.strong else ""
        cells = "".join(f"<td{_kind(found, place)}>{escape(cell)}</td>" for place, cell in enumerate(row))
        rows.append(f"<tr{kind}>{cells}</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _kind(found: ReportTable, place: int) -> str:
    return ' class="text"' if place in found.texts else "" if place == 0 else ' class="number"'
