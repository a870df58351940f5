"""What QMD says about a find, on its command line and over HTTP alike: docid, file, title, score, snippet."""

from __future__ import annotations

from typing import Any, Literal

from assay.errors import StoreError
from assay.sources.listing import Listed
from assay.types import Chunk

Id = Literal["file", "docid"]
Mode = Literal["search", "vsearch", "query"]


def one_line(text: str) -> str:
    """A question as QMD takes it: one line, since several would be a query document; never read as an option."""
    line = " ".join(text.replace("\0", " ").split())
    return f" {line}" if line.startswith("-") else line


def listed(rows: Any, key: Id) -> list[Listed]:
    """The finds of an answer; StoreError names what is wrong with it."""
    if not isinstance(rows, list):
        raise StoreError("QMD answered with something that is no list", "look at it: qmd search … --json")
    return [_listed(row, key, place) for place, row in enumerate(rows, 1)]


def _listed(row: Any, key: Id, place: int) -> Listed:
    if not isinstance(row, dict) or not isinstance(row.get("file"), str) or not isinstance(row.get(key), str):
        raise StoreError(f"QMD's result {place} has no {key!r}", "this reads QMD's --json: docid, file, title, score")
    score = row.get("score")
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise StoreError(f"QMD's result {place} has no score", "this reads QMD's --json: docid, file, title, score")
    snippet = row.get("snippet") or row.get("body") or ""
    meta = {"title": str(row.get("title") or ""), "docid": str(row.get("docid") or ""), "file": row["file"]}
    return Listed(Chunk(row[key], row["file"], str(snippet), 0, meta=meta), float(score))
