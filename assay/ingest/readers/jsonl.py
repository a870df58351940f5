"""JSON lines (.jsonl, .ndjson): one document per line, `name#<id>`, by the rules of `records.document_from`.

The whole file is checked in a first pass and streamed in a second: a bad line anywhere means that nothing of the
file is taken, in memory that grows by 16 bytes per line. A record without id is called by its line number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from assay.errors import BadRecord
from assay.ingest.files import TextFile, bad_file, text_file
from assay.ingest.records import document_from
from assay.ingest.unique import UniqueNames
from assay.types import Document

MOST_CHARACTERS = 16 << 20  # of one line


def read(path: Path, name: str) -> Iterator[Document]:
    """The records of a file, in order."""
    source = text_file(path)
    names = UniqueNames()
    for line, document in _documents(source, name):
        names.add(document.id, line)
    names.check(path, "line")
    for _, document in _documents(source, name):
        yield document


def _documents(source: TextFile, name: str) -> Iterator[tuple[int, Document]]:
    """(line number from 1, document) of every line that is not blank."""
    with source.open() as file:
        for number, line in enumerate(iter(lambda: file.readline(MOST_CHARACTERS), ""), 1):
            if len(line) == MOST_CHARACTERS:
                raise bad_file(
                    source.path, f"line {number} has over {MOST_CHARACTERS >> 20} million characters", "split it"
                )
            if line.isspace():
                continue
            try:
                record = json.loads(line)
                yield number, document_from(record, prefix=f"{name}#", fallback_id=str(number), notes=source.notes)
            except BadRecord as error:
                raise bad_file(source.path, f"line {number}: {error.message}", error.cure) from error
            except (ValueError, RecursionError) as error:
                raise bad_file(source.path, f"line {number} is not JSON: {error}", "mend or remove the line") from error
