"""`assay add`: bring folders and files into a store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.options import json_option, store_option

if TYPE_CHECKING:
    from assay.ingest.add_report import AddReport
    from assay.kb import KnowledgeBase


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@store_option
@click.option(
    "--as", "name", metavar="NAME", help="What to call this folder or file in the store.  [default: its name]"
)
@click.option("--moved", is_flag=True, help="The folder of this name has moved here; keep its chunks.")
@click.option(
    "--embedder", default="auto", metavar="SPEC", help="For a new store: auto, none, minilm, gte-small, onnx:…, http:…."
)
@click.option("--language", default="english", metavar="NAME", help="For a new store: how words are stemmed, or none.")
@click.option("--profile", default="default", metavar="NAME", help="For a new store: default chunks, or fine ones.")
@click.option("--triples", default="none", metavar="SPEC", help="For a new store: who reads triples for the graph.")
@click.option(
    "--k1", type=float, metavar="NUMBER", help="For a new store: how much a repeated word counts.  [default: 1.2]"
)
@click.option(
    "--b",
    type=float,
    metavar="NUMBER",
    help="For a new store: how much a chunk's length counts, 0 to 1.  [default: 0.75]",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Pass over what matches, in gitignore's syntax; several times. Lasting ones: a file .assayignore.",
)
@click.option(
    "--part",
    default="1/1",
    metavar="N/M",
    help="Take the N-th of M parts of each folder, so that M processes or machines can add it at once.",
)
@click.option(
    "--listing",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Add the files that FILE names, a path inside the folder per line, without walking it; - is standard input.",
)
@click.option("--passed-over", is_flag=True, help="List every file that was passed over, with the reason.")
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
    k1: float | None,
    b: float | None,
    exclude: tuple[str, ...],
    part: str,
    listing: Path | None,
    passed_over: bool,
    no_index: bool,
    as_data: bool,
) -> None:
    """Bring folders and files into a store, and keep them in step.

    Unchanged files cost nothing, changed ones are read again, vanished ones leave the store. A file that cannot be
    read is listed with its cure and skipped; the exit code is then 1, and everything else is in the store. Ctrl-C
    keeps what is done, also of a single long file: the same command goes on from there.

    A bucket of objects, mounted as a folder, is listed faster by its own tool: `rclone lsf -R --files-only bucket: |
    assay add /mnt/bucket --listing -`, with --part N/M on several machines. A listing may name a part of the folder, so
    nothing leaves the store then.

    Reads markdown, text, rst, html, pdf, docx, eml and mbox with their attachments, jsonl, csv and tsv. Hidden files
    and what .assayignore or --exclude names are passed over; what the store had of them leaves it.
    """
    from assay import kb
    from assay.cli.progress import progress_bars
    from assay.errors import ConfigError, StoreError
    from assay.ingest.add_report import AddReport
    from assay.ingest.folder_part import FolderPart
    from assay.ingest.listing import read_listing

    if name is not None and len(paths) > 1:
        raise ConfigError("--as names one folder or file, but several are given", "add them one by one")
    FolderPart.parse(part)  # before a store is made
    if listing is not None and len(paths) > 1:
        raise ConfigError("--listing names files of one folder, but several are given", "add them one by one")
    if listing is not None and str(listing) != "-" and not listing.is_file():
        raise StoreError(f"there is no listing {listing}", "name a file with one path per line; nothing was added")
    for path in paths:
        if not path.exists():
            raise StoreError(f"{path} does not exist", "name folders and files that are there; nothing was added")
    start = time.perf_counter()
    report, behind = AddReport(), None
    with kb.open(store, embedder=embedder, language=language, profile=profile, triples=triples, k1=k1, b=b) as base:
        with progress_bars() as bar:
            for path in paths:
                report += base.add(
                    path,
                    name=name,
                    moved=moved,
                    exclude=exclude,
                    part=part,
                    listed=None if listing is None else read_listing(listing),
                    on_event=bar.file,
                    compact=False,
                )
            if not no_index:
                try:
                    base.refresh_index(bar.step)
                except StoreError as error:  # what was read is committed: first say that
                    behind = error.reason
        _show(report, base, time.perf_counter() - start, as_data, passed_over)
    if behind is not None:
        raise StoreError(f"what was read is in the store, but its index is behind: {behind.text}", behind.cure)
    if report.problems:
        raise click.exceptions.Exit(1)


def _show(report: AddReport, base: KnowledgeBase, spent: float, as_data: bool, passed_over: bool) -> None:
    from assay.cli.terminal import format_json
    from assay.cli.views.add import show_report

    if as_data:
        files: dict[str, Sequence[tuple[str, object]]] = {
            "problems": report.problems,
            "warnings": report.warnings,
            "ignored": report.ignored,
        }
        named = {key: [{"file": file, "reason": str(reason)} for file, reason in pairs] for key, pairs in files.items()}
        click.echo(format_json({**asdict(report), **named}, indent=2))
    else:
        show_report(report, base, spent, passed_over)
