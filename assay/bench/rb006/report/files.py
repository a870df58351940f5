"""Writes a receipt and its report beside the records of a run."""

from __future__ import annotations

from pathlib import Path

from assay.bench.rb006.report.html import render_html
from assay.bench.rb006.report.markdown import render_markdown
from assay.bench.receipt import Receipt, ReceiptError, read, write
from assay.util.atomic_files import write_text

RECEIPT, HTML, MARKDOWN = "receipt.json", "report.html", "report.md"


def write_report(receipt: Receipt, folder: Path) -> list[Path]:
    """Write receipt.json, report.html and report.md; return their paths."""
    write(receipt, folder / RECEIPT)
    return [folder / RECEIPT, *render_report(receipt, folder)]


def render_report(receipt: Receipt, folder: Path) -> list[Path]:
    """Write report.html and report.md of a receipt."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / HTML, render_html(receipt))
    write_text(folder / MARKDOWN, render_markdown(receipt))
    return [folder / HTML, folder / MARKDOWN]


def read_receipt(path: Path) -> Receipt:
    """Read a receipt of this benchmark; another kind is an error."""
    receipt = read(path)
    if receipt.kind != "rb006":
        raise ReceiptError(
            f"{path} is a receipt of kind {receipt.kind!r}", "name one that `assay bench rb006 run` wrote"
        )
    return receipt
