"""Reads LoCoMo (Maharana et al., 2024): questions about very long conversations between two people.

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

from assay.bench.datasets import catalog, question_metadata
from assay.bench.datasets.chats import SESSION, ChatQuestions, ChatSession, SessionDocuments, Turn, parse_level
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, check_id, get_mapping, get_text, read_json
from assay.bench.datasets.raw_dataset import RawDataset
from assay.bench.datasets.timestamps import parse_timestamp
from assay.bench.types import Topic
from assay.ingest.dates import abbreviate

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")  # D1:3, and the slips D:1:3, D01:03 and "D1:3; D2:4" of the published file


def read(what: str) -> RawDataset:
    name, level = parse_level(what)
    path = catalog.locate(name)
    found = read_json(path)
    if not isinstance(found, list):
        raise DatasetError(f"{path} is no JSON list", "name a file that holds a list of conversations")
    questions = ChatQuestions()
    sessions: list[tuple[Place, ChatSession]] = []
    missing = 0
    for number, item in enumerate(found, 1):
        place = f"{path} item {number}"
        if not isinstance(item, Mapping):
            raise DatasetError(f"{place} is {abbreviate(item)}, not a mapping", "mend the file")
        conversation = check_id(get_text(item, "sample_id", place), place)
        own = list(_read_sessions(item, conversation, place))
        sessions += ((place, session) for session in own)
        turns = {turn.id: (session, at) for session in own for at, turn in enumerate(session.turns)}
        for topic, turn_ids in _read_questions(item, conversation, place):
            evidence_turns = [turns[turn] for turn in turn_ids if turn in turns]
            passages = [session.passage(at, level, group) for group, (session, at) in enumerate(evidence_turns)]
            missing += len(turn_ids) - len(evidence_turns)
            questions.ask(topic, (passage.doc_id for passage in passages), passages, place)
    notes = (f"{missing} pieces of evidence name no turn of their conversation",) if missing else ()
    return questions.source(path.stem, SessionDocuments(lambda: iter(sessions), level), notes)


def _read_sessions(item: Mapping[str, Any], conversation: str, place: Place) -> Iterator[ChatSession]:
    conversation_fields = get_mapping(item, "conversation", place)
    numbers = sorted(int(found[1]) for key in conversation_fields if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        date = str(conversation_fields.get(f"session_{number}_date_time", ""))
        yield ChatSession(
            id=f"{conversation}:S{number}",
            title=f"{conversation} session {number} ({date})",
            turns=tuple(
                _read_turns(conversation_fields[f"session_{number}"], conversation, f"{place} session {number}")
            ),
            created=parse_timestamp(date),
            meta={question_metadata.CONVERSATION: conversation, SESSION: number},
        )


def _read_turns(turns: object, conversation: str, place: Place) -> Iterator[Turn]:
    for turn in turns if isinstance(turns, list) else [turns]:
        if not isinstance(turn, Mapping):
            raise DatasetError(f"{place}: a turn is {abbreviate(turn)}", 'write {"speaker", "dia_id", "text"}')
        speaker, caption = get_text(turn, "speaker", place), get_text(turn, "blip_caption", place, default="")
        text = f"{speaker}: {get_text(turn, 'text', place)}" + (f" [image: {caption}]" if caption else "")
        name = check_id(f"{conversation}:{get_text(turn, 'dia_id', place)}", place)
        yield Turn(name, text, {"speaker": speaker})


def _read_questions(item: Mapping[str, Any], conversation: str, place: Place) -> Iterator[tuple[Topic, list[str]]]:
    """Yield (question, ids of the turns named as its evidence)."""
    rows = item.get("qa")
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        spot = f"{place} question {number}"
        if not isinstance(row, Mapping) or row.get("category") not in CATEGORIES:
            raise DatasetError(f"{spot} is {abbreviate(row)}", f"give it a category from 1 to {max(CATEGORIES)}")
        meta = {question_metadata.CONVERSATION: conversation, "type": CATEGORIES[row["category"]]}
        if isinstance(row.get("answer"), str | int):
            meta["answer"] = str(row["answer"])
        name, where = f"{conversation}:q{number}", question_metadata.conversation_filter(meta)
        evidence = row.get("evidence") or []
        pairs = (
            pair
            for text in (evidence if isinstance(evidence, list) else [evidence])
            for pair in _TURN.findall(str(text))
        )
        turns = dict.fromkeys(f"{conversation}:D{int(session)}:{int(turn)}" for session, turn in pairs)
        yield Topic(name, get_text(row, "question", spot), where=where, meta=meta), list(turns)
