"""Some files at a time: has each changed, and what are its chunks? The same here and in a helper process.

python -m assay.ingest.worker     speaks `assay.util.parallel`'s protocol on its standard input and output

Documents are chunked some at a time, also those of several small files: that is a fifth faster (see
`chunk_documents`), and a message for every file would cost more than many a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BadFile, MissingExtra
from assay.ingest.chunk import Profile, chunk_documents
from assay.ingest.walk import content_hash, read_file
from assay.types import Chunk, Document
from assay.util.parallel import serve

BLOCK = 2_048
"""Chunks handed over together, at most."""
TOGETHER, TOGETHER_CHARACTERS = 32, 1 << 19
"""Documents chunked together: so many, or so many characters and the document that goes beyond."""
GROUP, GROUP_BYTES = 64, 1 << 18
"""Files that one task is about: so many, of so many bytes; a larger file is a task of its own."""


class Task(NamedTuple):
    """A file to read under the document id `origin`, unless its hash is still `known`."""

    path: Path
    origin: str
    known: str


class Setup(NamedTuple):
    """How files are taken: `made` is what becomes of each chunk before it is handed over."""

    profile: Profile
    made: Callable[[Chunk], Any]


Event = tuple[int, str, Any]
"""(number of the file, kind, what is said)"""


def grouped(tasks: Sequence[Task], sizes: Sequence[int]) -> list[list[Task]]:
    """Tasks with the sizes of their files, in order, in groups."""
    groups: list[list[Task]] = []
    held = GROUP_BYTES
    for task, size in zip(tasks, sizes, strict=True):
        held += size
        if held > GROUP_BYTES or len(groups[-1]) >= GROUP:
            groups.append([])
            held = size
        groups[-1].append(task)
    return groups


def taken(tasks: Sequence[Task], setup: Setup) -> Iterator[list[Event]]:
    """What some files give, one after another, in parts: "hash", its digest; then, unless that is known, "chunks",
    a list, while there are more.

    "problem", why, ends a file that cannot be read; what came of it before is then to be thrown away.
    """
    held: list[Event] = []
    documents = size = 0
    for number, task in enumerate(tasks):
        try:
            digest = content_hash(task.path)
            held.append((number, "hash", digest))
            if digest == task.known:
                continue
            for document in read_file(task.path, task.origin):
                held.append((number, "document", document))
                documents, size = documents + 1, size + _characters(document)
                if documents >= TOGETHER or size >= TOGETHER_CHARACTERS:
                    yield from _chunked(held, setup)
                    held, documents, size = [], 0, 0
        except (BadFile, MissingExtra) as error:
            held.append((number, "problem", str(error).replace("\n  cure:", "; cure:")))
        except OSError as error:
            held.append((number, "problem", f"cannot be read: {error.strerror or error}"))
    yield from _chunked(held, setup)


def _characters(document: Document) -> int:
    return sum(len(section.text) for section in document.sections)


def _chunked(events: list[Event], setup: Setup) -> Iterator[list[Event]]:
    """The events with chunks in place of documents, at most a block of them in a part."""
    chunks = iter(chunk_documents([said for _, kind, said in events if kind == "document"], setup.profile))
    part: list[Event] = []
    room = BLOCK
    for number, kind, said in events:
        if kind != "document":
            part.append((number, kind, said))
            continue
        made = list(map(setup.made, next(chunks)))
        while made:
            part.append((number, "chunks", made[:room]))
            made, room = made[room:], room - len(made[:room])
            if not room:
                yield part
                part, room = [], BLOCK
    if part:
        yield part


if __name__ == "__main__":
    serve(lambda setup: lambda tasks: taken(tasks, setup))
