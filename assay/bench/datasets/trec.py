"""TREC collections: topics, judgements of four columns, documents.

    trec:<folder>                                 finds the files by their names:
        topics*                                   <top> … </top>, or id and text set apart by a tab
        qrels*, qrels/*                           query iteration document grade; "qrels.dev.txt" is the split dev
        corpus.jsonl, corpus*, docs*, *.trec      as in BEIR, or <DOC> … </DOC>; each with or without .gz
    trec:corpus=a,topics=b,qrels=c                these files; each is found like a dataset

A topic's text is its title, else its description; all three fields are metadata. A document's text is what its
<TEXT> elements hold, else everything but its number and title; tags are taken out, entities are resolved.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.bench.datasets import beir, find
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, checked_id, lines
from assay.bench.datasets.moments import moment
from assay.bench.datasets.source import Judgement, RawDataset, Record
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
    files = _named(what) if "=" in what else _in_folder(find.locate(what))
    qrels = [path for found in files["qrels"] for path in (sorted(found.iterdir()) if found.is_dir() else [found])]
    return RawDataset(
        name=files["topics"][0].resolve().parent.name,
        documents=_corpus(files["corpus"][0]),
        topics=topics(files["topics"][0]),
        judgements={_split(path): partial(judgements, path) for path in qrels},
    )


def _named(what: str) -> dict[str, list[Path]]:
    given = dict(part.partition("=")[::2] for part in what.split(","))
    if odd := sorted(given.keys() - PARTS):
        raise DatasetError(f"trec: there is no part {odd[0]!r}", nearest(odd[0], PARTS))
    if missing := sorted(PARTS - given.keys()):
        raise DatasetError(f"trec: no {missing[0]} are named", "write trec:corpus=…,topics=…,qrels=…")
    return {part: [find.locate(path)] for part, path in given.items()}


def _in_folder(folder: Path) -> dict[str, list[Path]]:
    found = {part: [path for name in names for path in sorted(folder.glob(name))] for part, names in PATTERNS.items()}
    for part, paths in found.items():
        if not paths:
            raise DatasetError(f"{folder} has no {part}", f"call the file {' or '.join(PATTERNS[part])}")
    return found


def _split(path: Path) -> str:
    """dev of qrels.dev.txt and of qrels/dev.tsv; a file called qrels and no more is test."""
    name = re.sub(r"\.(txt|tsv|gz|qrels?)\b", "", path.name.lower())
    return re.sub(r"^qrels[._-]*", "", name) or "test"


def topics(path: Path) -> dict[str, Topic]:
    """The topics of a file, <top> elements or two columns."""
    rows = list(lines(path))
    marked = any(line.lstrip().lower().startswith("<top>") for _, line in rows)
    found: dict[str, Topic] = {}
    for place, topic in _elements(rows) if marked else _columns(rows):
        if topic.id in found:
            raise DatasetError(f"{place}: topic {topic.id!r} again", "use every number once")
        if not topic.text:
            raise DatasetError(f"{place}: topic {topic.id!r} is empty", "give it a title")
        found[topic.id] = topic
    return found


def _elements(rows: list[tuple[Place, str]]) -> Iterator[tuple[Place, Topic]]:
    for place, body in _blocks(iter(rows), "top"):
        fields = {name.lower(): _plain(_LABELS.sub("", text.strip())) for name, text in _FIELD.findall(body)}
        if not fields.get("num"):
            raise DatasetError(f"{place}: a topic without <num>", "give every topic its number")
        meta = {name: text for name, text in fields.items() if name != "num" and text}
        yield place, Topic(checked_id(fields["num"], place), meta.get("title") or meta.get("desc", ""), meta=meta)


def _columns(rows: list[tuple[Place, str]]) -> Iterator[tuple[Place, Topic]]:
    for place, line in rows:
        name, tab, text = line.partition("\t")
        if not tab:
            raise DatasetError(f"{place} has one column", "write the topic's id, a tab and its text")
        yield place, Topic(checked_id(name.strip(), place), text.strip())


def judgements(path: Path) -> list[Judgement]:
    rows = []
    for place, line in lines(path):
        cells = line.split()
        if len(cells) != 4:
            raise DatasetError(f"{place} has {len(cells)} columns", "write query, iteration, document, grade")
        query, _, document, grade = cells
        rows.append(Judgement(query, document, beir.grade_of(grade, place), place))
    return rows


def _corpus(path: Path) -> Marked | beir.Corpus:
    files = tuple(sorted(file for file in path.rglob("*") if file.is_file())) if path.is_dir() else (path,)
    return beir.Corpus(path) if path.name.removesuffix(".gz").endswith(".jsonl") else Marked(files)


@dataclass(frozen=True)
class Marked:
    """<DOC> elements in files, read from the files every time."""

    files: tuple[Path, ...]

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.placed())

    def placed(self) -> Iterator[tuple[Place, Record]]:
        for path in self.files:
            for place, body in _blocks(lines(path), "doc"):
                yield place, _document(body, place)


def _document(body: str, place: Place) -> Record:
    number = _element(body, "docno")
    if not number:
        raise DatasetError(f"{place}: a document without <DOCNO>", "give every document its number")
    title = next((text for name in TITLES if (text := _plain(" ".join(_element(body, name))))), "")
    outside = re.sub(rf"<(docno|{'|'.join(TITLES)})\b[^>]*>.*?</\1>", " ", body, flags=re.S | re.I)
    text = "\n".join(_element(body, "text")) or outside
    record: dict[str, Any] = {"id": checked_id(_plain(number[0]), place), "title": title, "text": _lines(text)}
    dates = (moment(_plain(text)) for name in DATES for text in _element(body, name))
    created = next((date for date in dates if date is not None), None)
    return record if created is None else {**record, "created": created}


def _blocks(rows: Iterator[tuple[Place, str]], tag: str) -> Iterator[tuple[Place, str]]:
    """(place of its beginning, what stands between <tag> and </tag>)."""
    opening, closing = re.compile(rf"<{tag}>", re.I), re.compile(rf"</{tag}>", re.I)
    begun, held = "", list[str]()
    for place, line in rows:
        if not begun and (start := opening.search(line)):
            begun, line = place, line[start.end() :]
        if begun:
            end = closing.search(line)
            held.append(line[: end.start()] if end else line)
            if end:
                yield begun, "\n".join(held)
                begun, held = "", []
    if begun:
        raise DatasetError(f"{begun}: <{tag}> never ends", f"close it with </{tag}>")


def _element(body: str, name: str) -> list[str]:
    return re.findall(rf"<{name}\b[^>]*>(.*?)</{name}>", body, re.S | re.I)


def _plain(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())


def _lines(text: str) -> str:
    """Without tags, blanks at the ends of lines, and empty lines around."""
    return "\n".join(" ".join(line.split()) for line in html.unescape(_TAG.sub(" ", text)).splitlines()).strip()
