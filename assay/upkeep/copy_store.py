"""Copies a store to another address, of any backend: every live chunk with its id, file, source and vector.

Nothing is chunked or embedded again, so the copy answers as the original does. Older versions, tags and dead rows are
not copied. Files are committed a few thousand chunks at a time; an interrupted copy is resumed by the next call, and is
marked as incomplete until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.backend.addresses import redact_password, resolve_factory
from assay.backend.contract import StoreBackend
from assay.errors import StoreError
from assay.store.contract import COPYING, ChunkStore, ChunkWriter
from assay.store.rows import encode_row
from assay.types import Chunk, Progress, Vector

BATCH = 8_192
"""Chunks committed together."""
_READ_BATCH = 1_000  # rows read together
_SETTINGS = ("embedder", "model", "dim", "language", "profile", "triples", "k1", "b")
_WORDS_ONLY = {"embedder": "none", "model": "", "dim": 0}


def copy_store(original: ChunkStore, address: str | Path, progress: Progress = lambda *_: None) -> StoreBackend:
    """Copy the live chunks of a store to a new address, or resume an earlier copy; the result is not indexed yet."""
    target = _open_target(original, address)
    try:
        with original.reading():
            _fill(original, target.store, progress)
        return target
    except BaseException:
        target.close()
        raise


def _open_target(original: ChunkStore, address: str | Path) -> StoreBackend:
    factory, rest = resolve_factory(address)
    if factory.exists(rest):
        target = factory.open(rest)
        unfinished = target.store.setting(COPYING)
        if unfinished == _name(original):
            return target
        target.close()
        detail = f", and it is a copy of {unfinished} that is not whole yet" if unfinished else ""
        raise StoreError(f"there already is a store at {redact_password(str(address))}{detail}", "copy to a new place")
    settings = {key: value for key in _SETTINGS if (value := original.setting(key)) is not None}
    target = factory.create(rest, {**settings, **(_WORDS_ONLY if factory.no_vectors else {})})
    with target.store.write(f"copy of {original.address}") as writer:
        writer.set(COPYING, _name(original))
    return target


def _name(store: ChunkStore) -> str:
    """The address by which a store is found from anywhere on this machine."""
    return store.address if store.place is None else str(store.place.resolve())


def _fill(original: ChunkStore, target: ChunkStore, progress: Progress) -> None:
    files, counts = original.files(), {extent.origin: extent.chunks for extent in original.origin_extents("")}
    done, total = 0, sum(counts.values())
    for batch in _batches([*files, *(origin for origin in counts if origin not in files)], counts):
        with target.write(f"copy of {original.address}") as writer:
            for origin in batch:
                rows = _read_rows(original, origin, int(target.settings["dim"]))
                if origin in files:
                    writer.put_file(files[origin], ((encode_row(chunk), vector) for chunk, vector in rows))
                else:
                    _put_chunks(
                        writer,
                        rows,
                        origin,
                        target.live_chunks_of(origin).keys() - original.live_chunks_of(origin).keys(),
                    )
        done += sum(counts.get(origin, 0) for origin in batch)
        progress("copying", done, total)
    gone = [extent.origin for extent in target.origin_extents("") if extent.origin not in counts]
    with target.write(f"copy of {original.address}") as writer:
        for origin in {*gone, *(target.files().keys() - files.keys())}:  # since an earlier call
            writer.remove_file(origin)
        for name, root in original.folders().items():
            writer.put_folder(name, root)
        writer.set(COPYING, None)


def _batches(origins: Sequence[str], counts: Mapping[str, int]) -> Iterator[list[str]]:
    """Group files into batches of about BATCH chunks."""
    batch: list[str] = []
    waiting = 0
    for origin in origins:
        batch.append(origin)
        waiting += 1 + counts.get(origin, 0)
        if waiting >= BATCH:
            yield batch
            batch, waiting = [], 0
    if batch:
        yield batch


def _read_rows(store: ChunkStore, origin: str, dim: int) -> Iterator[tuple[Chunk, Vector | None]]:
    """The live chunks of a file in their order, in batches; None for one without a vector."""
    seqs = sorted(seq for seq, _ in store.live_chunks_of(origin).values())
    for start in range(0, len(seqs), _READ_BATCH):
        part = seqs[start : start + _READ_BATCH]
        vectors = store.vectors(part, dim) if dim else None
        for position, row in enumerate(store.rows(part)):
            vector = None if vectors is None or not vectors[position].any() else vectors[position]
            yield row.chunk, vector


def _put_chunks(writer: ChunkWriter, rows: Iterator[tuple[Chunk, Vector | None]], origin: str, gone: set[str]) -> None:
    """Write chunks that belong to no file, and remove those that are gone since an earlier call."""
    for name in sorted(gone):
        writer.remove_chunk(name)
    for chunk, vector in rows:
        writer.put(chunk, vector, origin)
