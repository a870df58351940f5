"""A store at another address, of whatever backend: every live chunk as it is, with its id, file, source and vector.

Nothing is read, cut or embedded anew, so the copy answers as the original does. Older versions, tags and the dead stay
behind. Files are committed a few thousand chunks at a time; a copy that was stopped goes on where it stopped, and says
that it is not whole until it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.backend.addresses import hidden, place_of
from assay.backend.contract import StoreBackend
from assay.errors import StoreError
from assay.store.contract import COPYING, ChunkStore, ChunkWriter
from assay.store.rows import stored
from assay.types import Chunk, Progress, Vector

BATCH = 8_192
"""Chunks committed together."""
_READ = 1_000  # rows read together
_SETTINGS = ("embedder", "model", "dim", "language", "profile", "triples")
_WORDS_ONLY = {"embedder": "none", "model": "", "dim": 0}


def copy(source: ChunkStore, address: str | Path, progress: Progress = lambda *_: None) -> StoreBackend:
    """The store at an address, new or begun by an earlier call, with all that is alive in `source`; not indexed yet."""
    target = _target(source, address)
    try:
        with source.reading():
            _fill(source, target.store, progress)
        return target
    except BaseException:
        target.close()
        raise


def _target(source: ChunkStore, address: str | Path) -> StoreBackend:
    place, rest = place_of(address)
    if place.exists(rest):
        target = place.open(rest)
        begun = target.store.setting(COPYING)
        if begun == _name(source):
            return target
        target.close()
        whose = f", and it is a copy of {begun} that is not whole yet" if begun else ""
        raise StoreError(f"there already is a store at {hidden(str(address))}{whose}", "copy to a new place")
    settings = {key: value for key in _SETTINGS if (value := source.setting(key)) is not None}
    target = place.create(rest, {**settings, **(_WORDS_ONLY if place.no_vectors else {})})
    with target.store.write(f"copy of {source.address}") as writer:
        writer.set(COPYING, _name(source))
    return target


def _name(source: ChunkStore) -> str:
    """The address by which a store is found from anywhere on this machine."""
    return source.address if source.place is None else str(source.place.resolve())


def _fill(source: ChunkStore, target: ChunkStore, progress: Progress) -> None:
    files, held = source.files(), {extent.origin: extent.chunks for extent in source.extents("")}
    done, total = 0, sum(held.values())
    for batch in _batches([*files, *(origin for origin in held if origin not in files)], held):
        with target.write(f"copy of {source.address}") as writer:
            for origin in batch:
                rows = _rows(source, origin, int(target.settings["dim"]))
                if origin in files:
                    writer.put_file(files[origin], ((stored(chunk), vector) for chunk, vector in rows))
                else:
                    _put(writer, rows, origin, target.live_in(origin).keys() - source.live_in(origin).keys())
        done += sum(held.get(origin, 0) for origin in batch)
        progress("copying", done, total)
    gone = [extent.origin for extent in target.extents("") if extent.origin not in held]
    with target.write(f"copy of {source.address}") as writer:
        for origin in {*gone, *(target.files().keys() - files.keys())}:  # since an earlier call
            writer.remove_file(origin)
        for name, root in source.sources().items():
            writer.put_source(name, root)
        writer.set(COPYING, None)


def _batches(origins: Sequence[str], held: Mapping[str, int]) -> Iterator[list[str]]:
    """Files together as long as they are few and small."""
    batch: list[str] = []
    waiting = 0
    for origin in origins:
        batch.append(origin)
        waiting += 1 + held.get(origin, 0)
        if waiting >= BATCH:
            yield batch
            batch, waiting = [], 0
    if batch:
        yield batch


def _rows(source: ChunkStore, origin: str, dim: int) -> Iterator[tuple[Chunk, Vector | None]]:
    """The live chunks of a file in their order, a few at a time; None for one without a vector."""
    seqs = sorted(seq for seq, _ in source.live_in(origin).values())
    for start in range(0, len(seqs), _READ):
        part = seqs[start : start + _READ]
        vectors = source.vectors(part, dim) if dim else None
        for place, row in enumerate(source.rows(part)):
            vector = None if vectors is None or not vectors[place].any() else vectors[place]
            yield row.chunk, vector


def _put(writer: ChunkWriter, rows: Iterator[tuple[Chunk, Vector | None]], origin: str, gone: set[str]) -> None:
    """Chunks that belong to no file; those that are gone since an earlier call leave."""
    for name in sorted(gone):
        writer.remove_chunk(name)
    for chunk, vector in rows:
        writer.put(chunk, vector, origin)
