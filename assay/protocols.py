"""The protocols: what components, snapshots, backends and embedders implement.

A component is a frozen dataclass whose fields are its config. `gives` says which scores it can produce for
the scores it is given, and raises ConfigError when it cannot work with them; it runs when a pipeline is
built, never per query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.errors import Reason
from assay.types import (
    Chunk,
    Excerpt,
    Floats,
    Ids,
    Ints,
    NodePayload,
    Note,
    Part,
    Query,
    Range,
    Ranking,
    Rows,
    Vector,
    Vectors,
)
from assay.where import Filter


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The result of one look-up in a snapshot: rows by (score desc, id asc), with the parts of their scores.

    `ideal` is the best score any chunk could have for this look-up (BM25: every term at its best).
    """

    rows: Rows
    parts: tuple[Part, ...]
    ideal: float = float("nan")
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class TermWeighting:
    """How the words of a query count in a lexical look-up (legs/bm25.py).

    A term that occurs n times in the query has its idf multiplied by n·(k3+1) / (n + k3): BM25's k3.
    `split_identifiers` also looks for the bare digits of identifiers (the 2024 of CVE-2024-1234).
    """

    k3: float = 2.0
    split_identifiers: bool = False


DEFAULT_WEIGHTING = TermWeighting()


@runtime_checkable
class Snapshot(Protocol):
    """An immutable view of a backend. Rows are positions in this view; they mean nothing elsewhere.

    Every look-up obeys `query.where`, `query.scope` and `query.at` while it searches, so a list is never
    short while matching chunks exist. What a backend cannot do is absent from `capabilities`
    ("lexical", "dense", "exact", "graph", "tree"), and asking for it raises StoreError.
    """

    @property
    def digest(self) -> str: ...
    @property
    def capabilities(self) -> frozenset[str]: ...
    @property
    def size(self) -> int: ...
    def lacks(self, capability: str) -> Reason | None:
        """Why a capability is absent, with its cure; None when it is there."""
        ...

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches: ...
    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        """What `lexical` gives these rows, in their order, however deep they stand."""
        ...

    def nearest(self, query: Query, k: int) -> Matches: ...
    def exact(self, query: Query, k: int) -> Matches: ...
    def rows(self, ids: Ids) -> Rows:
        """Rows of live ids; -1 where an id is not in this view."""
        ...

    def ids(self, rows: Rows) -> Ids: ...
    def chunks(self, rows: Rows) -> list[Chunk]: ...
    def vectors(self, rows: Rows) -> Vectors:
        """Unit vectors; a zero row where a chunk has none."""
        ...

    def numbers(self, name: str, rows: Rows) -> Floats:
        """A numeric fact per row: created, importance, tokens, chars, or a numeric metadata field; NaN where absent."""
        ...

    def matches(self, expression: str, rows: Rows) -> NDArray[np.bool_]:
        """Which rows satisfy a filter expression."""
        ...

    def term_weights(self, text: str) -> Mapping[str, float]:
        """The analysed terms of a text with their idf in this view."""
        ...

    def terms(self, text: str) -> list[str]:
        """The analysed terms of a text, in order, repeated as they occur."""
        ...


@runtime_checkable
class StoreView(Protocol):
    """What the snapshot of a store can tell about itself beside searching."""

    @property
    def version(self) -> int: ...
    def live_rows(self, where: Filter | None) -> Rows:
        """Every live row, or those a filter keeps, in id order."""
        ...

    def ids_with_prefix(self, prefix: str, most: int = 20) -> list[str]:
        """Ids of live chunks with this prefix, in order, at most `most`."""
        ...

    def excerpt(self, text: str, query: str, width: int) -> Excerpt:
        """The window of a text, at most `width` characters, that shows the most terms of a query."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class WalkSettings:
    """The settings of a graph walk: its seed rows beside the query's own entities, and how far it goes
    (legs/graph.py)."""

    seeds: Rows
    damping: float
    entity_share: float
    keep: Literal["all", "reached", "new"]
    least: float


@runtime_checkable
class GraphSnapshot(Protocol):
    """The look-ups of a snapshot with the capability "graph"."""

    def related(self, query: Query, k: int, walk: WalkSettings) -> Matches:
        """Rows that a walk over the entities and links of chunks reaches, with the parts of their scores."""
        ...

    def spelling(self, text: str, key: str) -> str:
        """A key of the graph as a text writes it, for people to read; the key itself where the text does not."""
        ...


@runtime_checkable
class EntityPostings(Protocol):
    """The cross-links of a snapshot: the entities of its graph (names, identifiers, word pairs, links) with the live
    rows that hold them. Entities are numbers of this snapshot; those too rare or too frequent to link are left out."""

    def entities_of(self, rows: Rows) -> tuple[Rows, Rows]:
        """(place in `rows`, entity) of every entity that these rows hold."""
        ...

    def rows_of(self, entities: Rows, query: Query | None = None) -> tuple[Rows, Rows]:
        """(place in `entities`, row) of every live row, that a query may see, with one of these entities."""
        ...

    def rows_of_terms(self, terms: Sequence[str], query: Query | None = None) -> tuple[Rows, Rows]:
        """(place in `terms`, row) of every live row, that a query may see, whose text has one of these index terms."""
        ...

    def score_terms(self, query: Query, terms: Sequence[Collection[str]], groups: Sequence[Rows]) -> list[Floats]:
        """For each group of rows the BM25 scores of its own terms, those that the query has, as `lexical_at` scores
        them and in its order: a term is looked up only in the rows where it is asked for."""
        ...

    def frequency(self, entities: Rows) -> Rows:
        """How many live rows hold each entity."""
        ...

    def are_names(self, entities: Rows) -> NDArray[np.bool_]:
        """Which are names or identifiers, not links and not pairs of plain words."""
        ...

    def query_entities(self, text: str) -> Rows:
        """The entities that a query names."""
        ...

    def name(self, entity: int) -> str: ...


@runtime_checkable
class EntitySnapshot(Protocol):
    """A snapshot that can follow cross-links (capability "graph")."""

    def entities(self) -> EntityPostings: ...


@dataclass(frozen=True, slots=True, eq=False)
class RowScores:
    """Both scores of every live row that a query may see, rows ascending. A cosine is exact to about 1e-4, the same
    on every machine, and 0 without a vector. `ideal` is the best BM25 score that a row could have."""

    rows: Rows
    bm25: Floats
    cosine: Floats
    ideal: float


class TreeView(Protocol):
    """The tree of a snapshot (docs/tree.md). Nodes are numbers, level by level: 0 is the root, the children of a node
    are consecutive, all leaves are last. An empty store has no nodes."""

    @property
    def digest(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def parent(self) -> Ints: ...
    @property
    def level(self) -> Ints: ...
    @property
    def first_child(self) -> Ints: ...
    @property
    def child_count(self) -> Ints: ...
    @property
    def leaf_of_row(self) -> Ints:
        """The leaf of every row of the snapshot, new ones included; -1 for a dead row."""
        ...

    @property
    def second_leaf_of_row(self) -> Ints: ...
    @property
    def centroids(self) -> Vectors: ...
    def children(self, node: int) -> range: ...
    def rows(self, node: int) -> Rows:
        """The live rows below a node, ascending."""
        ...

    def visible(self, query: Query) -> NDArray[np.bool_]:
        """Which rows are live and allowed by the query's filter, scope and clock. Nodes speak of all live rows, so a
        leg that reads rows through nodes filters them with this."""
        ...

    def prototypes(self, nodes: Rows) -> tuple[Rows, Rows, Vectors]:
        """(place in `nodes`, row, unit vector) of live rows that stand for these nodes."""
        ...

    def impacts(self, nodes: Rows, query: Query, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Floats:
        """For each node (line) and each term of the query (column, in the order of `lexical`'s parts) an upper bound
        of the term's contribution to any live row below: no row scores more than its line's sum."""
        ...

    def summary_vectors(self, nodes: Rows) -> Vectors:
        """For each node the direction of the rows whose sentences summarise it; zero without vectors."""
        ...

    def summary_rows(self, nodes: Rows) -> tuple[Rows, Rows]:
        """(place in `nodes`, row) of live rows whose sentences summarise these nodes."""
        ...

    def payload(self, node: int) -> NodePayload: ...
    def row_scores(self, query: Query, weighting: TermWeighting = DEFAULT_WEIGHTING) -> RowScores: ...


@runtime_checkable
class TreeSnapshot(Protocol):
    """A snapshot with the capability "tree"."""

    def tree(self) -> TreeView: ...


@runtime_checkable
class PredictsNext(Protocol):
    """A snapshot with a next-vector model (the vector cascade)."""

    def expected(self, query: Query) -> Vector | None:
        """The unit vector where the next one should lie, from the query's and those before it; None without a model."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A store with its indexes. A write that returned is durable, and the next snapshot sees it."""

    def put(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str = "") -> int:
        """Add or replace chunks by id, all or none; returns the new version."""
        ...

    def remove(self, ids: Iterable[str]) -> int: ...
    def snapshot(self, version: int | None = None) -> Snapshot: ...
    def compact(self) -> bool: ...
    def close(self) -> None: ...


class Component(Protocol):
    """`needs` lists what the pipeline must prepare: "vector" (the query's), "lexical", "dense", "exact",
    "graph", "tree"."""

    needs: ClassVar[frozenset[str]]


@runtime_checkable
class Leg(Component, Protocol):
    """Finds candidates; the only component that adds ids.

    A leg whose class has a number `parallel_weight` above 0 may run in a worker thread while others run; the one with
    the largest weight runs in the caller's thread.
    """

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking: ...
    def gives(self) -> Range: ...


@runtime_checkable
class RowScorer(Protocol):
    """A leg that can score given rows: the parts that `find` gives them, in their order."""

    def rate(self, query: Query, snapshot: Snapshot, rows: Rows) -> Sequence[Part]: ...


@runtime_checkable
class Fuser(Component, Protocol):
    """Merges named rankings into one. The mapping holds every planned leg; a skipped one is empty.

    `symmetric` fusers give the same ids, scores and parts whatever the order of the legs.
    """

    symmetric: ClassVar[bool]

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking: ...
    def gives(self, legs: Mapping[str, Range]) -> Range: ...


@runtime_checkable
class GroupingFuser(Protocol):
    """A fuser that makes one candidate of several chunks. Triggers count its candidates, not chunks."""

    def group_candidates(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Mapping[str, Ranking]: ...


@runtime_checkable
class Stage(Component, Protocol):
    """Rescores; same ids out as in, tier untouched."""

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking: ...
    def gives(self, given: Range) -> Range: ...


@runtime_checkable
class Selector(Component, Protocol):
    """Keeps, drops or re-tiers; never adds. A dropped id carries its reason as a Note."""

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking: ...
    def gives(self, given: Range) -> Range: ...


@dataclass(frozen=True, slots=True)
class TriggerDecision:
    """A trigger's decision: which one decided, the value it saw, and the sentence that the trace shows."""

    yes: bool
    why: str
    name: str = ""
    observed: float | None = None

    def to_json(self) -> dict[str, str | float | None]:
        """Which one, the value it saw, why. Whether it fired is the leg's outcome."""
        return {"name": self.name, "observed": self.observed, "why": self.why}


@runtime_checkable
class Trigger(Protocol):
    """Decides whether a leg runs, from what the legs before it found and the config's k (never the caller's).

    `check` runs when a pipeline is built: it sees the scores those legs can give, and refuses what cannot work.
    """

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision: ...
    def check(self, legs: Mapping[str, Range]) -> None: ...


@runtime_checkable
class RunningSearch(Protocol):
    """A search that can be cancelled: `result` blocks, `cancel` (from another thread) makes it end soon."""

    def result(self) -> Ranking: ...
    def cancel(self) -> None: ...


@runtime_checkable
class Cancellable(Protocol):
    """A leg whose search can be cancelled. `begin` starts nothing yet; `result` does the work."""

    def begin(self, query: Query, snapshot: Snapshot, k: int) -> RunningSearch: ...


@runtime_checkable
class Preparable(Protocol):
    """A leg or step with work to do once per process, before its first query."""

    def prepare(self) -> None: ...


@runtime_checkable
class Embedder(Protocol):
    """Text to unit vectors. `digest` identifies weights and settings; vectors of two digests never mix."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    def encode(self, texts: Sequence[str]) -> Vectors: ...
    def encode_query(self, text: str) -> Vector: ...


@runtime_checkable
class TripleReader(Protocol):
    """Extracts triples from a chunk, for the graph (`ingest.triples`); deterministic if it can be."""

    def triples(self, chunk: Chunk) -> Iterable[tuple[str, str, str]]:
        """(subject, relation, object), each a text with something in it; none at all is an answer too."""
        ...


@cache
def implements(kind: type, verb: type) -> bool:
    """Does a class have the methods of a protocol? Cached per class: `isinstance` of a protocol costs more than many
    steps."""
    return issubclass(kind, verb)
