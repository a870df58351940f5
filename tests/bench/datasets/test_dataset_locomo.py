"""LoCoMo files: conversations, sessions and turns, adversarial questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.bench.datasets import DatasetError, load
from assay.bench.datasets.timestamps import parse_timestamp

CONVERSATION = {
    "speaker_a": "Ada",
    "speaker_b": "Bo",
    "session_2_date_time": "12:05 am on 9 May, 2023",
    "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "My cat is called Miso."}],
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ada", "dia_id": "D1:1", "text": "Hello Bo!"},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "Look.", "blip_caption": "a photo of a boat"},
        {"speaker": "Ada", "dia_id": "D1:3", "text": "I paint boats."},
    ],
}
QUESTIONS = [
    {"question": "What does Ada paint?", "answer": "boats", "evidence": ["D1:3"], "category": 4},
    {"question": "Who has what?", "answer": 2, "evidence": ["D1:02; D:2:1", "D1:3"], "category": 1},
    {"question": "What is Ada's cat called?", "adversarial_answer": "Miso", "evidence": ["D2:1"], "category": 5},
    {"question": "What is open?", "answer": "all", "evidence": [], "category": 3},
    {"question": "When was it?", "answer": "May", "evidence": ["D9:9"], "category": 2},
]
ITEM = {"sample_id": "conv-1", "conversation": CONVERSATION, "qa": QUESTIONS}


def _file(folder: Path, items: Any) -> str:
    path = folder / "loco.json"
    path.write_text(json.dumps(items), "utf-8")
    return f"locomo:{path}"


def test_sessions_in_order_with_their_dates(tmp_path: Path) -> None:
    found = load(_file(tmp_path, [ITEM]), "all")
    first, second = found.documents
    assert first == {
        "id": "conv-1:S1",
        "title": "conv-1 session 1 (1:56 pm on 8 May, 2023)",
        "text": "Ada: Hello Bo!\nBo: Look. [image: a photo of a boat]\nAda: I paint boats.",
        "created": parse_timestamp("2023-05-08T13:56"),
        "metadata": {"conversation": "conv-1", "session": 1},
    }
    assert (second["id"], second["created"]) == ("conv-1:S2", parse_timestamp("2023-05-09T00:05"))
    assert found.judgements == {"conv-1:q0": {"conv-1:S1": 1}, "conv-1:q1": {"conv-1:S1": 1, "conv-1:S2": 1}}
    passages = found.evidence["conv-1:q1"]
    assert [first["text"][p.start : p.end] for p in passages if p.doc_id == "conv-1:S1"] == [
        "Bo: Look. [image: a photo of a boat]",
        "Ada: I paint boats.",
    ]


def test_turns(tmp_path: Path) -> None:
    found = load(_file(tmp_path, [ITEM]) + "#turn", "all")
    assert [record["id"] for record in found.documents] == ["conv-1:D1:1", "conv-1:D1:2", "conv-1:D1:3", "conv-1:D2:1"]
    assert found.judgements["conv-1:q1"] == {"conv-1:D1:2": 1, "conv-1:D2:1": 1, "conv-1:D1:3": 1}
    assert list(found.documents)[3]["metadata"] == {"conversation": "conv-1", "session": 2, "speaker": "Bo"}


def test_adversarial_questions_abstain_and_all_stay_in_their_conversation(tmp_path: Path) -> None:
    found = load(_file(tmp_path, [ITEM]), "all")
    assert found.abstain == {"conv-1:q2"}
    assert {topic.where for topic in found.topics.values()} == {'conversation = "conv-1"'}
    assert found.topics["conv-1:q0"].meta["type"] == "single-hop"
    assert found.notes == (
        "1 pieces of evidence name no turn of their conversation",
        "2 queries have no judgement and are left out",
    )


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ({}, "loco.json is no JSON list"),
        (["x"], "item 1 is 'x', not a mapping"),
        ([{**ITEM, "sample_id": None}], "item 1 has no 'sample_id'"),
        ([{**ITEM, "conversation": 3}], "item 1: 'conversation' is 3"),
        ([{**ITEM, "conversation": {"session_1": ["hi"]}}], "item 1 session 1: a turn is 'hi'"),
        ([{**ITEM, "conversation": {"session_1": [{"speaker": "A", "text": "x"}]}}], "session 1 has no 'dia_id'"),
        ([{**ITEM, "qa": [{"question": "x", "category": 6}]}], "item 1 question 0 is .*"),
        ([{**ITEM, "qa": [{"category": 1}]}], "item 1 question 0 has no 'question'"),
        ([ITEM, ITEM], "question 'conv-1:q0' again"),
        ([{**ITEM, "qa": []}], "has no queries"),
    ],
)
def test_bad_files_are_named(items: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=complaint):
        load(_file(tmp_path, items), "all")
