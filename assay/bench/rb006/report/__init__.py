"""The report of a run, made from its receipt alone: HTML for a decision maker, Markdown for a pull request.

sections   what the report says, as tables, charts and sentences
charts     the curves, the heat map and the forest of strata as SVG
advice     what to fix first
html, markdown   the two forms
"""

from __future__ import annotations

from assay.bench.rb006.report.html import render_html
from assay.bench.rb006.report.markdown import render_markdown

__all__ = ["render_html", "render_markdown"]
