"""One file at a time: has it changed, and what are its chunks? The same here and in a helper process.

python -m assay.ingest.worker     speaks `assay.parallel`'s protocol on its standard input and output
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BadFile, MissingExtra
from assay.ingest.chunk import Profile, chunk_document
from assay.ingest.walk import content_hash, read_file
from assay.parallel import serve
from assay.types import Chunk

BLOCK = 2_048
"""Chunks handed over together."""


class Task(NamedTuple):
    """A file to read under the document id `origin`, unless its hash is still `known`."""

    path: Path
    origin: str
    known: str


def taken(task: Task, profile: Profile) -> Iterator[tuple[str, Any]]:
    """What a file gives: ("hash", its digest), then, unless that is known, ("chunks", a list) while there are more.

    ("problem", why) ends it where the file cannot be read; what came before is then to be thrown away.
    """
    try:
        digest = content_hash(task.path)
        yield "hash", digest
        if digest == task.known:
            return
        block: list[Chunk] = []
        for document in read_file(task.path, task.origin):
            block += chunk_document(document, profile)
            while len(block) >= BLOCK:
                yield "chunks", block[:BLOCK]
                block = block[BLOCK:]
        yield "chunks", block
    except (BadFile, MissingExtra) as error:
        yield "problem", str(error).replace("\n  cure:", "; cure:")
    except OSError as error:
        yield "problem", f"cannot be read: {error.strerror or error}"


def packed(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Chunks as plain tuples, which pickle several times faster."""
    for kind, said in parts:
        yield (kind, [_fields(chunk) for chunk in said]) if kind == "chunks" else (kind, said)


def unpacked(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """What `packed` made plain, as chunks again."""
    for kind, said in parts:
        yield (kind, [Chunk(*fields) for fields in said]) if kind == "chunks" else (kind, said)


def _fields(chunk: Chunk) -> tuple[Any, ...]:
    return chunk.id, chunk.doc_id, chunk.text, chunk.tokens, chunk.created, chunk.importance, chunk.meta


if __name__ == "__main__":
    serve(lambda profile: lambda task: packed(taken(Task(*task), profile)))
