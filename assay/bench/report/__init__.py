"""Renders receipts as reports: tables and charts in one file without network access."""

from assay.bench.report.boards import Board, Report, build_report
from assay.bench.report.html import render_html
from assay.bench.report.markdown import render_markdown

__all__ = ["Board", "Report", "build_report", "render_html", "render_markdown"]
