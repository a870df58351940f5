"""Processes that write to and read from one store at the same time, and a checker of what they saw.

Times are those of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from assay.backend.addresses import open_backend
from assay.errors import AssayError
from benchmarks.torture._stores import has_vectors, make_chunk, make_vector


@dataclass(frozen=True)
class Write:
    """One transaction of a writer: chunks that it put or removed together."""

    start: float
    end: float
    puts: tuple[str, ...]
    removes: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """One snapshot of a reader."""

    reader: int
    start: float
    end: float
    version: int
    ids: frozenset[str]


@dataclass
class History:
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def write(kind: str, address: str, number: int, seconds: float, pipe: Connection) -> None:
    """Put pairs of chunks and remove earlier pairs, each in one transaction; compact now and then."""
    drawn = random.Random(number)
    own: list[tuple[str, ...]] = []
    writes: list[Write] = []
    errors: list[str] = []
    vectors = has_vectors(kind)
    backend = open_backend(address)
    count = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until or not writes:
        start = time.monotonic()
        puts: tuple[str, ...] = ()
        removes: tuple[str, ...] = ()
        try:
            choice = drawn.random()
            if choice < 0.25 and len(own) > 2:
                removes = own.pop(drawn.randrange(len(own)))
                backend.remove(removes)
            elif choice < 0.3:
                backend.compact(force=True)
            else:
                puts = (f"w{number}-{count}-a", f"w{number}-{count}-b")
                items = [make_chunk(name, count) for name in puts]
                backend.put([(chunk, make_vector(count) if vectors else None) for chunk in items])
                own.append(puts)
                count += 1
        except AssayError as error:
            errors.append(f"a writer: {error.message}")
            break
        writes.append(Write(start, time.monotonic(), puts, removes))
    backend.close()
    pipe.send((writes, [], errors))


def read(_: str, address: str, number: int, seconds: float, pipe: Connection) -> None:
    """Take snapshots, one after the other; every other time with a store that is opened anew."""
    reads: list[Read] = []
    errors: list[str] = []
    backend = open_backend(address)
    until = time.monotonic() + seconds
    while time.monotonic() < until or not reads:
        start = time.monotonic()
        try:
            if len(reads) % 5 == 4:
                backend.close()
                backend = open_backend(address)
            view: Any = backend.snapshot()
            ids = frozenset(chunk.id for chunk in view.chunks(view.live_rows(None)))
        except AssayError as error:
            errors.append(f"a reader: {error.message}")
            break
        reads.append(Read(number, start, time.monotonic(), view.version, ids))
    backend.close()
    pipe.send(([], reads, errors))


def check_history(history: History) -> list[str]:
    """Every contradiction between what was acknowledged and what was seen."""
    wrong = list(history.errors)
    put_at = {name: one for one in history.writes for name in one.puts}
    removed_at = {name: one for one in history.writes for name in one.removes}
    pairs = [one.puts for one in history.writes if one.puts]
    for seen in history.reads:
        for name, one in put_at.items():
            removal = removed_at.get(name)
            if name not in seen.ids and one.end < seen.start and (removal is None or removal.start > seen.end):
                wrong.append(f"{name} was acknowledged before a read and is missing in it (v{seen.version})")
            if name in seen.ids and one.start > seen.end:
                wrong.append(f"{name} was read before it was written (v{seen.version})")
            if name in seen.ids and removal is not None and removal.end < seen.start:
                wrong.append(f"{name} was removed before a read and is in it (v{seen.version})")
        wrong += [f"half of {pair} is in v{seen.version}" for pair in pairs if len(seen.ids & set(pair)) == 1]
        wrong += [f"{name} was never written" for name in seen.ids - put_at.keys()]
    wrong += _check_versions(history.reads)
    return wrong


def _check_versions(reads: Iterable[Read]) -> list[str]:
    """A version has the same chunks for everybody, and no reader goes back in time."""
    wrong: list[str] = []
    contents: dict[int, frozenset[str]] = {}
    newest: dict[int, int] = {}
    for seen in reads:
        if contents.setdefault(seen.version, seen.ids) != seen.ids:
            wrong.append(f"v{seen.version} has two contents")
        if newest.get(seen.reader, 0) > seen.version:
            wrong.append(f"a reader went back from v{newest[seen.reader]} to v{seen.version}")
        newest[seen.reader] = seen.version
    return wrong
