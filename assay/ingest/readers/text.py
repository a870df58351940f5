"""Reads plain text: one section, the file's name as title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.ingest.fields import parse_fields
from assay.ingest.files import inspect_text_file
from assay.ingest.outline import Outline, build_documents
from assay.types import Document


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the text of a file; a very large one in parts."""
    text_file = inspect_text_file(path)
    yield from build_documents(name, Outline(text_file.lines()), parse_fields({}, notes=text_file.notes))
