"""Loads datasets: documents, questions (topics), judgements and evidence.

load("tiny")                              the shipped one
load("scifact", "dev")                    a BEIR folder in $ASSAY_DATA, or at a path
load("trec:robust04")                     TREC topics, judgements and documents
load("longmemeval:s.json#turn", "all")    conversations, by session or by turn
load("ir_datasets:beir/scifact")          anything ir_datasets knows
load("locomo", "test~50")                 a stratified sample of fifty questions
load("locomo", "test@end")                questions without a date get the end of their conversation
load("locomo", "test@2024-01-31")         … or this date, and later documents are hidden
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import cast

from assay.bench.datasets.assemble import assemble
from assay.bench.datasets.catalog import display_source, list_datasets
from assay.bench.datasets.corpus_cache import CachedDocuments
from assay.bench.datasets.defects import collect_defects
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.question_dates import date_questions
from assay.bench.datasets.raw_dataset import RawDataset
from assay.bench.datasets.sample import sample
from assay.bench.types import Dataset

__all__ = ["FORMATS", "DatasetError", "list_datasets", "load", "load_splits", "sample"]

FOLDER = "beir"
FORMATS: Mapping[str, str] = {
    FOLDER: "assay.bench.datasets.folder",
    "ir_datasets": "assay.bench.datasets.irds",
    "locomo": "assay.bench.datasets.locomo",
    "longmemeval": "assay.bench.datasets.longmemeval",
    "trec": "assay.bench.datasets.trec",
}
"""prefix → the module whose `read(what)` takes the rest of the source. Without a prefix it is a BEIR folder."""


def load(source: str, split: str = "test", *, strict: bool = False) -> Dataset:
    """A split of a dataset, read and checked; DatasetError says what is wrong, in which file and line.

    Defects that reading can go on without (see defects.py) are notes of the dataset; with `strict` they are errors.
    `split` is train, dev, test, all, or the name of a qrels file (see splits.py); "test~50" is a sample of 50 of
    its questions, "test~50~7" another one; "test@end" gives questions without a date the last moment there is,
    "test@2024-01-31" this date.
    """
    return load_splits(source, (split,), strict=strict)[0]


def load_splits(source: str, splits: Sequence[str], *, strict: bool = False) -> tuple[Dataset, ...]:
    """Several splits of a dataset, whose documents are parsed once and shared."""
    prefix, colon, rest = source.partition(":")
    known = bool(colon) and prefix in FORMATS
    module = import_module(FORMATS[prefix if known else FOLDER])
    with collect_defects(strict) as shared:
        raw = cast(RawDataset, module.read(rest if known else source))
    raw = replace(raw, documents=CachedDocuments(raw.documents))
    datasets = []
    for split in splits:
        with collect_defects(strict) as own:
            dataset = _load_split(raw, source, split)
        datasets.append(replace(dataset, notes=(*dataset.notes, *shared.notes, *own.notes)))
    return tuple(datasets)


def _load_split(raw: RawDataset, source: str, split: str) -> Dataset:
    name, *sizes = split.split("~")
    name, at_sign, moment = name.partition("@")
    dataset = assemble(raw, name, display_source(source))
    dataset = date_questions(dataset, moment) if at_sign else dataset
    return sample(dataset, *_parse_sample(split, sizes)) if sizes else dataset


def _parse_sample(split: str, sizes: list[str]) -> list[int]:
    if len(sizes) > 2 or not all(size.isdecimal() and len(size) < 10 for size in sizes):
        raise DatasetError(f"split {split!r} names no sample", "write test~50, or test~50~7 for the seed 7")
    return [int(size) for size in sizes]
