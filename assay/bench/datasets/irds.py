"""`ir_datasets:<id>`: any collection the ir_datasets package knows, e.g. `ir_datasets:beir/scifact`.

The package is an extra. It fetches what it has not got, from the collections' own homes: whoever installs it
allows that. Judgements are those of <id>/train, <id>/dev and <id>/test where these are there, else the id's own.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, checked_id
from assay.bench.datasets.source import Judgement, RawDataset, Record
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
    whole = _named(ir_datasets, what)
    parts = {name: _named(ir_datasets, f"{what}/{name}") for name in _splits(ir_datasets, what)}
    judged = {name: part for name, part in (parts or {"test": whole}).items() if part.has_qrels()}
    asked = [part for part in (*judged.values(), whole) if part.has_queries()]
    if not whole.has_docs():
        raise DatasetError(f"{what} has no documents", "choose a collection with documents and judgements")
    topics = {topic.id: topic for part in asked for topic in _topics(part, what)}
    return RawDataset(
        name=what.replace("/", "-"),
        documents=Docs(what, whole),
        topics=topics,
        judgements={name: partial(_judgements, part, what) for name, part in judged.items()},
    )


def _named(package: Any, name: str) -> Any:
    try:
        return package.load(name)
    except KeyError as error:
        close = difflib.get_close_matches(name, package.registry, n=5, cutoff=0.4)
        raise DatasetError(f"ir_datasets has no {name!r}", nearest(name, close)) from error


def _splits(package: Any, what: str) -> list[str]:
    return [name for name in (*STANDARD, *ALIASES) if f"{what}/{name}" in package.registry]


@dataclass(frozen=True)
class Docs:
    """The documents of a collection; ir_datasets keeps them on disk."""

    name: str
    collection: Any

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.placed())

    def placed(self) -> Iterator[tuple[Place, Record]]:
        for place, doc in _rows(self.name, "document", self.collection.docs_iter):
            title, text = getattr(doc, "title", None), getattr(doc, "text", None)
            if not isinstance(text, str):
                title, text = "", doc.default_text()
            yield place, {"id": checked_id(doc.doc_id, place), "title": title or "", "text": text}


def _topics(part: Any, what: str) -> Iterator[Topic]:
    for place, query in _rows(what, "query", part.queries_iter):
        fields = query._asdict().items()
        meta = {key: value for key, value in fields if key not in ("query_id", "text") and isinstance(value, str | int)}
        yield Topic(checked_id(query.query_id, place), query.default_text(), meta=meta)


def _judgements(part: Any, what: str) -> list[Judgement]:
    return [
        Judgement(row.query_id, row.doc_id, int(row.relevance), place)
        for place, row in _rows(what, "judgement", part.qrels_iter)
    ]


def _rows(what: str, kind: str, rows: Any) -> Iterator[tuple[Place, Any]]:
    """Rows with their places; a collection that cannot be fetched is an error with a cure."""
    try:
        for number, row in enumerate(rows(), 1):
            yield f"ir_datasets:{what} {kind} {number}", row
    except (OSError, RuntimeError) as error:
        raise DatasetError(f"ir_datasets cannot read {what}: {error}", "see what it needs: ir_datasets.com") from error
