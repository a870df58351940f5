"""The verbs: one method each, plus what preflight needs to know before anything runs.

A component is a frozen dataclass whose fields are its config. `gives` says which scores it can produce for
the scores it is given, and raises ConfigError when it cannot work with them; it runs when a pipeline is
built, never per query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.types import Chunk, Floats, Ids, Note, Part, Query, Range, Ranking, Rows, Vector, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a snapshot returns for one look-up: rows by (score desc, id asc), with the parts of their scores.

    `ideal` is the best score any chunk could have for this look-up (BM25: every term at its best).
    """

    rows: Rows
    parts: tuple[Part, ...]
    ideal: float = float("nan")
    notes: tuple[Note, ...] = ()


@runtime_checkable
class Snapshot(Protocol):
    """An immutable view of a backend. Rows are positions in this view; they mean nothing elsewhere.

    Every look-up obeys `query.where`, `query.scope` and `query.at` while it searches, so a list is never
    short while matching chunks exist. What a backend cannot do is absent from `capabilities`
    ("lexical", "dense", "exact", "graph"), and asking for it raises StoreError.
    """

    @property
    def digest(self) -> str: ...
    @property
    def capabilities(self) -> frozenset[str]: ...
    @property
    def size(self) -> int: ...
    def lacks(self, capability: str) -> str:
        """Why a capability is absent, with its cure; empty when it is there."""
        ...

    def lexical(self, query: Query, k: int) -> Found: ...
    def lexical_at(self, query: Query, rows: Rows) -> Found:
        """What `lexical` gives these rows, in their order, however deep they stand."""
        ...

    def nearest(self, query: Query, k: int) -> Found: ...
    def exact(self, query: Query, k: int) -> Found: ...
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


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """How a graph is walked: from which rows beside the query's own things, and how far (see legs/graph.py)."""

    seeds: Rows
    damping: float
    entity_share: float
    keep: Literal["all", "reached", "new"]
    least: float


@runtime_checkable
class Related(Protocol):
    """What a snapshot with the capability "graph" can do beside the others."""

    def related(self, query: Query, k: int, walk: Walk) -> Found:
        """Rows that a walk over the things and links of chunks reaches, with the parts of their scores."""
        ...

    def spelling(self, text: str, key: str) -> str:
        """A key of the graph as a text writes it, for people to read; the key itself where the text does not."""
        ...


@runtime_checkable
class PredictsNext(Protocol):
    """A snapshot that may know which vector comes next (specification 001)."""

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
    "graph"."""

    needs: ClassVar[frozenset[str]]


@runtime_checkable
class Leg(Component, Protocol):
    """Finds candidates; the only verb that adds ids.

    A leg whose class has `ahead`, a number, may be asked from another thread than the caller's, beside another leg; the
    one with the largest stays with the caller.
    """

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking: ...
    def gives(self) -> Range: ...


@runtime_checkable
class Rater(Protocol):
    """A leg that can also score what others found: the parts `find` would have given these rows, in their order."""

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
class Grouping(Protocol):
    """A fuser that makes one candidate of several chunks. Triggers see its candidates: what it counts, they count."""

    def grouped(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Mapping[str, Ranking]: ...


@runtime_checkable
class Stage(Component, Protocol):
    """Rescores; same ids out as in, tier untouched."""

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking: ...
    def gives(self, given: Range) -> Range: ...


@runtime_checkable
class Selector(Component, Protocol):
    """Keeps, drops or re-tiers; never adds. A drop carries its reason as a Note."""

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking: ...
    def gives(self, given: Range) -> Range: ...


@dataclass(frozen=True, slots=True)
class Fired:
    """A trigger's decision: which one decided, the value it saw, and the sentence that the trace shows."""

    yes: bool
    why: str
    name: str = ""
    observed: float | None = None

    def to_json(self) -> dict[str, str | float | None]:
        """Which one, the value it saw, why. Whether it fired is the leg's fate."""
        return {"name": self.name, "observed": self.observed, "why": self.why}


@runtime_checkable
class Trigger(Protocol):
    """Decides whether a leg runs, from what the legs before it found and the config's k (never the caller's).

    `check` runs when a pipeline is built: it sees the scores those legs can give, and refuses what cannot work.
    """

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired: ...
    def check(self, legs: Mapping[str, Range]) -> None: ...


@runtime_checkable
class Pending(Protocol):
    """A question that can be called off: `result` blocks, `cancel` (from another thread) makes it end soon."""

    def result(self) -> Ranking: ...
    def cancel(self) -> None: ...


@runtime_checkable
class Cancellable(Protocol):
    """A leg that can be called off half way. `begin` starts nothing yet; the work is done by `result`."""

    def begin(self, query: Query, snapshot: Snapshot, k: int) -> Pending: ...


@runtime_checkable
class Preparable(Protocol):
    """A leg or step with something to do once per process, before its first question."""

    def prepare(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Job:
    """A leg or step about to run: how it is done and called off, what it may cost, what it is expected to cost.

    Milliseconds; `cap_ms` None means no cap of its own, `cost_ms` None that the plan expects nothing. `known_ms` is for
    a leg that knows what this very query costs (a recording); else it gives None. `prepare` is what is done once per
    process (a library loaded, a store opened): it belongs to no question, so neither cap nor budget covers it.
    """

    name: str
    run: Callable[[], Ranking]
    cap_ms: float | None = None
    cost_ms: float | None = None
    cancel: Callable[[], None] = lambda: None
    prepare: Callable[[], None] | None = None
    known_ms: Callable[[], float | None] = lambda: None


class Executor(Protocol):
    """Sends errands, one after another, for one query; raises OutOfTime for one that is not run, or not to its end."""

    def ask(self, errand: Job) -> Ranking: ...


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
    """Says what a chunk says, for the graph (`ingest.triples`); the same of the same chunk, if it can."""

    def triples(self, chunk: Chunk) -> Iterable[tuple[str, str, str]]:
        """(subject, relation, object), each a text with something in it; none at all is an answer too."""
        ...


@cache
def offers(kind: type, verb: type) -> bool:
    """Does a class have the methods of a protocol? Kept per class: asked of every object, every time, it costs more
    than many a step does."""
    return issubclass(kind, verb)
