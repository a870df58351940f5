"""What the memory service returns. All frozen; `to_json()` is the form of the command line, of exports and of MCP.

A moment is a float inside (seconds since 1970 UTC) and an ISO 8601 text in JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from assay.engine.answer import Answer, ChunkStep, Hit, Status

OnDuplicate = Literal["skip", "merge", "supersede", "force"]
Action = Literal["stored", "skipped", "merged", "superseded", "refused"]
"""What `store` did: a new memory; nothing, for it is known; the known one was enriched; a new one took the place of
those it supersedes; nothing, for it is noise."""

CATEGORIES = ("fact", "preference", "decision", "entity", "reflection", "other")
"""What a memory may be about. The first is the default."""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One memory as it stands.

    `importance` is in [0, 1]. `updated` is when it was last written. `expires` is the first moment at which it is no
    longer recalled. `supersedes` are the ids it took the place of, `superseded_by` is the id that took its own.
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
    """A memory much like another text: its cosine (None where the store has no model) and its overlap, which is the
    share of the two texts' terms that both have. `duplicate` is True when it says the same; `why` says why, or why
    not. `adds` are the terms of the text that the memory lacks: a duplicate with some says more."""

    entry: MemoryEntry
    cosine: float | None
    overlap: float
    duplicate: bool
    why: str
    adds: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.entry.id,
            "text": self.entry.text,
            "cosine": self.cosine,
            "overlap": self.overlap,
            "duplicate": self.duplicate,
            "why": self.why,
            "adds": list(self.adds),
        }


@dataclass(frozen=True, slots=True)
class StoreOutcome:
    """What became of a text that was to be stored. Durable when it is returned.

    `id` is the memory that now holds it: the new one, or the known one (`skipped`, `merged`); "" when `refused`.
    """

    id: str
    action: Action
    reason: str
    near: tuple[NearDuplicate, ...] = ()
    entry: MemoryEntry | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id or None,
            "action": self.action,
            "reason": self.reason,
            "near": [near.to_json() for near in self.near],
            "memory": self.entry.to_json() if self.entry else None,
        }


@dataclass(frozen=True)
class RecalledMemory:
    """One recalled memory at its rank. `served_for` is the id of the superseded memory that was found in its place."""

    rank: int
    score: float
    entry: MemoryEntry
    served_for: str = ""
    hit: Hit = field(repr=False, compare=False, kw_only=True)

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def text(self) -> str:
        return self.entry.text

    def why(self) -> str:
        """The score as a sum a person can check, and whose place this memory took."""
        said = self.hit.why()
        return f"{said}; found as {self.served_for}, which it supersedes" if self.served_for else said

    def to_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "score": self.score,
            "memory": self.entry.to_json(),
            "served_for": self.served_for or None,
            "why": self.why(),
            "parts": [
                {"part": line.name, "op": line.op, "value": line.value, "score": line.score, "rank": line.rank}
                for line in self.hit.waterfall
            ],
        }


@dataclass(frozen=True)
class RecallAnswer:
    """What a recall gave. `skipped` says why nothing was looked up ("" when something was); `notes` are what happened
    to memories after the pipeline (superseded ones served as their successor); `remarks` what its steps say of
    themselves (who reranked, whom they dropped and why); `answer` has the whole trace."""

    query: str
    hits: tuple[RecalledMemory, ...]
    verdict: Status
    skipped: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    answer: Answer | None = field(default=None, repr=False, compare=False)

    @property
    def word(self) -> str:
        """answered · nothing found · degraded · … · skipped"""
        return "skipped" if self.skipped else self.verdict.word

    def __len__(self) -> int:
        return len(self.hits)

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "verdict": {"word": self.word, "found": len(self.hits), "degraded": list(self.verdict.degraded)},
            "skipped": self.skipped or None,
            "hits": [hit.to_json() for hit in self.hits],
            "notes": list(self.notes),
            "remarks": list(self.remarks),
            "trace": self.answer.to_json()["trace"] if self.answer else [],
        }


@dataclass(frozen=True, slots=True)
class ForgetOutcome:
    """What `forget` did, or would do.

    `done` is False when a confirmation is wanted: nothing happened, and calling again with `confirm=token` forgets
    exactly `entries`, or is refused if they are no longer the same. `erased` and `unreached` speak of a purge: every
    place the text was removed from, and every place where it may still be.
    """

    done: bool
    entries: tuple[MemoryEntry, ...]
    token: str = ""
    purged: bool = False
    erased: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.entries)

    def to_json(self) -> dict[str, Any]:
        return {
            "done": self.done,
            "memories": [entry.to_json() for entry in self.entries],
            "token": self.token or None,
            "purged": self.purged,
            "erased": list(self.erased),
            "unreached": list(self.unreached),
        }


Confirm = str | Callable[[tuple[MemoryEntry, ...]], bool] | None
"""A token from an unconfirmed `forget`, or a function that is shown the memories and answers yes or no."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One state a memory was in: from version `born` until version `died` (None: still). `what` are the notes of the
    two versions: what brought the state about, and what ended it."""

    entry: MemoryEntry
    born: int
    died: int | None
    began: str
    ended: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "memory": self.entry.to_json(),
            "from": self.born,
            "until": self.died,
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
    """Why a memory stands where it stands for a query, or why it is not there.

    `rank` is its place (None: not recalled); `passages` are what every step did with it; `reasons` why it is missing.
    """

    entry: MemoryEntry
    rank: int | None
    score: float | None
    passages: tuple[ChunkStep, ...]
    reasons: tuple[str, ...]
    recalled: RecallAnswer = field(repr=False, compare=False)

    def why(self) -> str:
        """One line: the sum of its score, or the reasons it is missing."""
        if self.rank is not None:
            return next(hit.why() for hit in self.recalled.hits if hit.rank == self.rank)
        return "; ".join(self.reasons)

    def to_json(self) -> dict[str, Any]:
        return {
            "memory": self.entry.to_json(),
            "rank": self.rank,
            "score": self.score,
            "why": self.why(),
            "reasons": list(self.reasons),
            "steps": [
                {"step": p.step, "kind": p.kind, "rank": p.rank, "score": p.score, "why": p.why or None}
                for p in self.passages
            ],
        }


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import did, by action, with each record that could not be taken and the reason."""

    stored: int = 0
    skipped: int = 0
    refused: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()
    """Of the memories that were stored."""

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
