"""LongMemEval files: sessions and turns, one pool, dates, abstention."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from assay.bench.datasets import DatasetError, load
from assay.bench.datasets.timestamps import parse_timestamp

BIKE = [
    {"role": "user", "content": "I bought a red bike today."},
    {"role": "assistant", "content": "Lovely! What is it called?"},
    {"role": "user", "content": "It is called Rosso.", "has_answer": True},
]
TEA = [{"role": "user", "content": "Which tea keeps me awake?"}, {"role": "assistant", "content": "Black tea."}]
MOVE = [{"role": "user", "content": "I moved to Bergen.", "has_answer": True}]


def _item(name: str, kind: str, date: str, sessions: dict[str, tuple[str, Any]], answers: list[str]) -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": kind,
        "question": f"What of {name}?",
        "answer": "Rosso",
        "question_date": date,
        "haystack_session_ids": list(sessions),
        "haystack_dates": [when for when, _ in sessions.values()],
        "haystack_sessions": [talk for _, talk in sessions.values()],
        "answer_session_ids": answers,
    }


ITEMS = [
    _item(
        "bike",
        "single-session-user",
        "2023/05/30 (Tue) 10:00",
        {"s-tea": ("2023/05/02 (Tue) 09:00", TEA), "s-bike": ("2023/05/20 (Sat) 11:17", BIKE)},
        ["s-bike"],
    ),
    _item(
        "home",
        "knowledge-update",
        "2023/06/30 (Fri) 10:00",
        {"s-move": ("2023/06/01 (Thu) 08:00", MOVE), "s-tea": ("2023/04/01 (Sat) 09:00", TEA)},
        ["s-move"],
    ),
    _item(
        "boat_abs",
        "single-session-user",
        "2023/05/30 (Tue) 10:00",
        {"s-bike": ("2023/05/20 (Sat) 11:17", BIKE)},
        ["s-bike"],
    ),
]


def _file(folder: Path, items: Any = ITEMS) -> str:
    path = folder / "lme.json"
    path.write_text(json.dumps(items, indent=1), "utf-8")
    return f"longmemeval:{path}"


def test_sessions_are_pooled_once_with_their_earliest_date(tmp_path: Path) -> None:
    found = load(_file(tmp_path), "all")
    assert (found.name, found.source) == ("lme-session", "longmemeval:lme.json")
    assert [(record["id"], record["created"]) for record in found.documents] == [
        ("s-tea", parse_timestamp("2023-04-01T09:00")),
        ("s-bike", parse_timestamp("2023-05-20T11:17")),
        ("s-move", parse_timestamp("2023-06-01T08:00")),
    ]
    assert next(iter(found.documents))["text"] == "user: Which tea keeps me awake?\nassistant: Black tea."
    assert found.judgements == {"bike": {"s-bike": 1}, "home": {"s-move": 1}}


def test_the_answering_turn_is_a_passage_of_its_session(tmp_path: Path) -> None:
    found = load(_file(tmp_path), "all")
    (passage,) = found.evidence["bike"]
    texts = {record["id"]: record["text"] for record in found.documents}
    assert passage.text == "user: It is called Rosso."
    assert texts["s-bike"][passage.start : passage.end] == passage.text


def test_turns(tmp_path: Path) -> None:
    found = load(_file(tmp_path) + "#turn", "all")
    assert [record["id"] for record in found.documents] == [
        "s-tea:1",
        "s-tea:2",
        "s-bike:1",
        "s-bike:2",
        "s-bike:3",
        "s-move:1",
    ]
    assert found.judgements == {"bike": {"s-bike:3": 1}, "home": {"s-move:1": 1}}
    assert [(p.doc_id, p.start, p.text) for p in found.evidence["home"]] == [
        ("s-move:1", 0, "user: I moved to Bergen.")
    ]
    assert list(found.documents)[1]["metadata"] == {"session": "s-tea", "session_id": "s-tea", "role": "assistant"}


@pytest.mark.parametrize("level", ["session", "turn"])
def test_a_question_is_asked_at_its_date_and_may_have_no_answer(level: str, tmp_path: Path) -> None:
    found = load(f"{_file(tmp_path)}#{level}", "all")
    assert found.abstain == {"boat_abs"}
    assert found.topics["bike"].at == parse_timestamp("2023-05-30T10:00")
    assert found.topics["bike"].meta["type"] == "single-session-user"
    assert not any("_abs" in name for name in (*found.judgements, *found.evidence))


def test_one_id_with_two_texts_makes_two_documents(tmp_path: Path) -> None:
    items = deepcopy(ITEMS)
    items[1]["haystack_session_ids"] = ["s-bike", "s-tea"]
    items[1]["answer_session_ids"] = ["s-bike"]
    found = load(_file(tmp_path, items), "all")
    assert [record["id"] for record in found.documents] == ["s-tea", "s-bike", "s-bike~2"]
    assert found.judgements == {"bike": {"s-bike": 1}, "home": {"s-bike~2": 1}}


def _changed(**changes: Any) -> list[dict[str, Any]]:
    return [{**ITEMS[0], **changes}, *ITEMS[1:]]


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ({}, "lme.json is no JSON list"),
        ([3], "lme.json item 1 is 3, not a mapping"),
        ([], "lme-session has no queries"),
        (_changed(question=None), "item 1 has no 'question'"),
        (_changed(question_id=None), "item 1 has no 'question_id'"),
        (_changed(haystack_dates=["2023/05/02"]), "item 1: 2 sessions, 2 ids and 1 dates"),
        (_changed(haystack_sessions=3), "item 1: 'haystack_sessions' is 3"),
        (_changed(haystack_sessions=[TEA, ["hello"]]), "item 1: a turn is 'hello'"),
        (_changed(haystack_sessions=[TEA, [{"role": "user"}]]), "item 1 has no 'content'"),
        (_changed(answer_session_ids=["s-boat"]), "item 1: answer session 's-boat' is not in the haystack of 'bike'"),
        ([*ITEMS, ITEMS[0]], "item 4: question 'bike' again"),
    ],
)
def test_bad_files_are_named(items: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=complaint):
        load(_file(tmp_path, items), "all")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[{", "item 1 is no JSON"),
        ("[", "ends in the middle, after item 0"),
        ("", "is no JSON list"),
        ("[1 2]", "item 1 is 1"),
    ],
)
def test_half_a_file_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text(text)
    with pytest.raises(DatasetError, match=complaint):
        load(f"longmemeval:{tmp_path / 'half.json'}")


def test_an_unknown_level_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no level 'sesion'") as error:
        load(_file(tmp_path) + "#sesion")
    assert error.value.cure == "did you mean 'session'? known: session, turn"
