"""The contract of a chunk store: after any transactions it answers what the embedded store answers.

    def test_store(tmp_path):
        check_store(lambda: MyStore(tmp_path), tmp_path / "oracle")     # a factory: it is called again to reopen

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
from assay.store.rows import FileState, encode_row
from assay.store.sqlite import SqliteStore
from assay.store.validation import IdInUse
from assay.testing.backends import random_chunk, random_vector
from assay.testing.components import check_members

Operation = Callable[[ChunkWriter], Any]
_SOURCES = ("docs", "notes")
_ORIGINS = tuple(f"{source}/{name}" for source in _SOURCES for name in ("a.md", "b.md", "deep/c.md"))


def check_store(make: Callable[[], ChunkStore], folder: Path, seed: int = 0, rounds: int = 25) -> None:
    """Random transactions on a store and on its oracle; after each, everything an owner can ask is compared."""
    rng = random.Random(seed)
    store = make()
    check_members(store, ChunkStore, "store")
    oracle = SqliteStore.create(
        folder, {k: store.settings[k] for k in ("embedder", "model", "dim", "language", "profile")}
    )
    for step in range(rounds):
        operations = [_random_operation(rng, bool(store.settings["dim"])) for _ in range(rng.randrange(1, 4))]
        fails = rng.random() < 0.2
        got, want = (_run_transaction(one, operations, fails) for one in (store, oracle))
        _expect(got == want, f"seed {seed}, round {step}: the transaction gave {got}, not {want}")
        if rng.random() < 0.2:
            store.close()
            store = make()
        _compare(store, oracle, f"seed {seed}, round {step}")
    if store.settings["dim"]:
        store = _check_move(make, store, f"seed {seed}, moved to another model")
    store.close()
    oracle.close()


def _check_move(make: Callable[[], ChunkStore], store: ChunkStore, where: str) -> ChunkStore:
    """Move a store to another model: the old vectors serve until the last new one is there; a killed move goes on."""
    dim, model = 3, "n" * 64
    seqs = [seq for _, seq in store.live_at(store.version())]
    before = store.vectors(seqs, store.settings["dim"])
    counts = store.count_chunks()
    _expect(store.stage("next", model, dim) == counts.chunks + counts.dead, f"{where}: not every row is waiting")
    waiting = store.rows_without_staged_vector(0, 10**9)
    _expect(waiting == sorted(waiting) and len(waiting) == counts.chunks + counts.dead, f"{where}: {waiting} wait")
    moved = {seq: np.roll(np.array([1.0, 0.0, 0.0], np.float32), seq) for seq in waiting}
    half = waiting[: len(waiting) // 2]
    store.put_staged(model, [(seq, moved[seq]) for seq in half])
    for refused in (lambda: store.put_staged("another", []), lambda: store.adopt("another", "no")):
        try:
            refused()
        except StoreError:
            continue
        _expect(False, f"{where}: took vectors of a model that is not on its way in")
    _expect(not waiting or not store.adopt(model, "too soon"), f"{where}: adopted a model that half of the rows lack")
    store.close()
    store = make()
    _expect(store.vectors(seqs, store.settings["dim"]).tobytes() == before.tobytes(), f"{where}: old vectors are gone")
    _expect(store.stage("next", model, dim) == len(waiting) - len(half), f"{where}: a move begun before is lost")
    _expect(store.rows_without_staged_vector(0, 10**9) == waiting[len(half) :], f"{where}: other rows wait than should")
    store.put_staged(model, [(seq, moved[seq]) for seq in waiting])  # some of them twice
    _expect(store.adopt(model, "moved"), f"{where}: nothing is lacking, yet it was not adopted")
    store.close()
    store = make()
    _expect((store.setting("model"), store.setting("dim")) == (model, dim), f"{where}: it says another model")
    _expect(not store.rows_without_vector(), f"{where}: rows have lost their vectors")
    found = store.vectors(seqs, dim)
    _expect(all((found[i] == moved[seq]).all() for i, seq in enumerate(seqs)), f"{where}: other vectors than were put")
    return store


def _random_operation(rng: random.Random, dense: bool) -> Operation:
    """One operation of a transaction; it is run on the store and on its oracle."""
    chunks = [random_chunk(rng, rng.randrange(60)) for _ in range(rng.randrange(5))]
    chunks = list({chunk.id: chunk for chunk in chunks}.values())
    vectors = [random_vector(rng) if dense else None for _ in chunks]
    origin, chosen = rng.choice(_ORIGINS), rng.randrange(60)
    facts = FileState(origin, origin.partition("/")[0], str(rng.random()), chosen)
    choices: list[Operation] = [
        lambda writer: writer.put_file(facts, [(encode_row(c), v) for c, v in zip(chunks, vectors, strict=True)]),
        lambda writer: writer.put_file(
            facts, [(encode_row(c), v) for c, v in zip(chunks, vectors, strict=True)], partial=True
        ),
        lambda writer: [writer.put(c, v, origin) for c, v in zip(chunks, vectors, strict=True)],
        lambda writer: writer.remove_file(origin),
        lambda writer: writer.remove_chunk(f"c{chosen:03d}"),
        lambda writer: writer.remove_document(f"d{chosen % 5}"),
        lambda writer: writer.put_folder(_SOURCES[chosen % 2], f"/somewhere/{chosen}"),
        lambda writer: (writer.remove_folder(_SOURCES[chosen % 2]), writer.folder_root(_SOURCES[chosen % 2])),
        lambda writer: writer.tag("here", 0),
        lambda writer: writer.set("backups", [str(chosen)]),
    ]
    return rng.choice(choices[:4] * 3 + choices)


class _RolledBack(Exception):
    """Raised to roll a transaction back."""


def _run_transaction(store: ChunkStore, operations: list[Operation], fails: bool) -> tuple[Any, ...]:
    """The result of a transaction: its counts and values, or that an id was in use, or that it was rolled back."""
    try:
        with store.write("check") as writer:
            check_members(writer, ChunkWriter, "writer")
            values = [operation(writer) for operation in operations]
            if fails:
                raise _RolledBack
    except _RolledBack:
        return ("rolled back",)
    except IdInUse:
        return ("id in use",)
    return writer.inserted, writer.deleted, writer.unchanged, repr(values)


def _compare(store: ChunkStore, oracle: ChunkStore, where: str) -> None:
    questions: list[tuple[str, Callable[[ChunkStore], Any]]] = [
        ("files", lambda r: r.files()),
        ("files of docs", lambda r: r.files("docs")),
        ("folders", lambda r: r.folders()),
        ("tags", lambda r: r.tags()),
        ("a setting", lambda r: r.setting("backups")),
        ("counts", lambda r: r.count_chunks()),
        ("extents", lambda r: sorted(r.origin_extents("docs/"))),
        ("live ids", lambda r: [name for name, _ in r.live_at(r.version())]),
        ("chunks", lambda r: [_plain(row) for row in r.rows([seq for _, seq in r.live_at(r.version())])]),
        ("states", lambda r: sorted((*_plain(s.row), s.row.deleted_in is None) for s in r.states("d1"))),
        ("deleted documents", lambda r: sorted({(name, str(scope)) for name, scope in r.deleted_documents("d")})),
        ("vectors", _vectors),
    ]
    for name in ("docs", "docs/deep", "d1", "nothing", *_ORIGINS):
        questions += _questions_about(name)
    for what, question in questions:
        got, want = question(store), question(oracle)
        _expect(got == want, f"{where}: {what}: {got}, not {want}")
    _expect(store.find_damage(deep=True) == "", f"{where}: {store.find_damage(deep=True)}")


def _questions_about(name: str) -> list[tuple[str, Callable[[ChunkStore], Any]]]:
    """Questions about a source, a file or a document."""
    return [
        (f"heads of {name}", lambda r: sorted(r.heads(name))),
        (f"live in {name}", lambda r: {n: digest for n, (_, digest) in r.live_chunks_of(name).items()}),
        (f"target {name}", lambda r: r.count_target(name)),
        (f"has document {name}", lambda r: r.has_document(name)),
    ]


def _plain(row: Any) -> tuple[Any, ...]:
    chunk = replace(row.chunk, created=-1.0) if row.chunk.created != row.chunk.created else row.chunk
    return chunk.id, row.facts, repr(chunk)


def _vectors(store: ChunkStore) -> tuple[Any, ...]:
    """How many live rows have no vector, and the vectors of all in id order."""
    seqs = [seq for _, seq in store.live_at(store.version())]
    dim = int(store.settings["dim"])
    found = store.vectors(seqs, dim) if dim else np.zeros((len(seqs), 1), np.float32)
    lacking = len(store.rows_without_vector()) if dim else 0
    return lacking, [row.tobytes() for row in found]


def _expect(holds: bool, complaint: str) -> None:
    if not holds:
        raise LawBroken(complaint)
