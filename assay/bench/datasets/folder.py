"""A BEIR folder by its name; `name#documents` asks over the raw documents its passages were cut from."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.bench.datasets import beir, find, spans
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.evidence import InDocuments
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.passages import PassageRow, rows
from assay.bench.datasets.source import Judgement, RawDataset

RAW = "documents"


def read(what: str) -> RawDataset:
    name, _, view = what.rpartition("#")
    if view == RAW and name:
        return _raw(find.locate(name))
    folder = find.locate(what)
    if not beir.is_folder(folder):
        raise DatasetError(f"{folder} is no dataset: it has no {beir.CORPUS}", "name a BEIR folder, or use a prefix")
    return beir.read(folder)


def _raw(folder: Path) -> RawDataset:
    """The raw documents; one is relevant when it holds a span that answers. Judged are the questions with spans."""
    manifest = Manifest.of(folder)
    whole = beir.read(folder)
    path = folder / spans.FILE
    if not path.is_file():
        raise DatasetError(f"{folder} has no {spans.FILE} over raw documents", f"leave out #{RAW}")
    found = rows(path, manifest, whole.topics, frozenset(whole.topics))
    first = {(row.query, row.document): row for row in reversed(found)}
    judged = [Judgement(row.query, row.document, 1, row.place) for row in found if first[row[:2]] is row]
    return replace(
        whole,
        name=f"{whole.name}-{RAW}",
        documents=beir.Corpus(manifest.check_file(folder / spans.DOCUMENTS)),
        judgements={"test": lambda: judged},
        evidence=partial(_evidence, found),
        check_documents=lambda count: manifest.check_count(count, "extras", spans.DOCUMENTS),
    )


def _evidence(found: tuple[PassageRow, ...], judged: frozenset[str]) -> InDocuments:
    return InDocuments(tuple(row for row in found if row.query in judged))
