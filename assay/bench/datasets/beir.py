"""BEIR folders: corpus.jsonl, queries.jsonl, qrels/<split>.tsv, and what we add to them.

corpus.jsonl[.gz]    {"_id", "title", "text", "metadata"}
queries.jsonl[.gz]   {"_id", "text", "metadata", and optionally "at", "where", "scope"}
qrels/<split>.tsv    query-id, corpus-id, score, tab-separated, with or without that header
meta.json            counts and sha256, checked (see manifest.py)
queries.npz          ids and vectors: questions asked by vector (see vectors.py)
evidence             passages that answer (see evidence.py)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay import where
from assay.bench.datasets import evidence, rules, vectors
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, identity, json_lines, lines, mapping_of, text_of
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.moments import DOCUMENT_DATES, first_moment, moment
from assay.bench.datasets.source import Judgement, RawDataset, Record
from assay.bench.types import Topic
from assay.errors import BadRecord, QueryError
from assay.ingest.dates import brief
from assay.ingest.records import document_from

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
MANY = 100  # fields of metadata; below it none is too many for a store
_GRADE = re.compile(r"[+-]?\d{1,9}")
_HEADERS = frozenset({"query-id", "query_id", "qid", "queryid"})


def is_folder(path: Path) -> bool:
    """Does this look like a BEIR folder?"""
    return _file(path, CORPUS).is_file()


def read(folder: Path) -> RawDataset:
    """A folder as a source; the judgements of a split are read when the split is asked for."""
    manifest = Manifest.of(folder)
    topics = _topics(folder, manifest)
    files = {path.stem: path for path in sorted((folder / QRELS).glob("*.tsv"))}
    if topics and not files:
        raise DatasetError(f"{folder} has no judgements", f"put them into {QRELS}/test.tsv: query-id, corpus-id, score")
    return RawDataset(
        name=folder.resolve().name,
        documents=Corpus(manifest.check_file(_file(folder, CORPUS))),
        topics=topics,
        judgements={name: partial(_judgements, path, manifest) for name, path in files.items()},
        evidence=partial(evidence.read, folder, manifest, topics),
        label=manifest.label,
        check_documents=lambda found: manifest.check_count(found, "docs"),
    )


@dataclass(frozen=True)
class Corpus:
    """The documents of a JSON Lines file, read from the file every time."""

    path: Path

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.placed())

    def placed(self) -> Iterator[tuple[Place, Record]]:
        return ((place, document(row, place)) for place, row in json_lines(self.path))


def document(row: Record, place: Place) -> Record:
    """A line of a corpus as a record for `KnowledgeBase.add`."""
    meta = mapping_of(row, "metadata", place)
    made: dict[str, Any] = {
        "id": identity(row, ("_id", "id", "doc_id"), place),
        "title": text_of(row, "title", place, default=""),
        "text": text_of(row, "text", place),
    }
    created = first_moment({**meta, **row}, DOCUMENT_DATES)
    if created is not None:
        made["created"] = created
    if meta:
        made["metadata"] = meta
    if len(meta) > MANY or any(name.lower() == "importance" or isinstance(meta[name], Mapping) for name in meta):
        _check_storable(made, place)
    return made


def _check_storable(record: Record, place: Place) -> None:
    """Few facts can be refused by a store; better here, where the line is known, than in the middle of a run."""
    try:
        document_from(record)
    except BadRecord as error:
        raise DatasetError(f"{place}: {error.message}", error.cure) from error


def _topics(folder: Path, manifest: Manifest) -> dict[str, Topic]:
    path = manifest.check_file(_file(folder, QUERIES))
    found: dict[str, Topic] = {}
    places: dict[str, Place] = {}
    asked = vectors.read(manifest.check_file(folder / vectors.FILE))
    if not path.is_file() and not asked:
        raise DatasetError(f"{folder} has no {QUERIES}", f"make queries: assay bench synth {folder}")
    for place, row in json_lines(path) if path.is_file() else ():
        topic = _topic(row, place)
        if topic.id in places:
            raise DatasetError(f"{place}: query {topic.id!r} again, first at {places[topic.id]}", "use every id once")
        if not topic.text.strip() and topic.id not in asked:
            raise DatasetError(
                f"{place}: query {topic.id!r} is empty", f"give it a text, or a vector in {vectors.FILE}"
            )
        found[topic.id], places[topic.id] = topic, place
    manifest.check_count(len(found), "queries")
    return vectors.joined(found, asked)


def _topic(row: Record, place: Place) -> Topic:
    meta = mapping_of(row, "metadata", place)
    stated = text_of(row, "where", place, default="")
    try:
        if stated:
            where.parse(stated)
    except QueryError as error:
        raise DatasetError(f"{place}: {error.message}", error.cure) from error
    asked_at = row.get("at", meta.get("question_date"))
    at = moment(asked_at)
    if "at" in row and row["at"] is not None and at is None:
        raise DatasetError(f"{place}: 'at' is {brief(asked_at)}, which is not a date", "write it as 2025-06-01")
    return Topic(
        id=identity(row, ("_id", "id", "query_id"), place),
        text=text_of(row, "text", place, default=""),
        at=at,
        where=stated or rules.restriction(meta),
        scope=text_of(row, "scope", place, default="") or None,
        meta=meta,
    )


def _judgements(path: Path, manifest: Manifest) -> list[Judgement]:
    rows = []
    for number, (place, line) in enumerate(lines(manifest.check_file(path))):
        cells = line.split("\t")
        if number == 0 and cells[0].strip().lower() in _HEADERS:
            continue
        if len(cells) != 3:
            raise DatasetError(
                f"{place} has {len(cells)} columns", "write query-id, corpus-id, score, set apart by tabs"
            )
        query, doc, grade = (cell.strip() for cell in cells)
        rows.append(Judgement(query, doc, grade_of(grade, place), place))
    manifest.check_judgements(path.stem, rows)
    return rows


def grade_of(text: str, place: Place) -> int:
    if not _GRADE.fullmatch(text):
        raise DatasetError(f"{place}: the grade {brief(text)} is not a whole number", "write 0, 1, 2 …")
    return int(text)


def _file(folder: Path, name: str) -> Path:
    """The file, or its packed form when only that is there."""
    packed = folder / f"{name}.gz"
    return packed if packed.is_file() and not (folder / name).is_file() else folder / name
