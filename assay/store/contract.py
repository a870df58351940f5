"""What every record of truth offers, whatever keeps it: SQLite, Lance, PostgreSQL. Knows no index and no model.

Rows are append-only: born in one version, perhaps dead in a later one. `seq` grows with every row, over all versions,
and is never used again; one `write` is one version, all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay.errors import StoreError
from assay.store.rows import ChunkRow, FileFacts, Stored
from assay.types import Chunk, Vector, Vectors


class OriginExtent(NamedTuple):
    """The live chunks of one file or record."""

    origin: str
    documents: int
    chunks: int
    tokens: int


class ChunkHead(NamedTuple):
    """One live chunk by its first words."""

    id: str
    doc_id: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """A store in numbers; `languages` counts live chunks, most first, "" where none was told."""

    chunks: int
    documents: int
    tokens: int
    dead: int
    languages: Mapping[str, int]


class StoreState(NamedTuple):
    """A row of any version with the notes of the versions that bore it and ended it ("" while it lives)."""

    row: ChunkRow
    began: str
    ended: str


class ChunkWriter(Protocol):
    """What may be done inside one transaction. Counts are of this transaction alone."""

    version: int
    born: int
    died: int
    kept: int

    @property
    def changed(self) -> bool: ...
    def root_of(self, source: str) -> str | None:
        """The folder a source's name stands for; "" for records given as data, None for an unknown name."""
        ...

    def put_source(self, name: str, root: str) -> None: ...
    def remove_source(self, name: str) -> bool: ...
    def put_file(self, facts: FileFacts, rows: Iterable[tuple[Stored, Vector | None]]) -> None:
        """Make a file's live chunks exactly these. IdInUse when another file has a live chunk of the same id."""
        ...

    def remove_file(self, origin: str) -> None: ...
    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool: ...
    def remove_document(self, doc_id: str) -> None: ...
    def remove_chunk(self, chunk_id: str) -> None: ...
    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None: ...
    def tag(self, name: str, version: int) -> None: ...
    def set(self, key: str, value: Any) -> None: ...


COPYING = "copying"
"""The setting of a copy that is not whole yet: the address that it is a copy of."""
STAGED = "staged"
"""The setting that says which model is on its way in: embedder, model, dim, and what a record needs beside."""


def still_staged(staged: Mapping[str, Any] | None, model: str, address: str) -> Mapping[str, Any]:
    """What is on its way in, if it is this model: vectors of two models never mix, in no table."""
    if not staged or staged["model"] != model:
        whose = f" to {staged['embedder']}" if staged else ""
        raise StoreError(
            f"another process moves {address} to another model meanwhile{whose}",
            "let it end, then say again which model you want: assay reembed --embedder SPEC",
        )
    return staged


class ChunkStore(Protocol):
    """A store's truth. Safe for threads; processes, where there are several, wait for each other."""

    settings: dict[str, Any]
    """As they were when it was opened, and as we changed them: format, embedder, model, dim, language, profile."""

    @property
    def address(self) -> str:
        """What a person would type to open it."""
        ...

    @property
    def place(self) -> Path | None:
        """The file or folder of this machine it lives in; None for a server's."""
        ...

    @property
    def scratch(self) -> Path | None:
        """Where its temporary files belong; None for the system's place."""
        ...

    @property
    def readonly(self) -> bool: ...
    def close(self) -> None: ...

    # -- versions and settings
    def version(self) -> int: ...
    def oldest(self) -> int: ...
    def resolve(self, snapshot: str) -> int: ...
    def tags(self) -> dict[str, int]: ...
    def setting(self, key: str) -> Any: ...

    # -- rows
    def reading(self) -> AbstractContextManager[None]:
        """Several reads of one moment."""
        ...

    def live_at(self, version: int) -> Iterator[tuple[str, int]]:
        """(id, seq) of every chunk alive at a version, in id order."""
        ...

    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]: ...
    def vectors(self, seqs: Sequence[int], dim: int) -> Vectors: ...
    def lacking_vectors(self) -> list[int]: ...
    def live_in(self, origin: str) -> dict[str, tuple[int, bytes]]: ...

    # -- moving to another model: its vectors wait beside the present ones, which serve meanwhile
    def stage(self, embedder: str, model: str, dim: int) -> int:
        """Begin a move to a model, or go on with it; how many rows still lack a vector of it."""
        ...

    def lacking_staged(self, after: int, most: int) -> list[int]:
        """Rows behind `after`, dead or alive, that have no vector of the next model yet, ascending."""
        ...

    def put_staged(self, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
        """Keep vectors of this model; StoreError when it is not, or no longer, the one on its way in."""
        ...

    def adopt(self, model: str, note: str) -> bool:
        """Make the next model the store's own, all at once; False when rows without its vector have come meanwhile."""
        ...

    # -- where they came from
    def files(self, source: str | None = None) -> dict[str, FileFacts]: ...
    def sources(self) -> dict[str, str]: ...

    # -- counting
    def tally(self) -> StoreCounts: ...
    def extents(self, prefix: str) -> Iterator[OriginExtent]: ...
    def heads(self, origin: str) -> Iterator[ChunkHead]: ...
    def reach(self, target: str) -> tuple[int, int]:
        """Live documents and chunks of a source, file or document of this name."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """Bytes by what they hold."""
        ...

    # -- documents through time
    def has_document(self, doc_id: str) -> bool: ...
    def states(self, beginning: str) -> list[StoreState]:
        """Every row, dead or alive, of the documents whose id begins so, by (born, seq)."""
        ...

    def buried(self, beginning: str) -> Iterator[tuple[str, Any]]:
        """(document, its scope) of documents whose id begins so that live no more but have rows left."""
        ...

    # -- keeping
    def damage(self, deep: bool) -> str:
        """What is wrong with it, "" when nothing; `deep` reads everything."""
        ...

    def turn(self, name: str) -> AbstractContextManager[None]:
        """Wait until nobody else, in any process, holds this turn, and hold it."""
        ...

    def write(self, note: str) -> AbstractContextManager[ChunkWriter]:
        """One transaction, one new version. Leaving the block commits; an exception undoes all of it."""
        ...
