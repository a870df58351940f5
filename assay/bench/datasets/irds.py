"""Reads `ir_datasets:<id>`, any collection of the ir_datasets package, e.g. `ir_datasets:beir/scifact`.

The package is an extra. It downloads missing collections from their publishers; installing the extra permits that.
Judgements are those of <id>/train, <id>/dev and <id>/test if these exist, else those of <id>.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, check_id
from assay.bench.datasets.raw_dataset import Judgement, RawDataset, Record
from assay.bench.datasets.splits import ALIASES, STANDARD
from assay.bench.types import Topic
from assay.errors import MissingExtra, nearest

EXTRA = "datasets"


def read(what: str) -> RawDataset:
    try:
        ir_datasets: Any = import_module("ir_datasets")
    except ImportError as error:
        raise MissingExtra(f"the dataset ir_datasets:{what}", EXTRA) from error
    base, _, last = what.rpartition("/")
    if last in (*STANDARD, *ALIASES) and base in ir_datasets.registry:
        raise DatasetError(f"{what} is a split of {base}", f"load ir_datasets:{base} with the split {last!r}")
    whole = _load(ir_datasets, what)
    parts = {name: _load(ir_datasets, f"{what}/{name}") for name in _list_splits(ir_datasets, what)}
    judged = {name: part for name, part in (parts or {"test": whole}).items() if part.has_qrels()}
    parts_with_queries = [part for part in (*judged.values(), whole) if part.has_queries()]
    if not whole.has_docs():
        raise DatasetError(f"{what} has no documents", "choose a collection with documents and judgements")
    topics = {topic.id: topic for part in parts_with_queries for topic in _read_topics(part, what)}
    return RawDataset(
        name=what.replace("/", "-"),
        documents=IrDatasetsDocuments(what, whole),
        topics=topics,
        judgements={name: partial(_read_judgements, part, what) for name, part in judged.items()},
    )


def _load(package: Any, name: str) -> Any:
    try:
        return package.load(name)
    except KeyError as error:
        close = difflib.get_close_matches(name, package.registry, n=5, cutoff=0.4)
        raise DatasetError(f"ir_datasets has no {name!r}", nearest(name, close)) from error


def _list_splits(package: Any, what: str) -> list[str]:
    return [name for name in (*STANDARD, *ALIASES) if f"{what}/{name}" in package.registry]


@dataclass(frozen=True)
class IrDatasetsDocuments:
    """The documents of a collection; ir_datasets stores them on disk."""

    name: str
    collection: Any

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.with_places())

    def with_places(self) -> Iterator[tuple[Place, Record]]:
        for place, doc in _read_rows(self.name, "document", self.collection.docs_iter):
            title, text = getattr(doc, "title", None), getattr(doc, "text", None)
            if not isinstance(text, str):
                title, text = "", doc.default_text()
            yield place, {"id": check_id(doc.doc_id, place), "title": title or "", "text": text}


def _read_topics(part: Any, what: str) -> Iterator[Topic]:
    for place, query in _read_rows(what, "query", part.queries_iter):
        fields = query._asdict().items()
        meta = {key: value for key, value in fields if key not in ("query_id", "text") and isinstance(value, str | int)}
        yield Topic(check_id(query.query_id, place), query.default_text(), meta=meta)


def _read_judgements(part: Any, what: str) -> list[Judgement]:
    return [
        Judgement(row.query_id, row.doc_id, int(row.relevance), place)
        for place, row in _read_rows(what, "judgement", part.qrels_iter)
    ]


def _read_rows(what: str, kind: str, rows: Any) -> Iterator[tuple[Place, Any]]:
    """Yield rows with their places; a collection that cannot be downloaded is an error with a cure."""
    try:
        for number, row in enumerate(rows(), 1):
            yield f"ir_datasets:{what} {kind} {number}", row
    except (OSError, RuntimeError) as error:
        raise DatasetError(f"ir_datasets cannot read {what}: {error}", "see what it needs: ir_datasets.com") from error
