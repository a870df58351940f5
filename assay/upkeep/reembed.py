"""Moves a store to another model: new vectors are staged beside the old ones, which serve until all are there.

    stage → embed rows without a new vector, batch by batch, each committed → adopt, at once

An interrupted move is resumed by the next run with the same model; another model starts from the beginning. Chunks that
others add meanwhile get a vector of the old model from them and one of the new model here. Dead rows are embedded too,
because old versions can be searched by meaning.
"""

from __future__ import annotations

from assay.errors import StoreError
from assay.protocols import Embedder
from assay.store.contract import ChunkStore
from assay.types import Progress

BATCH = 256
"""Chunks embedded and committed together: a killed run loses at most these."""


def move_to_model(store: ChunkStore, spec: str, model: Embedder, progress: Progress = lambda *_: None) -> int:
    """Embed every chunk with this model, then make it the store's own; how many live chunks this run embedded."""
    try:
        return _stage_and_adopt(store, spec, model, progress)
    except StoreError:
        if store.setting("model") != model.digest:
            raise
        return 0  # another process moved the store to the same model first


def _stage_and_adopt(store: ChunkStore, spec: str, model: Embedder, progress: Progress) -> int:
    waiting = store.stage(spec, model.digest, model.dim)
    embedded = done = after = 0
    while True:
        part = store.rows(store.rows_without_staged_vector(after, BATCH))
        if part:
            vectors = model.encode([row.chunk.indexed_text for row in part])
            store.put_staged(model.digest, [(row.seq, vector) for row, vector in zip(part, vectors, strict=True)])
            embedded += sum(row.deleted_in is None for row in part)
            done, after = done + len(part), part[-1].seq
            progress("embedding", min(done, waiting), waiting)
        elif after:
            after = 0  # once more from the first row: rows may have been added below the last one read
        else:
            progress("changing over", 0, 1)
            if store.adopt(model.digest, f"embedded with {spec}"):
                progress("changing over", 1, 1)
                return embedded


def fill_missing_vectors(store: ChunkStore, model: Embedder, progress: Progress = lambda *_: None) -> int:
    """Embed every live chunk without a vector with the store's own model; how many."""
    lacking = store.rows_without_vector()
    for start in range(0, len(lacking), BATCH):
        part = store.rows(lacking[start : start + BATCH])
        vectors = model.encode([row.chunk.indexed_text for row in part])
        with store.write("embed") as writer:
            writer.put_vectors((row.seq, vector) for row, vector in zip(part, vectors, strict=True))
        progress("embedding", start + len(part), len(lacking))
    return len(lacking)
