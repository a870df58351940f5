"""Reads LongMemEval (Wu et al., 2025): questions to a chat assistant about earlier sessions.

A JSON list of {"question_id", "question_type", "question", "answer", "question_date", "haystack_session_ids",
"haystack_dates", "haystack_sessions": [[{"role", "content", "has_answer"}]], "answer_session_ids"}.

    documents   the sessions of all questions in one pool, each once: in its own haystack alone a question of the
                oracle file would be trivial. Haystacks date a shared session differently; the earliest date
                counts. Two sessions with one id and different texts are two documents, the second called id~2.
    relevant    session level: answer_session_ids; turn level: the turns with has_answer
    evidence    the turns with has_answer
    at          question_date: later sessions are hidden
    abstain     question_id ends in _abs; the sessions it names do not answer it
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.bench.datasets import catalog
from assay.bench.datasets.chats import SESSION, ChatQuestions, ChatSession, SessionDocuments, Turn, parse_level
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import BOM, Place, check_id, decode, get_text, parse_id
from assay.bench.datasets.raw_dataset import RawDataset
from assay.bench.datasets.timestamps import parse_timestamp
from assay.bench.types import Topic
from assay.ingest.dates import abbreviate

ABSTENTION = "_abs"
Item = Mapping[str, Any]
_SessionAnswers = tuple[str, ChatSession, list[int]]
"""A session's id, the session under its document id, and the places of the turns that answer."""


def read(what: str) -> RawDataset:
    name, level = parse_level(what)
    path = catalog.locate(name)
    questions, names = ChatQuestions(), _DocumentIds()
    earliest: dict[str, float | None] = {}
    for place, item in read_items(path):
        sessions = list(_read_sessions(place, item, names))
        for _, session, _ in sessions:
            dates = (earliest.get(session.id), session.created)
            earliest[session.id] = min((date for date in dates if date is not None), default=None)
        _add_question(questions, place, item, sessions, level)
    return questions.source(path.stem, SessionDocuments(partial(_pool_sessions, path, earliest), level))


def _add_question(
    questions: ChatQuestions, place: Place, item: Item, sessions: list[_SessionAnswers], level: str
) -> None:
    topic = _parse_topic(place, item)
    answers = {check_id(str(name), place) for name in _get_list(item, "answer_session_ids", place)}
    if absent := answers - {name for name, _, _ in sessions}:
        raise DatasetError(
            f"{place}: answer session {min(absent)!r} is not in the haystack of {topic.id!r}", "mend that question"
        )
    answering_turns = [(session, turn) for _, session, answering in sessions for turn in answering]
    passages = [session.passage(turn, level, group) for group, (session, turn) in enumerate(answering_turns)]
    whole = [session.id for name, session, _ in sessions if name in answers]
    questions.ask(topic, whole if level == SESSION else [passage.doc_id for passage in passages], passages, place)
    if topic.id.endswith(ABSTENTION):
        questions.abstain.add(topic.id)


class _DocumentIds:
    """Assigns document ids to sessions: the session's id, or id~2 for another text under the same id."""

    def __init__(self) -> None:
        self._texts: dict[str, list[bytes]] = {}

    def of(self, name: str, text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        texts = self._texts.setdefault(name, [])
        if digest not in texts:
            texts.append(digest)
        version = texts.index(digest) + 1
        return name if version == 1 else f"{name}~{version}"


def read_items(path: Path) -> Iterator[tuple[Place, Item]]:
    """Yield the questions one by one. The file is held in memory as text, never as a whole tree of objects."""
    try:
        text = path.read_bytes().removeprefix(BOM).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}", "name the JSON file, in UTF-8") from error
    at, number = _skip_blanks(text, 0), 0
    if text[at : at + 1] != "[":
        raise DatasetError(f"{path} is no JSON list", "name a file that holds a list of questions")
    at = _skip_blanks(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        number += 1
        place = f"{path} item {number}"
        item, at = decode(text, at, place)
        if not isinstance(item, Mapping):
            raise DatasetError(f"{place} is {abbreviate(item)}, not a mapping", "mend the file")
        yield place, item
        at = _skip_blanks(text, at)
        if text[at : at + 1] == ",":
            at = _skip_blanks(text, at + 1)
    if text[at : at + 1] != "]":
        raise DatasetError(f"{path} ends in the middle, after item {number}", "get the file anew")


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _parse_topic(place: Place, item: Item) -> Topic:
    answer = item.get("answer")
    return Topic(
        id=parse_id(item, ("question_id",), place),
        text=get_text(item, "question", place),
        at=parse_timestamp(item.get("question_date")),
        meta={"type": get_text(item, "question_type", place, default="")}
        | ({"answer": answer} if isinstance(answer, str | int) else {}),
    )


def _read_sessions(place: Place, item: Item, names: _DocumentIds) -> Iterator[_SessionAnswers]:
    session_lists = _get_list(item, "haystack_sessions", place)
    ids = _get_list(item, "haystack_session_ids", place)
    dates = _get_list(item, "haystack_dates", place)
    if not len(session_lists) == len(ids) == len(dates):
        raise DatasetError(
            f"{place}: {len(session_lists)} sessions, {len(ids)} ids and {len(dates)} dates",
            "give each session one of each",
        )
    for name, date, session_turns in zip(map(str, ids), dates, session_lists, strict=True):
        parsed_turns = [
            _parse_turn(turn, place) for turn in (session_turns if isinstance(session_turns, list) else [session_turns])
        ]
        document = names.of(check_id(name, place), "\n".join(text for _, text, _ in parsed_turns))
        turns = tuple(
            Turn(f"{document}:{number}", text, {"role": role}) for number, (role, text, _) in enumerate(parsed_turns, 1)
        )
        session = ChatSession(
            document, str(date), turns, parse_timestamp(date), {"session": name, "session_id": document}
        )
        yield name, session, [number for number, (_, _, answers) in enumerate(parsed_turns) if answers]


def _parse_turn(turn: object, place: Place) -> tuple[str, str, bool]:
    """(role, "role: content", answers)."""
    if not isinstance(turn, Mapping):
        raise DatasetError(f"{place}: a turn is {abbreviate(turn)}", 'write {"role": "user", "content": "…"}')
    role = get_text(turn, "role", place)
    return role, f"{role}: {get_text(turn, 'content', place)}", turn.get("has_answer") is True


def _pool_sessions(path: Path, earliest: Mapping[str, float | None]) -> Iterator[tuple[Place, ChatSession]]:
    """Yield every session once, at its first occurrence, with its earliest date."""
    names = _DocumentIds()
    seen: set[str] = set()
    for place, item in read_items(path):
        for _, session, _ in _read_sessions(place, item, names):
            if session.id not in seen:
                seen.add(session.id)
                yield place, replace(session, created=earliest[session.id])


def _get_list(item: Item, name: str, place: Place) -> list[Any]:
    value = item.get(name)
    if not isinstance(value, list):
        raise DatasetError(f"{place}: {name!r} is {abbreviate(value)}", "give a list")
    return value
