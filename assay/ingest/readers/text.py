"""Plain text: one section, the file's name as title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.ingest.fields import facts_from
from assay.ingest.files import text_file
from assay.ingest.outline import Outline, documents
from assay.types import Document


def read(path: Path, name: str) -> Iterator[Document]:
    """The text of a file; a very large one in parts."""
    source = text_file(path)
    yield from documents(name, Outline(source.lines()), facts_from({}, notes=source.notes))
