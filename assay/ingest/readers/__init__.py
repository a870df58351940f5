"""One file per format: `read(path, name) -> Iterator[Document]`.

`name` is the id of the document (of its first part; rows and messages append `#…`). A reader raises BadFile, with
the path, before it gives its first document; afterwards only a file that changes while it is read can fail.
Other packages add formats through the entry point group `assay.readers`, named by suffix (".org").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from assay.types import Document

Reader = Callable[[Path, str], Iterator[Document]]

READERS = {
    ".md": "assay.ingest.readers.markdown:read",
    ".markdown": "assay.ingest.readers.markdown:read",
    ".mdx": "assay.ingest.readers.markdown:read",
    ".rst": "assay.ingest.readers.rst:read",
    ".txt": "assay.ingest.readers.text:read",
    ".text": "assay.ingest.readers.text:read",
    ".log": "assay.ingest.readers.text:read",
    ".html": "assay.ingest.readers.html:read",
    ".htm": "assay.ingest.readers.html:read",
    ".pdf": "assay.ingest.readers.pdf:read",
    ".docx": "assay.ingest.readers.docx:read",
    ".eml": "assay.ingest.readers.eml:read",
    ".mbox": "assay.ingest.readers.mbox:read",
    ".jsonl": "assay.ingest.readers.jsonl:read",
    ".ndjson": "assay.ingest.readers.jsonl:read",
    ".csv": "assay.ingest.readers.csv:read",
    ".tsv": "assay.ingest.readers.csv:read",
}


@cache
def _plugged() -> dict[str, str]:
    """Suffix → "module:function" of readers that other packages bring; ours cannot be replaced."""
    return {point.name.lower(): point.value for point in entry_points(group="assay.readers")}


def has_reader(suffix: str) -> bool:
    """Does anybody read files of this suffix (".md", in any case)?"""
    return suffix.lower() in READERS or suffix.lower() in _plugged()


def load_reader(suffix: str) -> Reader:
    """The reader of a suffix that has one."""
    where = READERS.get(suffix.lower()) or _plugged()[suffix.lower()]
    module, _, function = where.partition(":")
    return cast(Reader, getattr(import_module(module), function))
