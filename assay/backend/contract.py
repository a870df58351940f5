"""The contract of a backend that a knowledge base can open: its store, its snapshots, its upkeep.

`protocols.Backend` is enough for the engine and the lab's contract; a backend that `assay.open` can open is a
`StoreBackend`, and its module has a `BackendFactory` (see `addresses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from assay.embed.chat import ChatModel
from assay.errors import Reason
from assay.index.tree.layout import TreeSettings
from assay.protocols import Snapshot, StoreView
from assay.store.contract import ChunkStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Progress, Vector
from assay.where import Filter

NO_GRAPH = Reason(
    "only stores in a folder or in PostgreSQL keep a graph of things and links", "copy it to one: assay copy ./kb"
)
"""Why a snapshot lacks the capability "graph"."""
NO_TREE = Reason("only stores in a folder keep a tree of chunks", "copy it to one: assay copy ./kb")
"""Why a snapshot lacks the capability "tree"."""


class StoreSnapshot(Snapshot, StoreView, Protocol):
    """The snapshot of a version of a store."""

    @property
    def analyser(self) -> Analyser: ...
    def kinds(self) -> Mapping[str, set[str]]:
        """Every field a filter may name, with the kinds of its values: text, number, flag."""
        ...

    def within(self, where: Filter) -> StoreSnapshot:
        """This snapshot as if it held only the rows that a filter keeps. Statistics (how rare a term is, how long a
        chunk is, how many rows there are) are of these rows: no other row changes a score or a count."""
        ...

    @property
    def foreign_share(self) -> float:
        """The share of live chunks known to be in another language than English."""
        ...


@dataclass
class ErasureReport:
    """The places a text was removed from, and those where it may linger, as sentences."""

    erased: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """What a language model wrote: nodes with a new summary, with one from the cache, and without; the last error."""

    written: int
    cached: int
    failed: int
    trouble: str = ""


CheckState = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of `assay doctor`. `fail` means wrong or missing answers, `warn` slower or poorer ones."""

    name: str
    state: CheckState
    text: str
    cure: str = ""


class StoreBackend(Protocol):
    """A store with its indexes."""

    @property
    def store(self) -> ChunkStore: ...
    @property
    def no_vectors(self) -> Reason | None:
        """Why this store can never hold vectors; None when it can."""
        ...

    @property
    def pending(self) -> int:
        """Changes that the next `compact` would index; 0 where the index is never behind."""
        ...

    @property
    def due(self) -> bool:
        """Whether enough has changed for `compact` to pay."""
        ...

    @property
    def wants_index(self) -> bool:
        """Whether the first search would build a large index: better built before, with progress shown."""
        ...

    def index(self) -> Mapping[str, Any] | None:
        """A description of the index: at least `name`, `chunks`, `version`, and `waiting`, what is not in it, where
        the number `pending` does not say it. None when there is no index."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """Bytes by what they hold, of the store and of the indexes."""
        ...

    def put(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str = "") -> int: ...
    def remove(self, ids: Iterable[str]) -> int: ...
    def snapshot(self, version: int | None = None) -> StoreSnapshot: ...
    def compact(self, progress: Progress = ..., force: bool = False) -> bool: ...
    def forget(self, version: int, progress: Progress = ...) -> int:
        """Erase what was already dead at a version; older snapshots are gone for good. How many rows."""
        ...

    def erase(self, doc_ids: Sequence[str], note: str) -> ErasureReport:
        """Remove every row of documents, dead in the newest version, from all versions and indexes."""
        ...

    def health(self) -> list[Check]:
        """The checks of this backend for `assay doctor`, in addition to those of every store."""
        ...

    def sweep(self) -> int:
        """Remove what killed processes left behind; how many files and folders."""
        ...

    def close(self) -> None: ...


class BackendFactory(Protocol):
    """Makes and opens stores of one backend; one object per backend, named in `addresses.BACKENDS`."""

    @property
    def no_vectors(self) -> Reason | None:
        """`StoreBackend.no_vectors` of the stores of this kind."""
        ...

    def exists(self, address: str) -> bool: ...
    def create(self, address: str, settings: Mapping[str, Any]) -> StoreBackend: ...
    def open(self, address: str) -> StoreBackend: ...


@runtime_checkable
class RestoringFactory(BackendFactory, Protocol):
    """A factory whose stores can be made from a file that `assay backup` wrote."""

    def restore(self, source: Path, address: str, progress: Progress) -> StoreBackend:
        """A new store from a backup file; StoreError for a backup of another kind of store."""
        ...


@runtime_checkable
class AcceptingFactory(BackendFactory, Protocol):
    """A factory whose stores have a commit journal."""

    def accept(self, address: str) -> int:
        """Take the present state of a store as right, though commits are gone or it was changed; its version."""
        ...


@runtime_checkable
class DeepBackend(Protocol):
    """A backend with checks that read every file of its index."""

    def deep_health(self) -> list[Check]: ...


@runtime_checkable
class GraphBackend(Protocol):
    """A backend that can build the graph that a graph leg searches."""

    @property
    def graph_due(self) -> bool:
        """Whether the first graph search would build a large graph: better built before, with progress shown."""
        ...

    def build_graph(self, progress: Progress = ...) -> int:
        """Build it now; how many chunks it covers."""
        ...


@runtime_checkable
class TreeBackend(Protocol):
    """A backend that can build the tree that `beam` and `collapsed` descend."""

    @property
    def tree_due(self) -> bool:
        """Whether the first use would build a large tree: better built before, with progress shown."""
        ...

    @property
    def tree_settings(self) -> TreeSettings: ...
    def build_tree(self, settings: TreeSettings | None = None, progress: Progress = ...) -> int:
        """Build it now, with new settings or those of the store; how many chunks it covers."""
        ...

    def write_summaries(self, chat: ChatModel, progress: Progress = ...) -> SummaryReport:
        """Let a language model summarise the nodes of the tree."""
        ...
