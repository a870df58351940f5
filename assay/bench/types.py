"""The lab's data types: topics, judgements, datasets and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.types import Meta, Vector

Label = Literal["human", "weak", "auto", "synthetic", "unstated"]
"""Who judged: people; links and commit subjects; identifiers; a generator; "unstated"
where the data does not say. Two of them never share a headline."""

ALL = "all"
"""The scope of every scored query; every other scope is a stratum, "field=value"."""

Scores = NDArray[np.float64]
"""One value per scored query, in the order of `Dataset.scored`."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A query of a dataset. `where` and `scope` restrict the candidates of every system alike."""

    id: str
    text: str = ""
    vector: Vector | None = None
    at: float | None = None
    where: str = ""
    scope: str | None = None
    strata: tuple[str, ...] = ()
    meta: Meta = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that answers: characters [start, end) of a document's text, and those characters themselves.

    Passages of one `group` say the same: having one of them is having the fact.
    """

    doc_id: str
    start: int
    end: int
    text: str
    group: int


@dataclass(frozen=True, eq=False)
class Dataset:
    """Documents, topics and judgements of one split, checked when read.

    `documents` can be iterated again and again and yields records as `KnowledgeBase.add` takes them
    (id, title, text, created, metadata). `judgements` holds the topics of this split only: topic → document →
    grade, where a grade above 0 is relevant. A topic in `abstain` has no answer in the corpus: it is never
    scored as if it had one. `digest` covers documents, topics, judgements, evidence and the split.
    """

    name: str
    split: str
    digest: str
    label: Label
    documents: Iterable[Mapping[str, Any]]
    document_count: int
    topics: Mapping[str, Topic]
    judgements: Mapping[str, Mapping[str, int]]
    evidence: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)
    abstain: frozenset[str] = frozenset()
    source: str = ""
    """What `load` was given, so that a receipt can be replayed: a name, a path or an id. Never an absolute path."""
    notes: tuple[str, ...] = ()
    """Remarks for readers of a result: how a split was chosen, what was left out."""
    half_of: str = ""
    """The file of judgements that this split is a half of; empty when the split is a file of its own."""

    @property
    def judgements_text(self) -> str:
        """Who judged, for people: "human judgements"."""
        return "judgements without a label" if self.label == "unstated" else f"{self.label} judgements"

    @property
    def scored(self) -> tuple[str, ...]:
        """Topics that count: those with a relevant document, in id order."""
        return tuple(sorted(t for t, judged in self.judgements.items() if any(g > 0 for g in judged.values())))

    def strata(self) -> dict[str, NDArray[np.int64]]:
        """stratum → places in `scored`, strata in name order."""
        strata: dict[str, list[int]] = {}
        for place, topic in enumerate(self.scored):
            for stratum in self.topics[topic].strata:
                strata.setdefault(stratum, []).append(place)
        return {name: np.array(strata[name], np.int64) for name in sorted(strata)}


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of a context, or a run of its sentences: its document, its text, its length in budget tokens.

    `header` is what a packer wrote above it; a conflict it identifies is harmless.
    """

    doc_id: str
    text: str
    tokens: int
    header: str = ""


@dataclass(frozen=True, slots=True)
class TopicDegradation:
    """A step that was skipped, or that ran with less than it needs (degraded), and its message."""

    step: str
    outcome: Literal["skipped", "degraded"]
    message: str


@dataclass(frozen=True, slots=True)
class TopicResult:
    """One system's result for one topic: documents by their best chunk, best first, and the chunks in order.

    `failed` is the reason there is no result, "ErrorClass: message"; such a topic scores the metric's default, 0.
    `empty` names the legs that found nothing for it, skipped ones included; `by_leg` says of each leg how many of the
    first chunks it had found (as many as the pipeline answers with), and how many of them nobody else had. `contexts`
    holds what the pipeline's packer made for each budget.
    """

    topic: str
    documents: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    pieces: tuple[Piece, ...] = ()
    failed: str = ""
    degraded: tuple[TopicDegradation, ...] = ()
    empty: tuple[str, ...] = ()
    by_leg: tuple[tuple[str, int, int], ...] = ()
    contexts: Mapping[int, tuple[Piece, ...]] = field(default_factory=dict)

    @property
    def error(self) -> str:
        """The class of the error it failed with; "" when it did not fail."""
        return self.failed.partition(":")[0]


Run = Sequence[TopicResult]
"""One system's results, in the order of `Dataset.scored`."""
