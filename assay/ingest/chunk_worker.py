"""Hashes and chunks groups of files, in this process or in a worker process.

python -m assay.ingest.chunk_worker     runs a worker of `assay.util.worker_pool`

A worker limits its memory, and its time for each file (`reader_limits`).

Documents are chunked in batches, also those of several small files: that is a fifth faster (see `chunk_documents`),
and a message for every file would cost more than a small file itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BadFile, MissingExtra
from assay.ingest.chunker import Profile, chunk_documents
from assay.ingest.discovery import hash_content, read_file
from assay.ingest.fields import NOTES
from assay.ingest.files import bad_file
from assay.ingest.reader_limits import limit_memory, limit_time, text_limit, too_much_text
from assay.types import Chunk, Document, Section
from assay.util.worker_pool import serve_tasks

BLOCK = 2_048
"""Chunks in one message, at most."""
BATCH_DOCUMENTS, BATCH_CHARACTERS = 32, 1 << 19
"""A batch of documents ends at this number of documents or of characters."""
GROUP, GROUP_BYTES = 64, 1 << 18
"""Files and bytes of one task, at most; a larger file is a task of its own."""
MOST_WARNINGS = 20
"""Different warnings about one file, at most."""


class FileTask(NamedTuple):
    """A file to read under the document id `origin`, unless its hash is still `known`."""

    path: Path
    origin: str
    known: str


class ChunkSetup(NamedTuple):
    """How files are chunked: `transform` is applied to each chunk before it is sent. Without a profile, documents
    stay whole (events "document")."""

    profile: Profile | None
    transform: Callable[[Chunk], Any] | None


Event = tuple[int, str, Any]
"""(number of the file, kind, value)"""


def group_tasks(tasks: Sequence[FileTask], sizes: Sequence[int]) -> list[list[FileTask]]:
    """Group tasks, in order, by the sizes of their files."""
    groups: list[list[FileTask]] = []
    group_size = GROUP_BYTES
    for task, size in zip(tasks, sizes, strict=True):
        group_size += size
        if group_size > GROUP_BYTES or len(groups[-1]) >= GROUP:
            groups.append([])
            group_size = size
        groups[-1].append(task)
    return groups


def chunk_files(
    tasks: Sequence[FileTask], setup: ChunkSetup, on_file: Callable[[int], None] = lambda _: None
) -> Iterator[list[Event]]:
    """Yield the events of files, one after another, in parts: "hash" with a file's digest; then, unless that is known,
    "chunks" with lists of chunks, and "warning" with what a reader had to guess.

    "problem" with a reason ends a file that cannot be read; its earlier events must then be dropped. `on_file` is
    called with the size of each file before it is read.
    """
    events: list[Event] = []
    documents = size = 0
    for number, task in enumerate(tasks):
        try:
            length = task.path.stat().st_size
            on_file(length)
            digest = hash_content(task.path)
            events.append((number, "hash", digest))
            if digest == task.known:
                continue
            total = 0
            warned: set[str] = set()
            for document in read_file(task.path, task.origin):
                characters = _characters(document)
                total += characters
                if total > text_limit(length):
                    raise too_much_text(task.path, length)
                new = [note for note in document.meta.get(NOTES, ()) if note not in warned]
                warned.update(new := new[: MOST_WARNINGS - len(warned)])
                events += [(number, "warning", note) for note in new]
                events.append((number, "document", document))
                documents, size = documents + 1, size + characters
                if documents >= BATCH_DOCUMENTS or size >= BATCH_CHARACTERS:
                    yield from _chunk_events(events, setup)
                    events, documents, size = [], 0, 0
        except (BadFile, MissingExtra) as error:
            events.append((number, "problem", error.reason))
        except OSError as error:
            problem = bad_file(task.path, f"cannot be read: {error.strerror or error}", "check that it may be read")
            events.append((number, "problem", problem.reason))
    yield from _chunk_events(events, setup)


def _characters(document: Document) -> int:
    return sum(len(section.text) for section in document.sections)


def _chunk_events(events: list[Event], setup: ChunkSetup) -> Iterator[list[Event]]:
    """Yield the events with chunks in place of documents, at most a block of chunks in a part."""
    if setup.profile is None or setup.transform is None:
        yield events
        return
    chunks = iter(chunk_documents([value for _, kind, value in events if kind == "document"], setup.profile))
    part: list[Event] = []
    room = BLOCK
    for number, kind, value in events:
        if kind != "document":
            part.append((number, kind, value))
            continue
        rows = list(map(setup.transform, next(chunks)))
        while rows:
            part.append((number, "chunks", rows[:room]))
            rows, room = rows[room:], room - len(rows[:room])
            if not room:
                yield part
                part, room = [], BLOCK
    if part:
        yield part


def _answer(setup: ChunkSetup) -> Callable[[Sequence[FileTask]], Iterator[list[Event]]]:
    if setup.profile is not None:  # models that chunking loads are no cost of a file
        list(chunk_documents([Document("", "", (Section((), "One sentence."),))], setup.profile))
    limit_memory()
    return lambda tasks: chunk_files(tasks, setup, limit_time)


if __name__ == "__main__":
    serve_tasks(_answer)
