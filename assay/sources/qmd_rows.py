"""Parses QMD's results, the same on its command line and over HTTP: docid, file, title, score, snippet."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from assay.errors import StoreError
from assay.sources.listing import SourceHit, is_number
from assay.types import Chunk

Id = Literal["file", "docid"]
Doc = Literal["file", "stem"]
Mode = Literal["search", "vsearch", "query"]


class QmdNames(Protocol):
    """Which fields name a hit and its document."""

    @property
    def id(self) -> Id: ...
    @property
    def doc(self) -> Doc: ...


def one_line(text: str) -> str:
    """A query as QMD takes it: one line, since several would be a query document; never read as an option."""
    line = " ".join(text.replace("\0", " ").split())
    return f" {line}" if line.startswith("-") else line


def parse_hits(rows: Any, names: QmdNames) -> list[SourceHit]:
    """The hits of an answer; StoreError names what is wrong with it."""
    if not isinstance(rows, list):
        raise StoreError("QMD answered with something that is no list", "look at it: qmd search … --json")
    return [_parse_hit(row, names, place) for place, row in enumerate(rows, 1)]


def _parse_hit(row: Any, names: QmdNames, place: int) -> SourceHit:
    key = names.id
    named = isinstance(row, dict) and all(isinstance(row.get(name), str) and row[name] for name in ("file", key))
    if not named:
        raise StoreError(f"QMD's result {place} has no {key!r}", "this reads QMD's --json: docid, file, title, score")
    score = row.get("score")
    if not is_number(score):
        raise StoreError(f"QMD's result {place} has no score", "this reads QMD's --json: docid, file, title, score")
    snippet = row.get("snippet") or row.get("body") or ""
    meta = {"title": str(row.get("title") or ""), "docid": str(row.get("docid") or ""), "file": row["file"]}
    document = row["file"] if names.doc == "file" else stem(row["file"])
    return SourceHit(Chunk(row[key], document, str(snippet), 0, meta=meta), float(score))


def stem(file: str) -> str:
    """`s1` of `qmd://notes/2024/s1.md?index=work`; a name that is none stays as it is."""
    return PurePosixPath(urlsplit(file).path).stem or file
