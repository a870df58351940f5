"""The results of the memory service, all frozen. `to_json()` is the form of the command line, of exports and of MCP.

A moment is a float inside (seconds since 1970 UTC) and an ISO 8601 text in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from assay.engine.answer import Answer, ChunkStep, Hit, Status
from assay.engine.answerability import Answerability
from assay.engine.context import PackedContext
from assay.ingest.date_bounds import DateRange
from assay.memory.silence import NAME_ANOTHER, explain_silence

OnDuplicate = Literal["skip", "merge", "supersede", "force"]
Action = Literal["stored", "skipped", "merged", "superseded", "refused"]
"""What `store` did: stored a new memory; skipped a known one; merged into a known one; stored a new one in place of
those it supersedes; refused noise."""

CATEGORIES = ("fact", "preference", "decision", "entity", "reflection", "other")
"""The categories of memories. The first is the default."""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One memory in its present state.

    `importance` is in [0, 1]. `updated` is when it was last written. `expires` is the first moment at which it is no
    longer recalled. `supersedes` are the ids that it replaced, `superseded_by` is the id that replaced it.
    """

    id: str
    text: str
    scope: str
    category: str
    importance: float
    tags: tuple[str, ...]
    created: float
    updated: float
    expires: float | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "text": self.text,
            "scope": self.scope,
            "category": self.category,
            "importance": self.importance,
            "tags": list(self.tags),
            "created": iso(self.created),
            "updated": iso(self.updated),
            "expires": None if self.expires is None else iso(self.expires),
            "supersedes": list(self.supersedes),
            "superseded_by": self.superseded_by or None,
        }


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A memory similar to a text: the cosine (None if the store has no model) and the overlap, the share of the two
    texts' terms that both have. `duplicate` is True when it says the same; `why` gives the reason. `adds` are the terms
    of the text that the memory lacks: a duplicate with some says more."""

    memory: MemoryEntry
    cosine: float | None
    overlap: float
    duplicate: bool
    why: str
    adds: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.memory.id,
            "text": self.memory.text,
            "cosine": self.cosine,
            "overlap": self.overlap,
            "duplicate": self.duplicate,
            "why": self.why,
            "adds": list(self.adds),
        }


@dataclass(frozen=True, slots=True)
class Conflict:
    """A known memory that a new one may replace, and why."""

    memory: MemoryEntry
    why: str

    def to_json(self) -> dict[str, Any]:
        return {"id": self.memory.id, "text": self.memory.text, "why": self.why}


@dataclass(frozen=True, slots=True)
class StoreOutcome:
    """The outcome of storing a text. The memory is durable when this is returned.

    `id` is the memory that now holds it: the new one, or the known one (`skipped`, `merged`); "" when `refused`.
    `conflicts` are known memories that it may replace, each with the reason: to replace one, store it with
    `supersedes`, or update the old one.
    """

    id: str
    action: Action
    reason: str
    near: tuple[NearDuplicate, ...] = ()
    memory: MemoryEntry | None = None
    conflicts: tuple[Conflict, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id or None,
            "action": self.action,
            "reason": self.reason,
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
            "near": [near.to_json() for near in self.near],
            "memory": self.memory.to_json() if self.memory else None,
        }


@dataclass(frozen=True)
class RecalledMemory:
    """One recalled memory at its rank. `served_for` is the id of the superseded memory that matched instead of it."""

    rank: int
    score: float
    memory: MemoryEntry
    served_for: str = ""
    hit: Hit = field(repr=False, compare=False, kw_only=True)

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def text(self) -> str:
        return self.memory.text

    def why(self) -> str:
        """The score as a sum that can be checked, and the superseded memory that matched, if any."""
        said = self.hit.why()
        return f"{said}; found as {self.served_for}, which it supersedes" if self.served_for else said

    def to_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "score": self.score,
            "memory": self.memory.to_json(),
            "served_for": self.served_for or None,
            "why": self.why(),
            "parts": [
                {"part": line.name, "op": line.op, "value": line.value, "score": line.score, "rank": line.rank}
                for line in self.hit.waterfall
            ],
        }


@dataclass(frozen=True)
class RecallAnswer:
    """The answer of a recall. `skipped` says why nothing was looked up ("" otherwise); `notes` say what happened to
    memories after the pipeline (superseded ones served as their successors); `remarks` are the notes of its steps
    (which reranker ran, what was dropped and why); `answer` has the whole trace; `context` packs the memories into a
    token budget, where one was asked for; `scopes` are those that were looked in.

    `found` is how many pieces of memories the legs found, `dropped` how many each step took away: nothing is known
    only where nothing was found. `range` is the period that was asked for, by `since` and `until` or in the query's
    words; only `since` and `until` exclude.
    """

    query: str
    hits: tuple[RecalledMemory, ...]
    search_status: Status
    skipped: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    found: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    range: DateRange | None = None
    at: float | None = None
    answer: Answer | None = field(default=None, repr=False, compare=False)
    context: PackedContext | None = None
    scopes: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """What did not run as planned; the judge of `answerability` too, once that was read."""
        judgement = None if self.answer is None else self.answer.judgement
        return self.search_status if judgement is None else judgement.amend(self.search_status)

    @property
    def word(self) -> str:
        """answered · nothing found · all dropped · degraded · … · skipped"""
        if self.skipped:
            return "skipped"
        word = self.status.word
        return word.replace("nothing found", "all dropped") if self.found and not self.hits else word

    @property
    def silence(self) -> str:
        """Why there is no memory in the answer, as a sentence; "" when there is one."""
        return self.explain_silence()

    def explain_silence(self, elsewhere: str = NAME_ANOTHER) -> str:
        """`silence`, with other words for how to look in another scope: each surface has its own."""
        if self.hits or self.skipped:
            return ""
        period = str(self.range) if self.range is not None and not self.range.words else ""
        return explain_silence(self.found, self.dropped, period, self.scopes, elsewhere)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def answerability(self) -> Answerability | None:
        """Whether these memories can answer the question; None when nothing was looked up."""
        return None if self.answer is None else self.answer.answerability

    def to_json(self) -> dict[str, Any]:
        judged = self.answerability  # before the status, which says why when the judge fails
        return {
            "query": self.query,
            "status": {
                "word": self.word,
                "found": self.found,
                "served": len(self.hits),
                "dropped": dict(self.dropped),
                "degraded": list(self.status.degraded),
            },
            "skipped": self.skipped or None,
            "answerability": None if judged is None else judged.to_json(),
            "silence": self.silence or None,
            "at": None if self.at is None else iso(self.at),
            "range": None if self.range is None else self.range.to_json(),
            "hits": [hit.to_json() for hit in self.hits],
            "notes": list(self.notes),
            "remarks": list(self.remarks),
            "trace": self.answer.to_json()["trace"] if self.answer else [],
            "context": self.context.to_json() if self.context else None,
        }


@dataclass(frozen=True, slots=True)
class ForgetOutcome:
    """The outcome of `forget`.

    `done` is False when a confirmation is needed: nothing happened, and calling again with `confirm=token` forgets
    exactly `memories`, or is refused if they have changed. `erased` and `unreached` belong to a purge: every place the
    text was removed from, and every place where it may still be.
    """

    done: bool
    memories: tuple[MemoryEntry, ...]
    token: str = ""
    purged: bool = False
    erased: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.memories)

    def to_json(self) -> dict[str, Any]:
        return {
            "done": self.done,
            "memories": [entry.to_json() for entry in self.memories],
            "token": self.token or None,
            "purged": self.purged,
            "erased": list(self.erased),
            "unreached": list(self.unreached),
        }


Confirm = str | Callable[[tuple[MemoryEntry, ...]], bool] | None
"""A token from an unconfirmed `forget`, or a function that is shown the memories and answers yes or no."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One state of a memory: from version `from_version` until version `until_version` (None: still current).
    `began` and `ended` are the notes of the two versions: what led to the state, and what ended it."""

    memory: MemoryEntry
    from_version: int
    until_version: int | None
    began: str
    ended: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "memory": self.memory.to_json(),
            "from": self.from_version,
            "until": self.until_version,
            "began": self.began,
            "ended": self.ended or None,
        }


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Counts over the scopes that were asked about, and no others.

    `memories` can be recalled; `superseded` and `expired` cannot; `hidden` were forgotten and not purged, so their
    text is still in the store.
    """

    scopes: tuple[str, ...]
    memories: int
    superseded: int
    expired: int
    hidden: int
    tokens: int
    by_scope: dict[str, int]
    by_category: dict[str, int]
    by_tag: dict[str, int]
    oldest: float | None = None
    newest: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "scopes": list(self.scopes),
            "memories": self.memories,
            "superseded": self.superseded,
            "expired": self.expired,
            "hidden": self.hidden,
            "tokens": self.tokens,
            "by_scope": self.by_scope,
            "by_category": self.by_category,
            "by_tag": self.by_tag,
            "oldest": None if self.oldest is None else iso(self.oldest),
            "newest": None if self.newest is None else iso(self.newest),
        }


@dataclass(frozen=True)
class MemoryExplanation:
    """Why a memory has its rank for a query, or why it is missing.

    `rank` is its place (None: not recalled); `steps` are what every step did with it; `reasons` say why it is missing.
    """

    memory: MemoryEntry
    rank: int | None
    score: float | None
    steps: tuple[ChunkStep, ...]
    reasons: tuple[str, ...]
    answer: RecallAnswer = field(repr=False, compare=False)

    def why(self) -> str:
        """One line: the sum of its score, or the reasons it is missing."""
        if self.rank is not None:
            return next(hit.why() for hit in self.answer.hits if hit.rank == self.rank)
        return "; ".join(self.reasons)

    def to_json(self) -> dict[str, Any]:
        return {
            "memory": self.memory.to_json(),
            "rank": self.rank,
            "score": self.score,
            "why": self.why(),
            "reasons": list(self.reasons),
            "steps": [
                {"step": p.step, "kind": p.kind, "rank": p.rank, "score": p.score, "why": p.why or None}
                for p in self.steps
            ],
        }


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """Counts of an import by action, with each rejected record and the reason."""

    stored: int = 0
    skipped: int = 0
    refused: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()
    """The ids of the stored memories."""

    def to_json(self) -> dict[str, Any]:
        return {
            "stored": self.stored,
            "skipped": self.skipped,
            "refused": self.refused,
            "problems": [{"record": where, "reason": why} for where, why in self.problems],
            "ids": list(self.ids),
        }


def iso(moment: float) -> str:
    """2026-03-01T09:30:00+00:00; moments are kept to the microsecond, so this reads back to the same float."""
    return datetime.fromtimestamp(moment, UTC).isoformat()
