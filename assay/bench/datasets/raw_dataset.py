"""The common form of all formats, before a split is checked and becomes a `Dataset`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from assay.bench.datasets.lines import Place
from assay.bench.types import Evidence, Topic

Record = Mapping[str, Any]
"""A document as `KnowledgeBase.add` takes it: id, title, text, and optionally created and metadata."""


class DocumentSource(Protocol):
    """Documents that can be iterated several times, each time from the file: a corpus need not fit in memory."""

    def __iter__(self) -> Iterator[Record]: ...

    def with_places(self) -> Iterator[tuple[Place, Record]]:
        """The same documents with the place each was read from."""
        ...


class Judgement(NamedTuple):
    query: str
    document: str
    grade: int
    place: Place


class EvidenceRows(Protocol):
    """Answering passages, not yet located in their documents."""

    def wants(self, record: Record) -> bool:
        """Whether `resolve` needs this document's text."""
        ...

    def resolve(self, documents: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]: ...


@dataclass(frozen=True)
class NoEvidence:
    """A dataset that judges documents only."""

    def wants(self, record: Record) -> bool:
        return False

    def resolve(self, documents: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]:
        return {}


@dataclass(frozen=True, eq=False)
class RawDataset:
    """A whole dataset: its documents, all its questions, and its judgements by the name of their file.

    `judgements` are read when a split needs them; `evidence` takes the questions of the split; `check_documents` raises
    if the number of documents differs from the manifest.
    """

    name: str
    documents: DocumentSource
    topics: Mapping[str, Topic]
    judgements: Mapping[str, Callable[[], Iterable[Judgement]]]
    evidence: Callable[[frozenset[str]], EvidenceRows] = lambda _: NoEvidence()
    abstain: frozenset[str] = frozenset()
    label: str = ""
    check_documents: Callable[[int], None] = lambda _: None
    notes: tuple[str, ...] = ()
