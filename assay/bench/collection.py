"""Reads the documents of a folder or a store for a dataset: one flat text each, with the offsets of its chunks.

The flat text joins the document's chunks in reading order, each below its headings:

    ## Rotating the signing key

    Rotate the signing key every ninety days, …

so an offset into it is an offset into the text in `corpus.jsonl`, whether the documents come from files or a store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.ingest.chunker import PROFILES, chunk_document
from assay.ingest.discovery import FoundFile, discover
from assay.ingest.fields import NOTES
from assay.ingest.file_reader import read_documents
from assay.ingest.origins import default_name
from assay.kb import KnowledgeBase
from assay.types import Chunk, Progress

_PLACE_FIELDS = frozenset({"title", "section", "start", NOTES})
"""Metadata of a chunk that locates it in its document."""


class CollectionError(AssayError):
    """There are no documents for a dataset."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk in its document: `document.text[start : start + len(text)] == text`. `section` is "A > B"."""

    id: str
    start: int
    text: str
    section: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    """One document of a collection."""

    id: str
    title: str
    text: str
    passages: tuple[Passage, ...]
    metadata: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """A line of `corpus.jsonl`."""
        return {"_id": self.id, "title": self.title, "text": self.text, "metadata": dict(self.metadata)}


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents in id order; `problems` are files that could not be read, with the reason."""

    documents: tuple[CollectionDocument, ...]
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def chunks(self) -> int:
        return sum(len(document.passages) for document in self.documents)


def from_folder(root: Path, progress: Progress = lambda *_: None) -> Collection:
    """The documents that `assay add` would index from a folder or a file, without a store."""
    if not root.exists():
        raise CollectionError(f"{root} does not exist", "name a folder or a file that is there")
    source = default_name(root)
    chunks: list[Chunk] = []
    problems: list[tuple[str, str]] = []
    files: list[FoundFile] = []
    for found in discover(root):
        if isinstance(found, FoundFile):
            files.append(found)
        elif found.unreadable:
            problems.append((found.name, found.reason))
    names = [f"{source}{''.join(file.name.partition('/')[1:])}" for file in files]
    contents = read_documents(zip((file.path for file in files), names, strict=True))
    for done, (file, documents) in enumerate(zip(files, contents, strict=True)):
        progress("reading", done + 1, len(files))
        if isinstance(documents, AssayError):
            problems.append((file.name, documents.message))
            continue
        chunks += [chunk for document in documents for chunk in chunk_document(document, PROFILES["default"])]
    return Collection(_documents(chunks), tuple(problems))


def from_store(base: KnowledgeBase) -> Collection:
    """The live documents of a store. Chunks of one section are in the order of its text; a section that was rewritten
    as a whole comes last."""
    store = base.store
    with store.reading():
        seqs = sorted(seq for _, seq in store.live_at(store.version()))
        rows = [(row.seq, row.chunk) for row in store.rows(seqs)]
    first: dict[tuple[str, str], int] = {}
    for seq, chunk in rows:  # an edited chunk has a later seq than its neighbours, so its section gives its place
        first.setdefault((chunk.doc_id, chunk.section), seq)
    rows.sort(key=lambda row: (first[row[1].doc_id, row[1].section], int(row[1].meta.get("start", 0)), row[0]))
    return Collection(_documents(chunk for _, chunk in rows))


def dataset_id(name: str) -> str:
    """A document's id for a dataset: tabs and line ends, which separate judgements, are percent-encoded."""
    return "".join(f"%{ord(c):02X}" if c in "\t\n\r" else c for c in name)


def _documents(chunks: Iterable[Chunk]) -> tuple[CollectionDocument, ...]:
    ordered = sorted(chunks, key=lambda chunk: chunk.doc_id)  # stable: reading order stays within a document
    return tuple(_document(name, [*group]) for name, group in groupby(ordered, key=lambda chunk: chunk.doc_id))


def _document(name: str, chunks: list[Chunk]) -> CollectionDocument:
    pieces: list[str] = []
    passages: list[Passage] = []
    at = 0
    before: Chunk | None = None
    for chunk in chunks:
        gap = _gap(before, chunk)
        start = at + len(gap)
        passages.append(Passage(chunk.id, start, chunk.text, chunk.section))
        pieces += (gap, chunk.text)
        at, before = start + len(chunk.text), chunk
    head = chunks[0]
    return CollectionDocument(dataset_id(name), head.title, "".join(pieces), tuple(passages), _metadata(head))


def _gap(before: Chunk | None, chunk: Chunk) -> str:
    """The text between two chunks: white space within a section, the new headings between sections."""
    old = before.section.split(" > ") if before is not None and before.section else []
    new = chunk.section.split(" > ") if chunk.section else []
    if before is not None and old == new:
        cut = int(chunk.meta.get("start", 0)) - int(before.meta.get("start", 0)) - len(before.text)
        return "" if cut == 0 else "\n" if cut == 1 else "\n\n"
    shared = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    shared = min(shared, max(len(new) - 1, 0))  # back in an outer section, its heading is repeated
    lines = [f"{'#' * min(depth + 2, 6)} {step}" for depth, step in enumerate(new) if depth >= shared]
    return ("\n\n" if before is not None else "") + "".join(f"{line}\n\n" for line in lines)


def _metadata(chunk: Chunk) -> dict[str, Any]:
    metadata = {key: value for key, value in sorted(chunk.meta.items()) if key not in _PLACE_FIELDS}
    if not math.isnan(chunk.created):
        metadata["created"] = datetime.fromtimestamp(chunk.created, UTC).isoformat().replace("+00:00", "Z")
    if chunk.importance != 1.0:
        metadata["importance"] = chunk.importance
    return metadata
