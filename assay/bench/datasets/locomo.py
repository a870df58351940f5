"""LoCoMo (Maharana et al., 2024): questions about very long conversations between two people.

A JSON list of {"sample_id", "conversation": {"session_1": [{"speaker", "dia_id": "D1:3", "text", "blip_caption"}],
"session_1_date_time": "1:56 pm on 8 May, 2023", …}, "qa": [{"question", "answer", "evidence": ["D1:3"], "category"}]}.

    documents   session level: "conv-26:S1"; turn level: "conv-26:D1:3"
    relevant    the turns named as evidence, or their sessions; evidence that names no turn is left out, with a note
    where       a question is asked within its own conversation
    abstain     category 5, adversarial: the question swaps a fact, so the turns it names do not answer it
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.bench.datasets import find, rules
from assay.bench.datasets.chats import SESSION, ChatQuestion, ChatSession, Sessions, Turn, at_level
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, checked_id, mapping_of, read_json, text_of
from assay.bench.datasets.moments import moment
from assay.bench.datasets.source import RawDataset
from assay.bench.types import Topic
from assay.ingest.dates import brief

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")  # D1:3, and the slips D:1:3, D01:03 and "D1:3; D2:4" of the published file


def read(what: str) -> RawDataset:
    name, level = at_level(what)
    path = find.locate(name)
    found = read_json(path)
    if not isinstance(found, list):
        raise DatasetError(f"{path} is no JSON list", "name a file that holds a list of conversations")
    asked = ChatQuestion()
    sessions: list[tuple[Place, ChatSession]] = []
    lost = 0
    for number, item in enumerate(found, 1):
        place = f"{path} item {number}"
        if not isinstance(item, Mapping):
            raise DatasetError(f"{place} is {brief(item)}, not a mapping", "mend the file")
        conversation = checked_id(text_of(item, "sample_id", place), place)
        own = list(_sessions(item, conversation, place))
        sessions += ((place, session) for session in own)
        turns = {turn.id: (session, at) for session in own for at, turn in enumerate(session.turns)}
        for topic, named in _questions(item, conversation, place):
            held = [turns[turn] for turn in named if turn in turns]
            passages = [session.passage(at, level, group) for group, (session, at) in enumerate(held)]
            lost += len(named) - len(held)
            asked.ask(topic, (passage.doc_id for passage in passages), passages, place)
    notes = (f"{lost} pieces of evidence name no turn of their conversation",) if lost else ()
    return asked.source(path.stem, Sessions(lambda: iter(sessions), level), notes)


def _sessions(item: Mapping[str, Any], conversation: str, place: Place) -> Iterator[ChatSession]:
    talk = mapping_of(item, "conversation", place)
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        date = str(talk.get(f"session_{number}_date_time", ""))
        yield ChatSession(
            id=f"{conversation}:S{number}",
            title=f"{conversation} session {number} ({date})",
            turns=tuple(_turns(talk[f"session_{number}"], conversation, f"{place} session {number}")),
            created=moment(date),
            meta={rules.CONVERSATION: conversation, SESSION: number},
        )


def _turns(turns: object, conversation: str, place: Place) -> Iterator[Turn]:
    for turn in turns if isinstance(turns, list) else [turns]:
        if not isinstance(turn, Mapping):
            raise DatasetError(f"{place}: a turn is {brief(turn)}", 'write {"speaker", "dia_id", "text"}')
        speaker, caption = text_of(turn, "speaker", place), text_of(turn, "blip_caption", place, default="")
        text = f"{speaker}: {text_of(turn, 'text', place)}" + (f" [image: {caption}]" if caption else "")
        name = checked_id(f"{conversation}:{text_of(turn, 'dia_id', place)}", place)
        yield Turn(name, text, {"speaker": speaker})


def _questions(item: Mapping[str, Any], conversation: str, place: Place) -> Iterator[tuple[Topic, list[str]]]:
    """(question, ids of the turns named as its evidence)."""
    asked = item.get("qa")
    for number, row in enumerate(asked if isinstance(asked, list) else []):
        spot = f"{place} question {number}"
        if not isinstance(row, Mapping) or row.get("category") not in CATEGORIES:
            raise DatasetError(f"{spot} is {brief(row)}", f"give it a category from 1 to {max(CATEGORIES)}")
        meta = {rules.CONVERSATION: conversation, "type": CATEGORIES[row["category"]]}
        if isinstance(row.get("answer"), str | int):
            meta["answer"] = str(row["answer"])
        name, where = f"{conversation}:q{number}", rules.restriction(meta)
        said = row.get("evidence") or []
        pairs = (pair for text in (said if isinstance(said, list) else [said]) for pair in _TURN.findall(str(text)))
        turns = dict.fromkeys(f"{conversation}:D{int(session)}:{int(turn)}" for session, turn in pairs)
        yield Topic(name, text_of(row, "question", spot), where=where, meta=meta), list(turns)
