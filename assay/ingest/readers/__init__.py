"""Readers, one module per format: `read(path, name) -> Iterator[Document]`.

`name` is the id of the document (of its first part; rows and messages append `#…`). A reader raises BadFile, with
the path, before it yields its first document; afterwards only a file that changes while it is read can fail.
Plug-ins add formats through the entry point group `assay.readers`, named by suffix (".org").
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
def _plugin_readers() -> dict[str, str]:
    """Return suffix → "module:function" of the readers of plug-ins; they cannot replace those above."""
    return {point.name.lower(): point.value for point in entry_points(group="assay.readers")}


def has_reader(suffix: str) -> bool:
    """Is there a reader for this suffix (".md", in any case)?"""
    return suffix.lower() in READERS or suffix.lower() in _plugin_readers()


def load_reader(suffix: str) -> Reader:
    """Return the reader of a suffix that has one."""
    target = READERS.get(suffix.lower()) or _plugin_readers()[suffix.lower()]
    module, _, function = target.partition(":")
    return cast(Reader, getattr(import_module(module), function))
