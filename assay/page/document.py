"""The page around a report: one file, no script, no network, light and dark, printable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from pathlib import Path

from assay.page.svg import NARROW, WIDTH

STYLE_FILE = Path(__file__).with_name("style.css")


@cache
def read_style() -> str:
    """The style sheet that all pages share."""
    return STYLE_FILE.read_text("utf-8")


def render_document(title: str, parts: Sequence[str]) -> str:
    """A whole page with its style inside; `parts` are markup."""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<title>{escape(title)}</title><style>{read_style()}</style></head><body class="report"><main>',
            *parts,
            "</main></body></html>\n",
        ]
    )


def render_figure(title: str, draw: Callable[[float], str]) -> str:
    """A chart under its title, drawn for wide pages and again for narrow ones; nothing where there is no chart."""
    wide = draw(WIDTH)
    if not wide:
        return ""
    heading = f"<h3>{escape(title)}</h3>" if title else ""
    return f'{heading}<div class="chart-wide">{wide}</div><div class="chart-narrow">{draw(NARROW)}</div>'
