"""Reads JSON lines (.jsonl, .ndjson): one document per line, `name#<id>`, by the rules of `records.parse_record`.

The whole file is checked in a first pass and streamed in a second, so a file with a bad line gives no document; memory
grows by 16 bytes per line. The id of a record without one is its line number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from assay.errors import BadRecord
from assay.ingest.files import TextFile, bad_file, inspect_text_file
from assay.ingest.records import parse_record
from assay.ingest.unique_ids import UniqueIds
from assay.types import Document

MOST_CHARACTERS = 16 << 20  # of one line


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the records of a file, in order."""
    text_file = inspect_text_file(path)
    ids = UniqueIds()
    for line, document in _documents(text_file, name):
        ids.add(document.id, line)
    ids.check(path, "line")
    for _, document in _documents(text_file, name):
        yield document


def _documents(text_file: TextFile, name: str) -> Iterator[tuple[int, Document]]:
    """Yield (line number from 1, document) of every line that is not blank."""
    with text_file.open() as file:
        for number, line in enumerate(iter(lambda: file.readline(MOST_CHARACTERS), ""), 1):
            if len(line) == MOST_CHARACTERS:
                raise bad_file(
                    text_file.path, f"line {number} has over {MOST_CHARACTERS >> 20} million characters", "split it"
                )
            if line.isspace():
                continue
            try:
                record = json.loads(line)
                yield number, parse_record(record, prefix=f"{name}#", fallback_id=str(number), notes=text_file.notes)
            except BadRecord as error:
                raise bad_file(text_file.path, f"line {number}: {error.message}", error.cure) from error
            except (ValueError, RecursionError) as error:
                raise bad_file(
                    text_file.path, f"line {number} is not JSON: {error}", "mend or remove the line"
                ) from error
