"""Reading triples out of a store that is already filled: chunk by chunk, committed in batches, so a killed run goes on.

A chunk that was read says so (`ingest.triples`), so the next run asks only for the others. Vectors stay as they are:
what a chunk says is no part of the text that is embedded.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.ingest.triples import ChunkAnnotator, load_annotator, needs_triples
from assay.store.contract import ChunkStore
from assay.store.rows import ChunkRow
from assay.types import Progress

BATCH = 64
"""Chunks read and committed together: a killed run loses at most these."""


def annotate_store(store: ChunkStore, spec: str, progress: Progress = lambda *_: None) -> int:
    """Give every live chunk the triples that a reader finds in it, and name the reader in the store, so that what comes
    later is read as well; how many chunks were read. BadFile when the reader fails; what it read before stays."""
    reader = load_annotator(spec)
    if store.setting("triples") != spec:
        with store.write(f"triples by {spec}") as writer:
            writer.set("triples", spec)
    if reader is None:
        return 0
    extents = list(store.origin_extents(""))
    total, done, count = sum(extent.chunks for extent in extents), 0, 0
    for extent in extents:
        seqs = sorted(seq for seq, _ in store.live_chunks_of(extent.origin).values())
        for start in range(0, len(seqs), BATCH):
            part = store.rows(seqs[start : start + BATCH])
            waiting = [row for row in part if needs_triples(row.chunk, spec)]
            count += _read(store, spec, reader, extent.origin, waiting) if waiting else 0
            done += len(part)
            progress("reading triples", done, total)
    return count


def _read(store: ChunkStore, spec: str, reader: ChunkAnnotator, origin: str, rows: Sequence[ChunkRow]) -> int:
    annotated = [reader(row.chunk, {}) for row in rows]
    dim = int(store.settings["dim"])
    vectors = store.vectors([row.seq for row in rows], dim) if dim else [None] * len(rows)
    with store.write(f"triples by {spec}") as writer:
        live = store.live_chunks_of(origin)  # read again: another process may have changed or removed one meanwhile
        for row, chunk, vector in zip(rows, annotated, vectors, strict=True):
            if live.get(chunk.id, (0, b""))[0] == row.seq:
                writer.put(chunk, vector if vector is not None and vector.any() else None, origin)
    return writer.inserted
