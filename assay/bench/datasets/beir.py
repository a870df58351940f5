"""Reads BEIR folders: corpus.jsonl, queries.jsonl, qrels/<split>.tsv, and our optional files.

corpus.jsonl[.gz]    {"_id", "title", "text", "metadata"}
queries.jsonl[.gz]   {"_id", "text", "metadata", and optionally "at", "where", "scope"}
qrels/<split>.tsv    query-id, corpus-id, score, tab-separated, with or without that header
meta.json            counts and sha256, checked (see manifest.py)
queries.npz          ids and vectors: query vectors (see vectors.py)
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
from assay.bench.datasets import evidence, question_metadata, vectors
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, get_mapping, get_text, parse_id, read_json_lines, read_lines
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.raw_dataset import Judgement, RawDataset, Record
from assay.bench.datasets.timestamps import DOCUMENT_DATES, find_timestamp, parse_timestamp
from assay.bench.types import Topic
from assay.errors import BadRecord, QueryError
from assay.ingest.dates import abbreviate
from assay.ingest.records import parse_record

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
MANY = 100  # metadata fields; fewer never exceed what a store accepts
_GRADE = re.compile(r"[+-]?\d{1,9}")
HEADERS = frozenset({"query-id", "query_id", "qid", "queryid"})


def is_beir_folder(path: Path) -> bool:
    """Does this look like a BEIR folder?"""
    return _find_file(path, CORPUS).is_file()


def read(folder: Path) -> RawDataset:
    """Read a folder. The judgements of a split are read when the split is selected."""
    manifest = Manifest.of(folder)
    topics = _read_topics(folder, manifest)
    files = {path.stem: path for path in sorted((folder / QRELS).glob("*.tsv"))}
    if topics and not files:
        raise DatasetError(f"{folder} has no judgements", f"put them into {QRELS}/test.tsv: query-id, corpus-id, score")
    return RawDataset(
        name=folder.resolve().name,
        documents=JsonLinesCorpus(manifest.check_file(_find_file(folder, CORPUS))),
        topics=topics,
        judgements={name: partial(read_judgements, path, manifest) for name, path in files.items()},
        evidence=partial(evidence.read_evidence, folder, manifest, topics),
        label=manifest.label,
        check_documents=lambda found: manifest.check_count(found, "docs"),
    )


@dataclass(frozen=True)
class JsonLinesCorpus:
    """The documents of a JSON Lines file; every iteration reads the file."""

    path: Path

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.with_places())

    def with_places(self) -> Iterator[tuple[Place, Record]]:
        return ((place, parse_document(row, place)) for place, row in read_json_lines(self.path))


def parse_document(row: Record, place: Place) -> Record:
    """Convert a line of a corpus into a record for `KnowledgeBase.add`."""
    meta = get_mapping(row, "metadata", place)
    record: dict[str, Any] = {
        "id": parse_id(row, ("_id", "id", "doc_id"), place),
        "title": get_text(row, "title", place, default=""),
        "text": get_text(row, "text", place),
    }
    if "section" in row:
        record["section"] = row["section"]
    created = find_timestamp({**meta, **row}, DOCUMENT_DATES)
    if created is not None:
        record["created"] = created
    if meta:
        record["metadata"] = meta
    doubtful = any(name.lower() == "importance" or isinstance(meta[name], Mapping) for name in meta)
    if doubtful or "section" in row or len(meta) > MANY:
        _check_storable(record, place)
    return record


def _check_storable(record: Record, place: Place) -> None:
    """Reject a record that a store would refuse: here the line is known, in the middle of a run it is not."""
    try:
        parse_record(record)
    except BadRecord as error:
        raise DatasetError(f"{place}: {error.message}", error.cure) from error


def _read_topics(folder: Path, manifest: Manifest) -> dict[str, Topic]:
    path = manifest.check_file(_find_file(folder, QUERIES))
    topics: dict[str, Topic] = {}
    places: dict[str, Place] = {}
    query_vectors = vectors.read_vectors(manifest.check_file(folder / vectors.FILE))
    if not path.is_file() and not query_vectors:
        raise DatasetError(f"{folder} has no {QUERIES}", f"make queries: assay bench synth {folder}")
    for place, row in read_json_lines(path) if path.is_file() else ():
        topic = _parse_topic(row, place)
        if topic.id in places:
            raise DatasetError(f"{place}: query {topic.id!r} again, first at {places[topic.id]}", "use every id once")
        if not topic.text.strip() and topic.id not in query_vectors:
            raise DatasetError(
                f"{place}: query {topic.id!r} is empty", f"give it a text, or a vector in {vectors.FILE}"
            )
        topics[topic.id], places[topic.id] = topic, place
    manifest.check_count(len(topics), "queries")
    return vectors.join_vectors(topics, query_vectors)


def _parse_topic(row: Record, place: Place) -> Topic:
    meta = get_mapping(row, "metadata", place)
    expression = get_text(row, "where", place, default="")
    try:
        if expression:
            where.parse(expression)
    except QueryError as error:
        raise DatasetError(f"{place}: {error.message}", error.cure) from error
    asked_at = row.get("at", meta.get("question_date"))
    at = parse_timestamp(asked_at)
    if "at" in row and row["at"] is not None and at is None:
        raise DatasetError(f"{place}: 'at' is {abbreviate(asked_at)}, which is not a date", "write it as 2025-06-01")
    return Topic(
        id=parse_id(row, ("_id", "id", "query_id"), place),
        text=get_text(row, "text", place, default=""),
        at=at,
        where=expression or question_metadata.conversation_filter(meta),
        scope=get_text(row, "scope", place, default="") or None,
        meta=meta,
    )


def read_judgements(path: Path, manifest: Manifest) -> list[Judgement]:
    """The lines of a qrels file, checked against the manifest."""
    rows = []
    for number, (place, line) in enumerate(read_lines(manifest.check_file(path))):
        cells = line.split("\t")
        if number == 0 and cells[0].strip().lower() in HEADERS:
            continue
        if len(cells) != 3:
            raise DatasetError(
                f"{place} has {len(cells)} columns", "write query-id, corpus-id, score, set apart by tabs"
            )
        query, doc, grade = (cell.strip() for cell in cells)
        rows.append(Judgement(query, doc, parse_grade(grade, place), place))
    manifest.check_judgements(path.stem, rows)
    return rows


def parse_grade(text: str, place: Place) -> int:
    if not _GRADE.fullmatch(text):
        raise DatasetError(f"{place}: the grade {abbreviate(text)} is not a whole number", "write 0, 1, 2 …")
    return int(text)


def _find_file(folder: Path, name: str) -> Path:
    """The file, or its .gz form if only that exists."""
    packed = folder / f"{name}.gz"
    return packed if packed.is_file() and not (folder / name).is_file() else folder / name
