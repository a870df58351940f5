"""The packer of a pipeline, and the context it makes: text for a prompt within a token budget, with its sources."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from assay.protocols import Snapshot
from assay.types import Chunk, Note, Query


@dataclass(frozen=True, slots=True)
class PackCandidate:
    """A ranked chunk that a packer may read: the number by which the context cites it, the chunk, its score."""

    citation: int
    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class ContextSource:
    """A chunk that the context cites: `[citation]`, which is its rank in the answer.

    `header` is the line that its sentences stand under (title, section, version, date); "" for a chunk that has none.
    """

    citation: int
    chunk_id: str
    doc_id: str
    header: str


@dataclass(frozen=True, slots=True)
class ContextSentence:
    """A sentence of the context: characters [start, end) of the text of the chunk that `citation` names.

    `gain` is what it added to the packer's objective when it was taken and `cost` what it added to the tokens, its
    header and citation included if it was the first of its chunk; `covers` lists what no sentence before it covered.
    """

    citation: int
    start: int
    end: int
    text: str
    gain: float
    cost: int
    covers: tuple[str, ...] = ()

    def why(self) -> str:
        """The gain, the cost and what it covers: `+0.412 for 31 tokens, covers rotate, key`."""
        covered = f", covers {', '.join(self.covers)}" if self.covers else ""
        return f"+{self.gain:.3g} for {self.cost} token{'s' if self.cost != 1 else ''}{covered}"


@dataclass(frozen=True, slots=True)
class DroppedSentences:
    """Sentences of one candidate that are not in the context, how many tokens they have, and why they were left out."""

    chunk_id: str
    sentences: int
    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class PackedContext:
    """Text for a prompt, of at most `budget` tokens; `tokens` counts all of `text`.

    `sentences` are in the order of the text, `sources` are the chunks they come from. `dropped` lists the candidates
    that are not in it, or not as a whole. `notes` say what did not go as planned, for example that nothing fits.
    """

    text: str
    tokens: int
    budget: int
    packer: str
    sources: tuple[ContextSource, ...] = ()
    sentences: tuple[ContextSentence, ...] = ()
    dropped: tuple[DroppedSentences, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """The documented form (docs/reference/answer.md)."""
        return {
            "text": self.text,
            "tokens": self.tokens,
            "budget": self.budget,
            "packer": self.packer,
            "sources": [
                {"citation": one.citation, "id": one.chunk_id, "doc_id": one.doc_id, "header": one.header}
                for one in self.sources
            ],
            "sentences": [
                {
                    "citation": one.citation,
                    "start": one.start,
                    "end": one.end,
                    "gain": one.gain,
                    "cost": one.cost,
                    "covers": list(one.covers),
                }
                for one in self.sentences
            ],
            "dropped": [
                {"id": one.chunk_id, "sentences": one.sentences, "tokens": one.tokens, "why": one.why}
                for one in self.dropped
            ],
            "notes": [str(note.reason) for note in self.notes],
        }


@runtime_checkable
class Packer(Protocol):
    """Makes a context of at most `tokens` tokens from ranked chunks. It never changes the ranking.

    `pool` is how many candidates it reads at least; where they hold less text than twice the budget, it is given more.
    """

    @property
    def tokens(self) -> int: ...
    @property
    def pool(self) -> int: ...
    def pack(self, query: Query, candidates: Sequence[PackCandidate], snapshot: Snapshot) -> PackedContext: ...
