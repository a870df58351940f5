"""What a knowledge base asks of a backend beyond searching: its record of truth, its versions, its upkeep.

`protocols.Backend` is enough for the engine and the lab's contract; a backend that `assay.open` can open is a
`StoreBackend`, and its module has a `BackendFactory` (see `addresses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast, runtime_checkable

from assay.protocols import Snapshot
from assay.store.contract import ChunkStore
from assay.text.analyse import Analyser
from assay.types import Chunk, Progress, Rows, Vector
from assay.where import Filter

NO_GRAPH = (
    "only stores in a folder or in PostgreSQL keep a graph of things and links; cure: copy it to one: assay copy ./kb"
)
"""What a snapshot says for lack of the capability "graph"."""


class StoreSnapshot(Snapshot, Protocol):
    """A view of a store's version."""

    @property
    def version(self) -> int: ...
    @property
    def analyser(self) -> Analyser: ...
    def kinds(self) -> Mapping[str, set[str]]:
        """Every field a filter may name, with the kinds of its values: text, number, flag."""
        ...

    def live_rows(self, where: Filter | None) -> Rows:
        """Every live row, or those a filter keeps, in id order."""
        ...

    def ids_from(self, beginning: str, most: int = 20) -> list[str]:
        """Ids of live chunks that begin so, in order, at most `most`."""
        ...

    @property
    def foreign_share(self) -> float:
        """The share of live chunks known to be in another language than English."""
        ...


def store_snapshot(view: Snapshot) -> StoreSnapshot | None:
    """A snapshot as a store's view, if it is one."""
    return cast(StoreSnapshot, view) if hasattr(type(view), "live_rows") else None


@dataclass
class Erased:
    """Where a text was removed from, and where it may linger, in words."""

    erased: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)


State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing `assay doctor` looked at. `fail` means wrong or missing answers, `warn` slower or poorer ones."""

    name: str
    state: State
    text: str
    cure: str = ""


class StoreBackend(Protocol):
    """A store with its indexes, as a knowledge base keeps it."""

    @property
    def store(self) -> ChunkStore: ...
    @property
    def no_vectors(self) -> str:
        """Why this store can never hold vectors, with the cure behind "; cure: "; "" when it can."""
        ...

    @property
    def pending(self) -> int:
        """Changes that the next `compact` would take in; 0 where the index is never behind."""
        ...

    @property
    def due(self) -> bool:
        """Has enough changed for `compact` to pay?"""
        ...

    @property
    def wants_index(self) -> bool:
        """Would the first search build a large index? Then do it where somebody can watch."""
        ...

    def index(self) -> Mapping[str, Any] | None:
        """What the index says of itself: at least `name`, `chunks`, `version`, and `waiting`, what is not in it, where
        the number `pending` does not say it. None when there is none."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """Bytes by what they hold, the record's and the indexes'."""
        ...

    def put(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str = "") -> int: ...
    def remove(self, ids: Iterable[str]) -> int: ...
    def snapshot(self, version: int | None = None) -> StoreSnapshot: ...
    def compact(self, progress: Progress = ..., force: bool = False) -> bool: ...
    def forget(self, version: int, progress: Progress = ...) -> int:
        """Erase what was already dead at a version; older snapshots are gone for good. How many rows."""
        ...

    def erase(self, doc_ids: Sequence[str], note: str) -> Erased:
        """Remove every row of documents, dead in the newest version, from all versions and indexes."""
        ...

    def health(self) -> list[Check]:
        """The checks of this kind of store for `assay doctor`, beside those that every store gets."""
        ...

    def sweep(self) -> int:
        """Remove what killed processes left behind; how many files and folders."""
        ...

    def close(self) -> None: ...


class BackendFactory(Protocol):
    """Where stores of one kind are found; one object per backend, named in `addresses.BACKENDS`."""

    @property
    def no_vectors(self) -> str:
        """`KeptBackend.no_vectors` of the stores of this kind."""
        ...

    def exists(self, address: str) -> bool: ...
    def create(self, address: str, settings: Mapping[str, Any]) -> StoreBackend: ...
    def open(self, address: str) -> StoreBackend: ...


@runtime_checkable
class GraphBackend(Protocol):
    """A backend that can build the graph which pipelines with a graph leg walk."""

    @property
    def graph_due(self) -> bool:
        """Would the first walk build a large graph? Then do it where somebody can watch."""
        ...

    def build_graph(self, progress: Progress = ...) -> int:
        """Build it now; how many chunks it covers."""
        ...
