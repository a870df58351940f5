"""Reads a BEIR folder by name; `name#documents` searches the raw documents that its passages come from."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.bench.datasets import beir, catalog, spans
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.evidence import DocumentEvidence
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.passages import PassageRow, read_passages
from assay.bench.datasets.raw_dataset import Judgement, RawDataset

RAW = "documents"


def read(what: str) -> RawDataset:
    name, _, view = what.rpartition("#")
    if view == RAW and name:
        return _read_raw_documents(catalog.locate(name))
    folder = catalog.locate(what)
    if not beir.is_beir_folder(folder):
        raise DatasetError(f"{folder} is no dataset: it has no {beir.CORPUS}", "name a BEIR folder, or use a prefix")
    return beir.read(folder)


def _read_raw_documents(folder: Path) -> RawDataset:
    """Read the raw documents. A document is relevant if it contains a span; questions with spans are judged."""
    manifest = Manifest.of(folder)
    whole = beir.read(folder)
    path = folder / spans.FILE
    if not path.is_file():
        raise DatasetError(f"{folder} has no {spans.FILE} over raw documents", f"leave out #{RAW}")
    found = read_passages(path, manifest, whole.topics, frozenset(whole.topics))
    first = {(row.query, row.document): row for row in reversed(found)}
    judged = [Judgement(row.query, row.document, 1, row.place) for row in found if first[row[:2]] is row]
    return replace(
        whole,
        name=f"{whole.name}-{RAW}",
        documents=beir.JsonLinesCorpus(manifest.check_file(folder / spans.DOCUMENTS)),
        judgements={"test": lambda: judged},
        evidence=partial(_evidence, found),
        check_documents=lambda count: manifest.check_count(count, "extras", spans.DOCUMENTS),
    )


def _evidence(found: tuple[PassageRow, ...], judged: frozenset[str]) -> DocumentEvidence:
    return DocumentEvidence(tuple(row for row in found if row.query in judged))
