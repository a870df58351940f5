"""Reads files in order, foreign formats in reader processes under limits (`reader_limits`).

Several processes read a folder where that is faster; else one is started for the first file of a foreign format, and
our own formats are read in this process. What a file must not cost is the others: a reader that crashes, or passes a
limit, is the problem of its own file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from assay.errors import AssayError, BadFile, MissingExtra
from assay.ingest.chunk_worker import ChunkSetup, Event, FileTask, chunk_files, group_tasks
from assay.ingest.discovery import hash_content, read_file
from assay.ingest.reader_limits import STALL_SECONDS, explain_crash, is_foreign, too_much_memory
from assay.types import Document
from assay.util.worker_pool import SingleWorker, WorkerCrashed, WorkerPool, WorkersUnavailable, can_start_workers

MODULE = "assay.ingest.chunk_worker"

FileEvents = Iterable[tuple[str, Any]]
"""(kind, value) of one file, as in `chunk_worker.Event`."""


def read_files(
    tasks: Sequence[FileTask], sizes: Sequence[int], setup: ChunkSetup, workers: int = 0
) -> Generator[FileEvents, None, None]:
    """Yield the hash and chunks of each file, in order; `workers` processes share them, if any."""
    done = 0
    if workers:
        with contextlib.suppress(WorkersUnavailable):  # then one process at a time is tried
            groups = group_tasks(tasks, sizes)
            with WorkerPool(MODULE, setup, groups, workers, STALL_SECONDS) as pool:
                for group, parts in zip(groups, pool, strict=True):
                    yield from _split_group(group, parts, setup)
                    done += len(group)
    with _reader(setup) as reader:
        for task in tasks[done:]:
            if not is_foreign(task.path) or not can_start_workers() or _is_unchanged(task):
                yield _events_of(task, chunk_files([task], setup))
            else:
                yield _events_of(task, reader.run([task]))


def read_documents(files: Iterable[tuple[Path, str]]) -> Iterator[list[Document] | AssayError]:
    """Yield the documents of each file (path, name), or the error of one that cannot be read."""
    with _reader(ChunkSetup(None, None)) as reader:
        for path, name in files:
            if not is_foreign(path) or not can_start_workers():
                try:
                    yield [*read_file(path, name)]
                except AssayError as error:
                    yield error
                continue
            task = FileTask(path, name, "")
            events = list(_events_of(task, reader.run([task])))
            problem = next((value for kind, value in events if kind == "problem"), None)
            yield problem.as_error(BadFile) if problem else [value for kind, value in events if kind == "document"]


def _reader(setup: ChunkSetup) -> SingleWorker:
    return SingleWorker(MODULE, setup, STALL_SECONDS)


def _split_group(group: Sequence[FileTask], parts: Iterator[list[Event]], setup: ChunkSetup) -> Iterator[FileEvents]:
    """Yield the events of each file of a group; a file that is a group of its own may be large and is passed on as it
    comes."""
    if len(group) == 1:
        yield _events_of(group[0], parts)
        return
    try:
        events = [event for part in parts for event in part]
    except (WorkerCrashed, MemoryError):  # one of them is to blame: read alone, each shows whether it is the one
        with _reader(setup) as reader:
            for task in group:
                yield _events_of(task, reader.run([task]))
        return
    for _, of_one in groupby(events, itemgetter(0)):
        yield [(kind, value) for _, kind, value in of_one]


def _events_of(task: FileTask, parts: Iterable[list[Event]]) -> FileEvents:
    """Yield the events of one file, without its number; the end of its reader is a problem, too."""
    try:
        for part in parts:
            for _, kind, value in part:
                yield kind, value
    except WorkerCrashed as error:
        yield "problem", explain_crash(error, _size(task.path))
    except MemoryError:
        yield "problem", too_much_memory(task.path).reason
    except (WorkersUnavailable, BadFile, MissingExtra) as error:
        yield "problem", error.reason


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_unchanged(task: FileTask) -> bool:
    """Does a file have the content that the store knows? Then no process is started for it."""
    try:
        return bool(task.known) and hash_content(task.path) == task.known
    except BadFile:
        return False
