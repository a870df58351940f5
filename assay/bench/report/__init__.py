"""Receipts as something people look at: tables and pictures in one file that needs no network."""

from assay.bench.report.gather import Board, Report, gather
from assay.bench.report.html import html
from assay.bench.report.markdown import markdown

__all__ = ["Board", "Report", "gather", "html", "markdown"]
