"""The contract of a chunk store: SQLite, Lance and PostgreSQL implement it. It knows no index and no model.

Rows are append-only: inserted in one version, perhaps deleted in a later one. `seq` grows with every row, over all
versions, and is never reused; one `write` is one version, all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from assay.errors import StoreError
from assay.store.rows import ChunkRow, FileState, StoredRow
from assay.types import Chunk, Progress, Vector, Vectors


class OriginExtent(NamedTuple):
    """The live chunks of one file or record."""

    origin: str
    documents: int
    chunks: int
    tokens: int


class ChunkHead(NamedTuple):
    """One live chunk with the first words of its text."""

    id: str
    doc_id: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """A store in numbers; `languages` counts live chunks, most first, "" where none is known."""

    chunks: int
    documents: int
    tokens: int
    dead: int
    languages: Mapping[str, int]


class StoreState(NamedTuple):
    """A row with the notes of the versions that inserted and deleted it ("" while it is live)."""

    row: ChunkRow
    insert_note: str
    delete_note: str


class ChunkWriter(Protocol):
    """The operations of one transaction. Counts are of this transaction alone."""

    version: int
    inserted: int
    deleted: int
    unchanged: int

    @property
    def changed(self) -> bool: ...
    def folder_root(self, name: str) -> str | None:
        """The folder a source's name stands for; "" for records given as data, None for an unknown name."""
        ...

    def put_folder(self, name: str, root: str) -> None: ...
    def remove_folder(self, name: str) -> bool: ...
    def put_file(
        self, facts: FileState, rows: Iterable[tuple[StoredRow, Vector | None]], partial: bool = False
    ) -> None:
        """Make a file's live chunks exactly these; `partial` leaves its other live chunks as they are. IdInUse when
        another file has a live chunk of the same id."""
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
"""The setting of a move to another model: embedder, model, dim, and what a backend adds."""


def require_staged(staged: Mapping[str, Any] | None, model: str, address: str) -> Mapping[str, Any]:
    """The staged model, if it is this one; StoreError otherwise, because vectors of two models never mix."""
    if not staged or staged["model"] != model:
        target = f" to {staged['embedder']}" if staged else ""
        raise StoreError(
            f"another process moves {address} to another model meanwhile{target}",
            "let it end, then say again which model you want: assay reembed --embedder SPEC",
        )
    return staged


class ChunkStore(Protocol):
    """Holds chunks, vectors and versions. Safe for threads; processes wait for each other."""

    settings: dict[str, Any]
    """As they were when it was opened, with our own changes: format, embedder, model, dim, language, profile."""

    @property
    def address(self) -> str:
        """What a user types to open it."""
        ...

    @property
    def place(self) -> Path | None:
        """Its file or folder on this machine; None for a server's."""
        ...

    @property
    def scratch(self) -> Path | None:
        """The folder for its temporary files; None for the system's."""
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
        """Several reads of one version."""
        ...

    def live_at(self, version: int) -> Iterator[tuple[str, int]]:
        """(id, seq) of every chunk alive at a version, in id order."""
        ...

    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]: ...
    def vectors(self, seqs: Sequence[int], dim: int) -> Vectors: ...
    def rows_without_vector(self) -> list[int]: ...
    def live_chunks_of(self, origin: str) -> dict[str, tuple[int, bytes]]: ...

    # -- moving to another model: its vectors are staged beside the present ones, which serve meanwhile
    def stage(self, embedder: str, model: str, dim: int) -> int:
        """Start or resume a move to a model; how many rows still lack a vector of it."""
        ...

    def rows_without_staged_vector(self, after: int, most: int) -> list[int]:
        """Rows after `after`, live or dead, without a vector of the staged model, ascending; at most `most`."""
        ...

    def put_staged(self, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
        """Stage vectors of this model; StoreError when another model, or none, is staged."""
        ...

    def adopt(self, model: str, note: str) -> bool:
        """Make the staged model the store's own, at once; False when rows without its vector were added meanwhile."""
        ...

    # -- files and sources
    def files(self, folder: str | None = None) -> dict[str, FileState]: ...
    def folders(self) -> dict[str, str]: ...

    # -- counting
    def count_chunks(self) -> StoreCounts: ...
    def origin_extents(self, prefix: str) -> Iterator[OriginExtent]: ...
    def heads(self, origin: str) -> Iterator[ChunkHead]: ...
    def count_target(self, target: str) -> tuple[int, int]:
        """Live documents and chunks of a source, file or document of this name."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """Bytes by what they hold."""
        ...

    def check_outside(self, target: Path) -> None:
        """Refuse a path that is one of the store's own files, by whatever name."""
        ...

    # -- documents through time
    def has_document(self, doc_id: str) -> bool: ...
    def states(self, prefix: str) -> list[StoreState]:
        """Every row, live or dead, of the documents whose id has this prefix, by (inserted_in, seq)."""
        ...

    def deleted_documents(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """(document, its scope) of deleted documents whose id has this prefix and that have rows left."""
        ...

    # -- upkeep
    def find_damage(self, deep: bool) -> str:
        """A description of the damage, "" when there is none; `deep` reads everything."""
        ...

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock between all threads and processes; waits for it."""
        ...

    def write(self, note: str) -> AbstractContextManager[ChunkWriter]:
        """One transaction, one new version. Leaving the block commits; an exception undoes all of it."""
        ...


@runtime_checkable
class BackupStore(ChunkStore, Protocol):
    """A store that can copy itself to one file while others read and write it."""

    def write_backup(self, target: Path, progress: Progress) -> None:
        """Write the file; it appears whole and checked, or not at all."""
        ...
