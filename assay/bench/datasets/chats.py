"""Converts conversations into documents: whole sessions or single turns.

A turn's text is "speaker: text"; a session's text is its turns, joined by line ends. So an answering turn is a document
at turn level and a passage of one at session level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place
from assay.bench.datasets.raw_dataset import Judgement, RawDataset, Record
from assay.bench.types import Evidence, Topic
from assay.errors import nearest
from assay.ingest.files import clean_text

SESSION, TURN = "session", "turn"
LEVELS = (SESSION, TURN)


class Turn(NamedTuple):
    """One turn of a speaker; `meta` belongs to the turn, not to its session."""

    id: str
    text: str
    meta: Mapping[str, Any]


@dataclass(frozen=True)
class ChatSession:
    id: str
    title: str
    turns: tuple[Turn, ...]
    created: float | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(turn.text for turn in self.turns)

    def records(self, level: str) -> Iterator[Record]:
        """The documents of this session at a level."""
        dated = {} if self.created is None else {"created": self.created}
        if level == SESSION:
            yield {"id": self.id, "title": self.title, "text": self.text, **dated, "metadata": self.meta}
            return
        for turn in self.turns:
            meta = {**self.meta, **turn.meta}
            yield {"id": turn.id, "title": self.title, "text": turn.text, **dated, "metadata": meta}

    def passage(self, place: int, level: str, group: int) -> Evidence:
        """The turn at a position, from 0, as evidence in its document."""
        turn = self.turns[place]
        if level == TURN:
            return Evidence(turn.id, 0, len(turn.text), clean_text(turn.text), group)
        start = sum(len(earlier.text) + 1 for earlier in self.turns[:place])
        return Evidence(self.id, start, start + len(turn.text), clean_text(turn.text), group)


@dataclass(frozen=True)
class SessionDocuments:
    """The documents of sessions; every iteration reads the sessions again."""

    read: Callable[[], Iterator[tuple[Place, ChatSession]]]
    level: str

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.with_places())

    def with_places(self) -> Iterator[tuple[Place, Record]]:
        return ((place, record) for place, session in self.read() for record in session.records(self.level))


@dataclass(frozen=True)
class TurnEvidence:
    """Evidence that needs no lookup: the answering turns."""

    passages: Mapping[str, tuple[Evidence, ...]]

    def wants(self, record: Record) -> bool:
        return False

    def resolve(self, documents: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]:
        return self.passages


@dataclass
class ChatQuestions:
    """Collects the questions about conversations while the file is read."""

    topics: dict[str, Topic] = field(default_factory=dict)
    judged: list[Judgement] = field(default_factory=list)
    evidence: dict[str, tuple[Evidence, ...]] = field(default_factory=dict)
    abstain: set[str] = field(default_factory=set)

    def ask(self, topic: Topic, relevant: Iterable[str], passages: Iterable[Evidence], place: Place) -> None:
        """Add a question with its relevant documents and its answering turns; repeated documents count once."""
        if topic.id in self.topics:
            raise DatasetError(f"{place}: question {topic.id!r} again", "use every id once")
        self.topics[topic.id] = topic
        self.judged += (Judgement(topic.id, document, 1, place) for document in dict.fromkeys(relevant))
        if found := tuple(passages):
            self.evidence[topic.id] = found

    def source(self, name: str, documents: SessionDocuments, notes: tuple[str, ...] = ()) -> RawDataset:
        return RawDataset(
            name=f"{name}-{documents.level}",
            documents=documents,
            topics=self.topics,
            judgements={"test": lambda: self.judged},
            evidence=self._said,
            abstain=frozenset(self.abstain),
            notes=notes,
        )

    def _said(self, judged: frozenset[str]) -> TurnEvidence:
        return TurnEvidence({query: self.evidence[query] for query in sorted(judged) if query in self.evidence})


def parse_level(what: str) -> tuple[str, str]:
    """Split "file.json#turn" into ("file.json", "turn"); the default level is session."""
    path, mark, level = what.rpartition("#")
    if not mark:
        return what, SESSION
    if level not in LEVELS:
        raise DatasetError(f"there is no level {level!r} in {what!r}", nearest(level, LEVELS))
    return path, level
