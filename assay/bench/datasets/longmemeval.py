"""LongMemEval (Wu et al., 2025): questions to a chat assistant about what was said in earlier sessions.

A JSON list of {"question_id", "question_type", "question", "answer", "question_date", "haystack_session_ids",
"haystack_dates", "haystack_sessions": [[{"role", "content", "has_answer"}]], "answer_session_ids"}.

    documents   the sessions of all questions in one pool, each once: within its own haystack alone a question of
                the oracle file would be trivial. Haystacks date a shared session differently; the earliest date
                counts. Two sessions of one id that differ in words are two documents, the later one called id~2.
    relevant    session level: answer_session_ids; turn level: the turns with has_answer
    evidence    the turns with has_answer
    at          question_date: what was said later is hidden
    abstain     question_id ends in _abs; the sessions it names do not answer it
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.bench.datasets import find
from assay.bench.datasets.chats import SESSION, ChatQuestion, ChatSession, Sessions, Turn, at_level
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import BOM, DECODER, Place, checked_id, identity, text_of
from assay.bench.datasets.moments import moment
from assay.bench.datasets.source import RawDataset
from assay.bench.types import Topic
from assay.ingest.dates import brief

ABSTENTION = "_abs"
Item = Mapping[str, Any]
_Talk = tuple[str, ChatSession, list[int]]
"""A session's id, the session under its document id, and the places of the turns that answer."""


def read(what: str) -> RawDataset:
    name, level = at_level(what)
    path = find.locate(name)
    asked, names = ChatQuestion(), _Names()
    earliest: dict[str, float | None] = {}
    for place, item in items(path):
        sessions = list(_sessions(place, item, names))
        for _, session, _ in sessions:
            known = (earliest.get(session.id), session.created)
            earliest[session.id] = min((date for date in known if date is not None), default=None)
        _ask(asked, place, item, sessions, level)
    return asked.source(path.stem, Sessions(partial(_pooled, path, earliest), level))


def _ask(asked: ChatQuestion, place: Place, item: Item, sessions: list[_Talk], level: str) -> None:
    topic = _topic(place, item)
    answers = {checked_id(str(name), place) for name in _list(item, "answer_session_ids", place)}
    if absent := answers - {name for name, _, _ in sessions}:
        raise DatasetError(
            f"{place}: answer session {min(absent)!r} is not in the haystack of {topic.id!r}", "mend that question"
        )
    spoken = [(session, turn) for _, session, answering in sessions for turn in answering]
    passages = [session.passage(turn, level, group) for group, (session, turn) in enumerate(spoken)]
    whole = [session.id for name, session, _ in sessions if name in answers]
    asked.ask(topic, whole if level == SESSION else [passage.doc_id for passage in passages], passages, place)
    if topic.id.endswith(ABSTENTION):
        asked.abstain.add(topic.id)


class _Names:
    """Document ids of sessions: the session's own id, and id~2 for another text under the same id."""

    def __init__(self) -> None:
        self._texts: dict[str, list[bytes]] = {}

    def of(self, name: str, text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        texts = self._texts.setdefault(name, [])
        if digest not in texts:
            texts.append(digest)
        version = texts.index(digest) + 1
        return name if version == 1 else f"{name}~{version}"


def items(path: Path) -> Iterator[tuple[Place, Item]]:
    """The questions one by one: the file is in memory once as text, never as a whole tree of objects."""
    try:
        text = path.read_bytes().removeprefix(BOM).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}", "name the JSON file, in UTF-8") from error
    at, number = _skip(text, 0), 0
    if text[at : at + 1] != "[":
        raise DatasetError(f"{path} is no JSON list", "name a file that holds a list of questions")
    at = _skip(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        number += 1
        place = f"{path} item {number}"
        try:
            item, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{place} is no JSON: {error}", "mend the file") from error
        if not isinstance(item, Mapping):
            raise DatasetError(f"{place} is {brief(item)}, not a mapping", "mend the file")
        yield place, item
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
    if text[at : at + 1] != "]":
        raise DatasetError(f"{path} ends in the middle, after item {number}", "get the file anew")


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _topic(place: Place, item: Item) -> Topic:
    answer = item.get("answer")
    return Topic(
        id=identity(item, ("question_id",), place),
        text=text_of(item, "question", place),
        at=moment(item.get("question_date")),
        meta={"type": text_of(item, "question_type", place, default="")}
        | ({"answer": answer} if isinstance(answer, str | int) else {}),
    )


def _sessions(place: Place, item: Item, names: _Names) -> Iterator[_Talk]:
    talks = _list(item, "haystack_sessions", place)
    ids = _list(item, "haystack_session_ids", place)
    dates = _list(item, "haystack_dates", place)
    if not len(talks) == len(ids) == len(dates):
        raise DatasetError(
            f"{place}: {len(talks)} sessions, {len(ids)} ids and {len(dates)} dates", "give each session one of each"
        )
    for name, date, talk in zip(map(str, ids), dates, talks, strict=True):
        spoken = [_turn(turn, place) for turn in (talk if isinstance(talk, list) else [talk])]
        document = names.of(checked_id(name, place), "\n".join(text for _, text, _ in spoken))
        turns = tuple(
            Turn(f"{document}:{number}", text, {"role": role}) for number, (role, text, _) in enumerate(spoken, 1)
        )
        session = ChatSession(document, str(date), turns, moment(date), {"session": name, "session_id": document})
        yield name, session, [number for number, (_, _, answers) in enumerate(spoken) if answers]


def _turn(turn: object, place: Place) -> tuple[str, str, bool]:
    """(role, "role: content", answers)."""
    if not isinstance(turn, Mapping):
        raise DatasetError(f"{place}: a turn is {brief(turn)}", 'write {"role": "user", "content": "…"}')
    role = text_of(turn, "role", place)
    return role, f"{role}: {text_of(turn, 'content', place)}", turn.get("has_answer") is True


def _pooled(path: Path, earliest: Mapping[str, float | None]) -> Iterator[tuple[Place, ChatSession]]:
    """Every session once, where it first stands, with its earliest date."""
    names = _Names()
    seen: set[str] = set()
    for place, item in items(path):
        for _, session, _ in _sessions(place, item, names):
            if session.id not in seen:
                seen.add(session.id)
                yield place, replace(session, created=earliest[session.id])


def _list(item: Item, name: str, place: Place) -> list[Any]:
    value = item.get(name)
    if not isinstance(value, list):
        raise DatasetError(f"{place}: {name!r} is {brief(value)}", "give a list")
    return value
