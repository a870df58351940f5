"""Rendered text: sentences with the facts they state, chunks, and the plan of a document before it is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from assay.bench.rb006.world.facts import FactKey


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence has to say: an archetype of frames, the words for its slots, the facts it states."""

    archetype: str
    slots: Mapping[str, str]
    facts: tuple[FactKey, ...]


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """A document before rendering. Documents with the same `style` use the same frames: near-duplicates."""

    key: str
    kind: str
    filler: str
    day: date
    slots: Mapping[str, str]
    sections: tuple[tuple[str, tuple[Statement, ...]], ...]
    version: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True)
class WorldSentence:
    """A sentence of a chunk: characters [start, end) of its text, the facts it states (none: filler)."""

    id: str
    chunk_id: str
    start: int
    end: int
    text: str
    tokens: int
    facts: tuple[FactKey, ...] = ()


@dataclass(frozen=True, slots=True)
class WorldChunk:
    """A unit of retrieval with its header: title, section, date and, where there is one, version."""

    id: str
    title: str
    section: str
    day: date | None
    version: str
    text: str
    tokens: int
    sentences: tuple[WorldSentence, ...] = field(repr=False, default=())

    def as_record(self) -> dict[str, Any]:
        """The line of corpus.jsonl: text and header, nothing of the generator."""
        day = {"date": self.day.isoformat()} if self.day else {}
        meta = {**day, **({"version": self.version} if self.version else {})}
        return {"_id": self.id, "title": self.title, "section": self.section, "text": self.text, "metadata": meta}
