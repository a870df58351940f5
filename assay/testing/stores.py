"""The contract of a record of truth: whatever is written, it says of it what the embedded store says.

    def test_record(tmp_path):
        check_record(lambda: MyRecord(tmp_path), tmp_path / "oracle")     # a factory: it is called again to reopen

The oracle is `SqliteStore`, given the same transactions. Version numbers may differ: a store may count a version for a
write that changes no chunk.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import LawBroken, StoreError
from assay.store.contract import ChunkStore, ChunkWriter
from assay.store.rows import FileFacts, stored
from assay.store.sqlite import SqliteStore
from assay.store.validation import IdInUse
from assay.testing.backends import random_chunk, random_vector

Deed = Callable[[ChunkWriter], Any]
_SOURCES = ("docs", "notes")
_ORIGINS = tuple(f"{source}/{name}" for source in _SOURCES for name in ("a.md", "b.md", "deep/c.md"))


def check_record(make: Callable[[], ChunkStore], folder: Path, seed: int = 0, rounds: int = 25) -> None:
    """Random transactions on a record and on its oracle; after each, everything an owner can ask is compared."""
    rng = random.Random(seed)
    mine = make()
    oracle = SqliteStore.create(
        folder, {k: mine.settings[k] for k in ("embedder", "model", "dim", "language", "profile")}
    )
    for step in range(rounds):
        deeds = [_deed(rng, bool(mine.settings["dim"])) for _ in range(rng.randrange(1, 4))]
        fails = rng.random() < 0.2
        said = [_done(record, deeds, fails) for record in (mine, oracle)]
        _expect(said[0] == said[1], f"seed {seed}, round {step}: the transaction said {said[0]}, not {said[1]}")
        if rng.random() < 0.2:
            mine.close()
            mine = make()
        _compare(mine, oracle, f"seed {seed}, round {step}")
    if mine.settings["dim"]:
        mine = _check_move(make, mine, f"seed {seed}, moved to another model")
    mine.close()
    oracle.close()


def _check_move(make: Callable[[], ChunkStore], record: ChunkStore, where: str) -> ChunkStore:
    """To another model: the old vectors are there until the last new one is; killed half-way, it goes on."""
    dim, model = 3, "n" * 64
    seqs = [seq for _, seq in record.live_at(record.version())]
    before = record.vectors(seqs, record.settings["dim"])
    tally = record.tally()
    _expect(record.stage("next", model, dim) == tally.chunks + tally.dead, f"{where}: not every row is waiting")
    waiting = record.lacking_staged(0, 10**9)
    _expect(waiting == sorted(waiting) and len(waiting) == tally.chunks + tally.dead, f"{where}: {waiting} wait")
    made = {seq: np.roll(np.array([1.0, 0.0, 0.0], np.float32), seq) for seq in waiting}
    half = waiting[: len(waiting) // 2]
    record.put_staged(model, [(seq, made[seq]) for seq in half])
    for refused in (lambda: record.put_staged("another", []), lambda: record.adopt("another", "no")):
        try:
            refused()
        except StoreError:
            continue
        _expect(False, f"{where}: took vectors of a model that is not on its way in")
    _expect(not waiting or not record.adopt(model, "too soon"), f"{where}: adopted a model that half of the rows lack")
    record.close()
    record = make()
    _expect(
        record.vectors(seqs, record.settings["dim"]).tobytes() == before.tobytes(), f"{where}: old vectors are gone"
    )
    _expect(record.stage("next", model, dim) == len(waiting) - len(half), f"{where}: a move begun before is lost")
    _expect(record.lacking_staged(0, 10**9) == waiting[len(half) :], f"{where}: other rows wait than should")
    record.put_staged(model, [(seq, made[seq]) for seq in waiting])  # some of them twice
    _expect(record.adopt(model, "moved"), f"{where}: nothing is lacking, yet it was not adopted")
    record.close()
    record = make()
    _expect((record.setting("model"), record.setting("dim")) == (model, dim), f"{where}: it says another model")
    _expect(not record.lacking_vectors(), f"{where}: rows have lost their vectors")
    found = record.vectors(seqs, dim)
    _expect(all((found[i] == made[seq]).all() for i, seq in enumerate(seqs)), f"{where}: other vectors than were put")
    return record


def _deed(rng: random.Random, dense: bool) -> Deed:
    """One thing to do in a transaction; the same, whoever does it."""
    chunks = [random_chunk(rng, rng.randrange(60)) for _ in range(rng.randrange(5))]
    chunks = list({chunk.id: chunk for chunk in chunks}.values())
    vectors = [random_vector(rng) if dense else None for _ in chunks]
    origin, chosen = rng.choice(_ORIGINS), rng.randrange(60)
    facts = FileFacts(origin, origin.partition("/")[0], str(rng.random()), chosen)
    choices: list[Deed] = [
        lambda writer: writer.put_file(facts, [(stored(c), v) for c, v in zip(chunks, vectors, strict=True)]),
        lambda writer: [writer.put(c, v, origin) for c, v in zip(chunks, vectors, strict=True)],
        lambda writer: writer.remove_file(origin),
        lambda writer: writer.remove_chunk(f"c{chosen:03d}"),
        lambda writer: writer.remove_document(f"d{chosen % 5}"),
        lambda writer: writer.put_source(_SOURCES[chosen % 2], f"/somewhere/{chosen}"),
        lambda writer: (writer.remove_source(_SOURCES[chosen % 2]), writer.root_of(_SOURCES[chosen % 2])),
        lambda writer: writer.tag("here", 0),
        lambda writer: writer.set("backups", [str(chosen)]),
    ]
    return rng.choice(choices[:3] * 3 + choices)


class _Undone(Exception):
    """Thrown to undo a transaction."""


def _done(record: ChunkStore, deeds: list[Deed], fails: bool) -> tuple[Any, ...]:
    """What a transaction said: its counts, or that an id was in use, or that it was undone."""
    try:
        with record.write("check") as writer:
            said = [deed(writer) for deed in deeds]
            if fails:
                raise _Undone
    except _Undone:
        return ("undone",)
    except IdInUse:
        return ("id in use",)
    return writer.born, writer.died, writer.kept, repr(said)


def _compare(mine: ChunkStore, oracle: ChunkStore, where: str) -> None:
    asked: list[tuple[str, Callable[[ChunkStore], Any]]] = [
        ("files", lambda r: r.files()),
        ("files of docs", lambda r: r.files("docs")),
        ("sources", lambda r: r.sources()),
        ("tags", lambda r: r.tags()),
        ("a setting", lambda r: r.setting("backups")),
        ("tally", lambda r: r.tally()),
        ("extents", lambda r: sorted(r.extents("docs/"))),
        ("live ids", lambda r: [name for name, _ in r.live_at(r.version())]),
        ("chunks", lambda r: [_plain(row) for row in r.rows([seq for _, seq in r.live_at(r.version())])]),
        ("states", lambda r: sorted((*_plain(s.row), s.row.died is None) for s in r.states("d1"))),
        ("buried", lambda r: sorted({(name, str(scope)) for name, scope in r.buried("d")})),
        ("vectors", _vectors),
    ]
    for name in ("docs", "docs/deep", "d1", "nothing", *_ORIGINS):
        asked += _about(name)
    for what, question in asked:
        got, want = question(mine), question(oracle)
        _expect(got == want, f"{where}: {what}: {got}, not {want}")
    _expect(mine.damage(deep=True) == "", f"{where}: {mine.damage(deep=True)}")


def _about(name: str) -> list[tuple[str, Callable[[ChunkStore], Any]]]:
    """Questions about a source, a file or a document."""
    return [
        (f"heads of {name}", lambda r: sorted(r.heads(name))),
        (f"live in {name}", lambda r: {n: said for n, (_, said) in r.live_in(name).items()}),
        (f"reach of {name}", lambda r: r.reach(name)),
        (f"has document {name}", lambda r: r.has_document(name)),
    ]


def _plain(row: Any) -> tuple[Any, ...]:
    chunk = replace(row.chunk, created=-1.0) if row.chunk.created != row.chunk.created else row.chunk
    return chunk.id, row.facts, repr(chunk)


def _vectors(record: ChunkStore) -> tuple[Any, ...]:
    """How many live rows have none, and the sum of the others in id order."""
    seqs = [seq for _, seq in record.live_at(record.version())]
    dim = int(record.settings["dim"])
    found = record.vectors(seqs, dim) if dim else np.zeros((len(seqs), 1), np.float32)
    lacking = len(record.lacking_vectors()) if dim else 0
    return lacking, [row.tobytes() for row in found]


def _expect(holds: bool, complaint: str) -> None:
    if not holds:
        raise LawBroken(complaint)
