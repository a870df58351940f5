"""What every format is read into, before a split of it is checked and becomes a `Dataset`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from assay.bench.datasets.lines import Place
from assay.bench.types import Evidence, Topic

Record = Mapping[str, Any]
"""A document as `KnowledgeBase.add` takes it: id, title, text, and where known created and metadata."""


class Documents(Protocol):
    """Documents that can be iterated again and again, each time from the file: a corpus need not fit in memory."""

    def __iter__(self) -> Iterator[Record]: ...

    def placed(self) -> Iterator[tuple[Place, Record]]:
        """The same documents with the place each was read from."""
        ...


class Judgement(NamedTuple):
    query: str
    document: str
    grade: int
    place: Place


class EvidenceRows(Protocol):
    """Passages that answer, not yet found in their documents."""

    def wants(self, record: Record) -> bool:
        """Will `resolve` need this document's text?"""
        ...

    def resolve(self, kept: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]: ...


@dataclass(frozen=True)
class NoEvidence:
    """A dataset that judges documents only."""

    def wants(self, record: Record) -> bool:
        return False

    def resolve(self, kept: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]:
        return {}


@dataclass(frozen=True, eq=False)
class RawDataset:
    """A whole dataset: its documents, all its questions, and its judgements by the name of their file.

    `judgements` are read when a split needs them; `evidence` is given the questions of the split;
    `check_documents` objects when the documents are not as many as the dataset says of itself.
    """

    name: str
    documents: Documents
    topics: Mapping[str, Topic]
    judgements: Mapping[str, Callable[[], Iterable[Judgement]]]
    evidence: Callable[[frozenset[str]], EvidenceRows] = lambda _: NoEvidence()
    abstain: frozenset[str] = frozenset()
    label: str = ""
    check_documents: Callable[[int], None] = lambda _: None
    notes: tuple[str, ...] = ()
