"""The value types. All are frozen; a ranking is columns, not a list of objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import Reason
from assay.where import Filter

Ids = NDArray[np.str_]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Vector = NDArray[np.float32]  # one unit vector, shape [d]
Vectors = NDArray[np.float32]  # shape [n, d]

Scale = Literal["raw", "unit"]
Op = Literal["add", "mul", "set"]
Meta = Mapping[str, Any]
Progress = Callable[[str, int, int], None]
"""How long work reports on itself: (what it does, how many are done, how many there are)."""

DAY = 86_400.0
"""Seconds in a day. A moment in Assay is a float: seconds since 1970-01-01 UTC; NaN means undated."""


@dataclass(frozen=True, slots=True)
class Document:
    """What the user owns: a file, a message, a row of a table.

    `sections` is the text cut at its headings, in order; readers that know no headings give one section.
    """

    id: str
    title: str
    sections: tuple[Section, ...]
    created: float = float("nan")
    importance: float = 1.0
    meta: Meta = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text under one heading path, e.g. ("Security", "Keys")."""

    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of retrieval.

    `meta` always carries `title` and `section` (both may be empty); what is indexed and embedded is
    `indexed_text`, so that a chunk is found by the headings it stands under.
    `tokens` counts `text` in the budget tokeniser. `importance` is in [0, 1].
    """

    id: str
    doc_id: str
    text: str
    tokens: int
    created: float = float("nan")
    importance: float = 1.0
    meta: Meta = field(default_factory=dict)

    @property
    def title(self) -> str:
        return str(self.meta.get("title", ""))

    @property
    def section(self) -> str:
        return str(self.meta.get("section", ""))

    @property
    def indexed_text(self) -> str:
        """Title, section path and text, one line each; empty headings leave no line."""
        return "\n".join(part for part in (self.title, self.section, self.text) if part)


@dataclass(frozen=True, slots=True)
class Query:
    """A question as of a moment. Time is data: `at` never defaults to the wall clock in the engine.

    `at` is the scoring clock and hides chunks created later; None means undated scoring, nothing hidden.
    `extra` carries the typed inputs of a preset (tmd_bits, lane, context).
    """

    text: str = ""
    vector: Vector | None = None
    at: float | None = None
    where: Filter | None = None
    scope: str | None = None
    extra: Meta = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a score: what it is called, how it acts on the score so far, and by how much.

    For `set`, NaN in the column means "leave the score as it is"; `add` and `mul` columns are finite.
    """

    name: str
    op: Op
    column: Floats


@dataclass(frozen=True, slots=True)
class Note:
    """Something a component did that its columns do not show.

    kind: "dropped" (these ids left, and why) | "skipped" (a step did not run) | "degraded" (it ran, but not
    as planned) | "info" | "detail" (what it does every time: on the trace, but no remark under an answer).
    `data` is the same for programs, as JSON: the decisions of a router, the confidences of a race.
    """

    kind: Literal["dropped", "skipped", "degraded", "info", "detail"]
    text: str
    ids: tuple[str, ...] = ()
    cure: str = ""
    data: Meta = field(default_factory=dict, hash=False)

    @property
    def reason(self) -> Reason:
        return Reason(self.text, self.cure)


def applied(score: Floats, part: Part) -> Floats:
    """A score after one more part."""
    if part.op == "add":
        return score + part.column
    if part.op == "mul":
        return score * part.column
    return np.where(np.isnan(part.column), score, part.column)


def fold(parts: Sequence[Part], size: int) -> Floats:
    """The score: parts applied left to right, starting from 0."""
    score = np.zeros(size)
    for part in parts:
        score = score + part.column if part.op == "add" else applied(score, part)
    return score


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Candidates as columns of equal length, in the one order (engine/order.py).

    `score` is the left fold of `parts`. `rows` are positions in the snapshot, where the component that made the ranking
    knows them. `notes` travel with the ranking to the trace.
    """

    ids: Ids
    score: Floats
    tier: Ints
    priority: Ints
    source_rank: Ints
    parts: tuple[Part, ...]
    scale: Scale
    rows: Rows | None = None
    notes: tuple[Note, ...] = ()

    @staticmethod
    def of(
        ids: Ids | Sequence[str],
        parts: Sequence[Part],
        scale: Scale,
        *,
        rows: Rows | None = None,
        priority: Ints | int = 0,
        source_rank: Ints | None = None,
        tier: Ints | None = None,
        notes: Sequence[Note] = (),
    ) -> Ranking:
        """Columns in any order, scored by their parts; `order.arrange` puts them in the one order."""
        names = np.asarray(ids, dtype=np.str_)
        size = len(names)
        return Ranking(
            ids=names,
            score=fold(parts, size),
            tier=np.zeros(size, np.int32) if tier is None else tier,
            priority=np.full(size, priority, np.int32) if isinstance(priority, int) else priority,
            source_rank=np.zeros(size, np.int32) if source_rank is None else source_rank,
            parts=tuple(parts),
            scale=scale,
            rows=rows,
            notes=tuple(notes),
        )

    @staticmethod
    def empty(scale: Scale, notes: Sequence[Note] = ()) -> Ranking:
        return _empty(scale).noted(*notes)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, index: NDArray[Any] | slice) -> Ranking:
        """The same ranking restricted to, and in the order of, an index or mask."""
        return Ranking(
            ids=self.ids[index],
            score=self.score[index],
            tier=self.tier[index],
            priority=self.priority[index],
            source_rank=self.source_rank[index],
            parts=tuple([Part(p.name, p.op, p.column[index]) for p in self.parts]),
            scale=self.scale,
            rows=None if self.rows is None else self.rows[index],
            notes=self.notes,
        )

    def scored(self, *parts: Part, scale: Scale | None = None) -> Ranking:
        """The same candidates with further parts applied to their score (not yet re-ordered)."""
        return Ranking(
            ids=self.ids,
            score=reduce(applied, parts, self.score),
            tier=self.tier,
            priority=self.priority,
            source_rank=self.source_rank,
            parts=self.parts + parts,
            scale=scale or self.scale,
            rows=self.rows,
            notes=self.notes,
        )

    def clamped(self) -> Ranking:
        """A unit ranking held to [0, 1]; where that bites, a `set` part called "clamp" says so."""
        if self.scale != "unit" or not ((self.score < 0.0) | (self.score > 1.0)).any():
            return self
        clipped = np.clip(self.score, 0.0, 1.0)
        return self.scored(Part("clamp", "set", np.where(clipped == self.score, np.nan, clipped)))

    def noted(self, *notes: Note) -> Ranking:
        return replace(self, notes=self.notes + notes) if notes else self

    def silent(self) -> Ranking:
        """The same ranking without its notes."""
        return replace(self, notes=()) if self.notes else self

    def places(self) -> dict[str, int]:
        """id → position from 0."""
        return {str(name): place for place, name in enumerate(self.ids)}


@cache
def _empty(scale: Scale) -> Ranking:
    return Ranking.of([], (), scale, rows=np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a text, `text == original[start:end]`, with what to highlight in it.

    `marks` are (start, end) within the excerpt, in order and not overlapping; `terms` the distinct query terms
    they show, sorted; `cut_before` and `cut_after` say whether more text stands on that side.
    """

    text: str
    start: int
    end: int
    marks: tuple[tuple[int, int], ...]
    terms: tuple[str, ...]
    cut_before: bool
    cut_after: bool


@dataclass(frozen=True, slots=True)
class Range:
    """The scores a component can give: their scale and bounds. Read by preflight only."""

    scale: Scale
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence of a node's summary, and the row whose chunk says it."""

    row: int
    text: str


@dataclass(frozen=True, slots=True)
class NodePayload:
    """What a node of the tree says about the live chunks below it.

    keywords    words that tell it from its siblings, heaviest first
    summary     sentences of its chunks, best first
    text        a summary by a language model; "" where there is none
    entities    names and identifiers that distinguish it, as the graph writes them, heaviest first
    chunks      how many chunks, and how many `tokens` they have together
    dates       the earliest and the latest creation time, in seconds since 1970; None where no chunk is dated
    versions    the values of the metadata field `version`, sorted
    """

    node: int
    keywords: tuple[str, ...]
    summary: tuple[SummarySentence, ...]
    text: str
    entities: tuple[str, ...]
    chunks: int
    tokens: int
    dates: tuple[float, float] | None
    versions: tuple[str, ...]
