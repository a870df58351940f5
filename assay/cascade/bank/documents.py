"""Ordered text for a bank: documents whose chunks follow each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from assay.errors import BadFile, ConfigError
from assay.ingest.chunk import PROFILES, chunk_documents
from assay.ingest.walk import FoundFile, Skipped, discover, read_file
from assay.types import Document

Ordered = tuple[str, list[str]]
"""A document's name and its chunks as they are embedded, in order."""
_AT_ONCE = 32


def ordered_documents(
    sources: Sequence[Path],
    by: str = "",
    most: int = 0,
    profile: str = "default",
    passed: Callable[[Skipped], None] = lambda _: None,
) -> Iterator[Ordered]:
    """The documents of files and folders, in the order they stand there.

    `by` names a metadata field: records that follow each other with the same value are one document, as paragraphs of
    one article; a record without it is a document of its own. `most` keeps so many documents of each source, spread
    evenly over all. What a folder holds beside files to read is told to `passed`; a file to read that cannot be read
    ends it: who is held out hangs on all of them.
    """
    read = [
        (source, [one for file in _files(source, passed) for one in read_file(file.path, file.name)])
        for source in sources
    ]
    if by and not any(by in document.meta for _, documents in read for document in documents):
        raise ConfigError(f"no record has a field {by!r} to group by", "leave --by out, or name a metadata field")
    for source, documents in read:
        groups = [
            list(members) for _, members in groupby(documents, key=lambda one: str(one.meta.get(by) or _whole(one)))
        ]
        if most and len(groups) > most:
            groups = [groups[place] for place in np.unique(np.linspace(0, len(groups) - 1, most).astype(int))]
        folder = Path(os.path.abspath(source)).parent.name  # however the path was spelled: names decide the halves
        for members in groups:
            chunks = [
                chunk.indexed_text
                for start in range(0, len(members), _AT_ONCE)
                for cut in chunk_documents(members[start : start + _AT_ONCE], PROFILES[profile])
                for chunk in cut
            ]
            yield f"{folder}/{members[0].id}", chunks


def _whole(document: Document) -> str:
    """The name of the file that a document is a part of: a long one is read in parts, which follow each other."""
    name, _, number = document.id.rpartition("#part-")
    return name if number.isdecimal() else document.id


def _files(source: Path, passed: Callable[[Skipped], None]) -> Sequence[FoundFile]:
    if not source.exists():
        raise ConfigError(f"there is no {source}", "name a file or a folder with text in order")
    if source.is_file():
        stat = source.stat()
        return [FoundFile(source, source.name, stat.st_size, stat.st_mtime_ns)]
    found: list[FoundFile] = []
    for one in discover(source):
        if isinstance(one, FoundFile):
            found.append(one)
        else:
            passed(one)
    if not found:
        raise BadFile(f"{source} holds no file that can be read", "name a folder with text files")
    return sorted(found, key=lambda one: one.name)
