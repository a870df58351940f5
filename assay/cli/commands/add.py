"""`assay add`: bring folders and files into a store."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.options import json_option, store_option

if TYPE_CHECKING:
    from assay.kb import KnowledgeBase
    from assay.sync import AddReport


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@store_option
@click.option(
    "--as", "name", metavar="NAME", help="What to call this folder or file in the store.  [default: its name]"
)
@click.option("--moved", is_flag=True, help="The folder of this name has moved here; keep its chunks.")
@click.option("--embedder", default="auto", metavar="SPEC", help="For a new store: auto, none, minilm, onnx:…, http:….")
@click.option("--language", default="english", metavar="NAME", help="For a new store: how words are stemmed, or none.")
@click.option("--profile", default="default", metavar="NAME", help="For a new store: default chunks, or fine ones.")
@click.option("--triples", default="none", metavar="SPEC", help="For a new store: who reads triples for the graph.")
@click.option("--no-index", is_flag=True, help="Do not build the index now; searches still see everything.")
@json_option
def add(
    paths: tuple[Path, ...],
    store: str,
    name: str | None,
    moved: bool,
    embedder: str,
    language: str,
    profile: str,
    triples: str,
    no_index: bool,
    as_data: bool,
) -> None:
    """Bring folders and files into a store, and keep them in step.

    Unchanged files cost nothing, changed ones are read again, vanished ones leave the store. A file that cannot be
    read is listed with its cure and skipped; the exit code is then 1, and everything else is in the store.

    Reads markdown, text, rst, html, pdf, docx, eml, mbox, jsonl, csv and tsv.
    """
    from assay import kb
    from assay.cli.progress import bars
    from assay.errors import ConfigError, StoreError

    if name is not None and len(paths) > 1:
        raise ConfigError("--as names one folder or file, but several are given", "add them one by one")
    for path in paths:
        if not path.exists():
            raise StoreError(f"{path} does not exist", "name folders and files that are there; nothing was added")
    start = time.perf_counter()
    with kb.open(store, embedder=embedder, language=language, profile=profile, triples=triples) as base:
        with bars() as bar:
            reports = [base.add(path, name=name, moved=moved, on_event=bar.file, compact=False) for path in paths]
            if not no_index and worthwhile(base):
                base.optimize(bar.step)
        report = merged(reports)
        _show(report, base, time.perf_counter() - start, as_data)
    if report.problems:
        raise click.exceptions.Exit(1)


def worthwhile(base: KnowledgeBase) -> bool:
    """Has enough changed for a new index? From a twentieth of the store on, building costs little more than adding."""
    return base.backend.due or base.backend.pending * 20 >= max(base.snapshot().size, 1)


def merged(reports: list[AddReport]) -> AddReport:
    """Several reports as one."""
    from assay.sync import AddReport

    total = AddReport(version=reports[-1].version)
    for report in reports:
        for field in ("added", "changed", "unchanged", "removed", "chunks_added", "chunks_removed", "chunks_kept"):
            setattr(total, field, getattr(total, field) + getattr(report, field))
        total.problems += report.problems
        total.ignored += report.ignored
    return total


def _show(report: AddReport, base: KnowledgeBase, spent: float, as_data: bool) -> None:
    from assay.cli.terminal import as_json
    from assay.cli.views.add import show_report

    if as_data:
        pairs = {"problems": report.problems, "ignored": report.ignored}
        named = {key: [{"file": f, "reason": r} for f, r in listed] for key, listed in pairs.items()}
        click.echo(as_json({**asdict(report), **named}, indent=2))
    else:
        show_report(report, base, spent)
