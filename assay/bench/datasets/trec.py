"""Reads TREC collections: topics, judgements of four columns, documents.

    trec:<folder>                                 finds the files by their names:
        topics*                                   <top> … </top>, or id and text set apart by a tab
        qrels*, qrels/*                           query iteration document grade; "qrels.dev.txt" is the split dev
        corpus.jsonl, corpus*, docs*, *.trec      as in BEIR, or <DOC> … </DOC>; each with or without .gz
    trec:corpus=a,topics=b,qrels=c                these files; each is found like a dataset

A topic's text is its title, else its description; all three fields are metadata. A document's text is the content of
its <TEXT> elements, else everything but its number and title; tags are removed, entities are resolved.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.bench.datasets import beir, catalog
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, check_id, read_lines
from assay.bench.datasets.raw_dataset import Judgement, RawDataset, Record
from assay.bench.datasets.timestamps import parse_timestamp
from assay.bench.types import Topic
from assay.errors import nearest

PATTERNS = {
    "corpus": ("corpus.jsonl", "corpus.jsonl.gz", "corpus*", "docs*", "*.trec", "*.trec.gz"),
    "topics": ("topics*",),
    "qrels": ("qrels*",),
}
PARTS = frozenset(PATTERNS)
TITLES = ("title", "headline", "hl", "h1")
DATES = ("date", "date_time", "pubdate")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_FIELD = re.compile(r"<(num|title|desc|narr)>\s*(.*?)\s*(?=</?(?:num|title|desc|narr|top)\b|\Z)", re.S | re.I)
_LABELS = re.compile(r"^(?:Number|Topic|Title|Description|Narrative)\s*:\s*", re.I)


def read(what: str) -> RawDataset:
    files = _parse_parts(what) if "=" in what else _find_parts(catalog.locate(what))
    qrels = [path for found in files["qrels"] for path in (sorted(found.iterdir()) if found.is_dir() else [found])]
    return RawDataset(
        name=files["topics"][0].resolve().parent.name,
        documents=_open_corpus(files["corpus"][0]),
        topics=read_topics(files["topics"][0]),
        judgements={_split_name(path): partial(read_judgements, path) for path in qrels},
    )


def _parse_parts(what: str) -> dict[str, list[Path]]:
    paths = dict(part.partition("=")[::2] for part in what.split(","))
    if unknown := sorted(paths.keys() - PARTS):
        raise DatasetError(f"trec: there is no part {unknown[0]!r}", nearest(unknown[0], PARTS))
    if missing := sorted(PARTS - paths.keys()):
        raise DatasetError(f"trec: no {missing[0]} are named", "write trec:corpus=…,topics=…,qrels=…")
    return {part: [catalog.locate(path)] for part, path in paths.items()}


def _find_parts(folder: Path) -> dict[str, list[Path]]:
    found = {part: [path for name in names for path in sorted(folder.glob(name))] for part, names in PATTERNS.items()}
    for part, paths in found.items():
        if not paths:
            raise DatasetError(f"{folder} has no {part}", f"call the file {' or '.join(PATTERNS[part])}")
    return found


def _split_name(path: Path) -> str:
    """dev for qrels.dev.txt and qrels/dev.tsv; test for a file called qrels."""
    name = re.sub(r"\.(txt|tsv|gz|qrels?)\b", "", path.name.lower())
    return re.sub(r"^qrels[._-]*", "", name) or "test"


def read_topics(path: Path) -> dict[str, Topic]:
    """Read the topics of a file, <top> elements or two columns."""
    rows = list(read_lines(path))
    has_tags = any(line.lstrip().lower().startswith("<top>") for _, line in rows)
    topics: dict[str, Topic] = {}
    for place, topic in _parse_elements(rows) if has_tags else _parse_columns(rows):
        if topic.id in topics:
            raise DatasetError(f"{place}: topic {topic.id!r} again", "use every number once")
        if not topic.text:
            raise DatasetError(f"{place}: topic {topic.id!r} is empty", "give it a title")
        topics[topic.id] = topic
    return topics


def _parse_elements(rows: list[tuple[Place, str]]) -> Iterator[tuple[Place, Topic]]:
    for place, body in _read_blocks(iter(rows), "top"):
        fields = {name.lower(): _strip_tags(_LABELS.sub("", text.strip())) for name, text in _FIELD.findall(body)}
        if not fields.get("num"):
            raise DatasetError(f"{place}: a topic without <num>", "give every topic its number")
        meta = {name: text for name, text in fields.items() if name != "num" and text}
        yield place, Topic(check_id(fields["num"], place), meta.get("title") or meta.get("desc", ""), meta=meta)


def _parse_columns(rows: list[tuple[Place, str]]) -> Iterator[tuple[Place, Topic]]:
    for place, line in rows:
        name, tab, text = line.partition("\t")
        if not tab:
            raise DatasetError(f"{place} has one column", "write the topic's id, a tab and its text")
        yield place, Topic(check_id(name.strip(), place), text.strip())


def read_judgements(path: Path) -> list[Judgement]:
    rows = []
    for place, line in read_lines(path):
        cells = line.split()
        if len(cells) != 4:
            raise DatasetError(f"{place} has {len(cells)} columns", "write query, iteration, document, grade")
        query, _, document, grade = cells
        rows.append(Judgement(query, document, beir.parse_grade(grade, place), place))
    return rows


def _open_corpus(path: Path) -> TrecDocuments | beir.JsonLinesCorpus:
    files = tuple(sorted(file for file in path.rglob("*") if file.is_file())) if path.is_dir() else (path,)
    return beir.JsonLinesCorpus(path) if path.name.removesuffix(".gz").endswith(".jsonl") else TrecDocuments(files)


@dataclass(frozen=True)
class TrecDocuments:
    """The <DOC> elements of files; every iteration reads the files."""

    files: tuple[Path, ...]

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.with_places())

    def with_places(self) -> Iterator[tuple[Place, Record]]:
        for path in self.files:
            for place, body in _read_blocks(read_lines(path), "doc"):
                yield place, _parse_document(body, place)


def _parse_document(body: str, place: Place) -> Record:
    number = _find_elements(body, "docno")
    if not number:
        raise DatasetError(f"{place}: a document without <DOCNO>", "give every document its number")
    title = next((text for name in TITLES if (text := _strip_tags(" ".join(_find_elements(body, name))))), "")
    outside = re.sub(rf"<(docno|{'|'.join(TITLES)})\b[^>]*>.*?</\1>", " ", body, flags=re.S | re.I)
    text = "\n".join(_find_elements(body, "text")) or outside
    record: dict[str, Any] = {"id": check_id(_strip_tags(number[0]), place), "title": title, "text": _strip_lines(text)}
    dates = (parse_timestamp(_strip_tags(text)) for name in DATES for text in _find_elements(body, name))
    created = next((date for date in dates if date is not None), None)
    return record if created is None else {**record, "created": created}


def _read_blocks(rows: Iterator[tuple[Place, str]], tag: str) -> Iterator[tuple[Place, str]]:
    """Yield (place of the opening tag, text between <tag> and </tag>)."""
    opening, closing = re.compile(rf"<{tag}>", re.I), re.compile(rf"</{tag}>", re.I)
    start_place, block_lines = "", list[str]()
    for place, line in rows:
        if not start_place and (start := opening.search(line)):
            start_place, line = place, line[start.end() :]
        if start_place:
            end = closing.search(line)
            block_lines.append(line[: end.start()] if end else line)
            if end:
                yield start_place, "\n".join(block_lines)
                start_place, block_lines = "", []
    if start_place:
        raise DatasetError(f"{start_place}: <{tag}> never ends", f"close it with </{tag}>")


def _find_elements(body: str, name: str) -> list[str]:
    return re.findall(rf"<{name}\b[^>]*>(.*?)</{name}>", body, re.S | re.I)


def _strip_tags(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())


def _strip_lines(text: str) -> str:
    """Remove tags, trailing blanks of lines, and empty lines at both ends."""
    return "\n".join(" ".join(line.split()) for line in html.unescape(_TAG.sub(" ", text)).splitlines()).strip()
