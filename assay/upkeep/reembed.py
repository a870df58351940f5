"""Moving a store to another model: new vectors are made beside the old ones, which serve until the last is there.

    stage → embed what lacks a new vector, batch by batch, each committed → adopt, all at once

Killed half-way, the next run with the same model goes on where it stopped; with another model it begins anew. Chunks
that others add meanwhile get a vector of the old model from them and one of the new model from us. Dead chunks that the
store keeps are embedded too, because old versions are searched by meaning as well.
"""

from __future__ import annotations

from assay.errors import StoreError
from assay.protocols import Embedder
from assay.store.contract import ChunkStore
from assay.types import Progress

BATCH = 256
"""Chunks embedded and committed together: a killed run loses at most these."""


def move(store: ChunkStore, spec: str, model: Embedder, progress: Progress = lambda *_: None) -> int:
    """Give every chunk a vector of this model, and only then make it the store's own; how many live chunks were made
    a vector by this run."""
    try:
        return _moved(store, spec, model, progress)
    except StoreError:
        if store.setting("model") != model.digest:
            raise
        return 0  # another process made the very same move, and was first


def _moved(store: ChunkStore, spec: str, model: Embedder, progress: Progress) -> int:
    waiting = store.stage(spec, model.digest, model.dim)
    made = done = after = 0
    while True:
        part = store.rows(store.lacking_staged(after, BATCH))
        if part:
            vectors = model.encode([row.chunk.indexed_text for row in part])
            store.put_staged(model.digest, [(row.seq, vector) for row, vector in zip(part, vectors, strict=True)])
            made += sum(row.died is None for row in part)
            done, after = done + len(part), part[-1].seq
            progress("embedding", min(done, waiting), waiting)
        elif after:
            after = 0  # once more from the beginning: rows may have come that an earlier look passed
        else:
            progress("changing over", 0, 1)
            if store.adopt(model.digest, f"embedded with {spec}"):
                progress("changing over", 1, 1)
                return made


def fill(store: ChunkStore, model: Embedder, progress: Progress = lambda *_: None) -> int:
    """Give a vector of the store's own model to every live chunk that has none; how many."""
    lacking = store.lacking_vectors()
    for start in range(0, len(lacking), BATCH):
        part = store.rows(lacking[start : start + BATCH])
        vectors = model.encode([row.chunk.indexed_text for row in part])
        with store.write("embed") as writer:
            writer.put_vectors((row.seq, vector) for row, vector in zip(part, vectors, strict=True))
        progress("embedding", start + len(part), len(lacking))
    return len(lacking)
