"""Reads ordered text for a bank: documents whose chunks follow each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from assay.errors import AssayError, BadFile, ConfigError
from assay.ingest.chunker import PROFILES, chunk_documents
from assay.ingest.discovery import FoundFile, SkippedFile, discover
from assay.ingest.file_reader import read_documents
from assay.types import Document

OrderedDocument = tuple[str, list[str]]
"""A document's name and its chunks as they are embedded, in order."""
_AT_ONCE = 32


def read_ordered_documents(
    sources: Sequence[Path],
    by: str = "",
    most: int = 0,
    profile: str = "default",
    on_skip: Callable[[SkippedFile], None] = lambda _: None,
) -> Iterator[OrderedDocument]:
    """The documents of files and folders, in the order they stand there.

    `by` names a metadata field: successive records with the same value are one document, as paragraphs of one article;
    a record without it is a document of its own. `most` takes so many documents of each path, spread evenly. Files
    without a reader are passed to `on_skip`; a file that cannot be read raises an error, because the split depends on
    all documents.
    """
    read = [(source, _read_files(_find_files(source, on_skip))) for source in sources]
    if by and not any(by in document.meta for _, documents in read for document in documents):
        raise ConfigError(f"no record has a field {by!r} to group by", "leave --by out, or name a metadata field")
    for source, documents in read:
        groups = [
            list(members)
            for _, members in groupby(documents, key=lambda one: str(one.meta.get(by) or _document_name(one)))
        ]
        if most and len(groups) > most:
            groups = [groups[place] for place in np.unique(np.linspace(0, len(groups) - 1, most).astype(int))]
        folder = Path(
            os.path.abspath(source)
        ).parent.name  # independent of how the path was written: names decide the split
        for members in groups:
            chunks = [
                chunk.indexed_text
                for start in range(0, len(members), _AT_ONCE)
                for cut in chunk_documents(members[start : start + _AT_ONCE], PROFILES[profile])
                for chunk in cut
            ]
            yield f"{folder}/{members[0].id}", chunks


def _read_files(files: Sequence[FoundFile]) -> list[Document]:
    documents: list[Document] = []
    for found in read_documents((file.path, file.name) for file in files):
        if isinstance(found, AssayError):
            raise found
        documents += found
    return documents


def _document_name(document: Document) -> str:
    """The name of the document without its part number: a long file is read in successive parts."""
    name, _, number = document.id.rpartition("#part-")
    return name if number.isdecimal() else document.id


def _find_files(source: Path, on_skip: Callable[[SkippedFile], None]) -> Sequence[FoundFile]:
    if not source.exists():
        raise ConfigError(f"there is no {source}", "name a file or a folder with text in order")
    if source.is_file():
        stat = source.stat()
        return [FoundFile(source, source.name, stat.st_size, stat.st_mtime_ns)]
    files: list[FoundFile] = []
    for entry in discover(source):
        if isinstance(entry, FoundFile):
            files.append(entry)
        else:
            on_skip(entry)
    if not files:
        raise BadFile(f"{source} holds no file that can be read", "name a folder with text files")
    return sorted(files, key=lambda entry: entry.name)
