"""A part of the report, and how numbers are written in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.page.tables import ReportTable


@dataclass(frozen=True)
class ReportSection:
    """A part of the report: sentences, a table, a chart. Empty parts are left out."""

    title: str
    about: str = ""
    table: ReportTable | None = None
    chart: Callable[[float], str] | None = None
    """Draws a chart of a width."""
    lines: tuple[str, ...] = ()


def number(value: float | None, form: str = "{:.3f}") -> str:
    """A number for a table; "–" where there is none."""
    return "–" if value is None else form.format(value)
