"""Question metadata: abstention, conversation filter, strata, labels."""

from pathlib import Path
from typing import Any

import pytest
from dataset_folder import write

from assay import where
from assay.bench.datasets import load
from assay.bench.datasets.question_metadata import (
    conversation_filter,
    is_unanswerable,
    least_trusted,
    list_strata,
    parse_label,
    select_strata_fields,
)
from assay.bench.types import Topic


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"is_impossible": True}, True),
        ({"is_impossible": False}, False),
        ({"is_impossible": 1}, False),
        ({"answerable": False}, True),
        ({"answerable": True}, False),
        ({"abstain": True}, True),
        ({"type": "null_query"}, True),
        ({"type": "adversarial", "category": 5}, True),
        ({"kind": "unanswerable"}, True),
        ({"type": ["null_query"]}, False),
        ({"type": "temporal"}, False),
        ({"topic": "null_query"}, False),
        ({}, False),
    ],
)
def test_what_nothing_answers(meta: dict[str, Any], expected: bool) -> None:
    assert is_unanswerable(meta) is expected


@pytest.mark.parametrize("name", ["conv-26", 'say "hi"', "back\\slash", "Küche"])
def test_a_question_is_asked_within_its_conversation(name: str) -> None:
    assert where.parse(conversation_filter({"conversation": name})) == where.Compare("conversation", "=", name)


def test_without_a_conversation_nothing_is_restricted() -> None:
    assert (
        conversation_filter({})
        == conversation_filter({"conversation": ""})
        == conversation_filter({"conversation": 3})
        == ""
    )


def _topics(**columns: list[Any]) -> list[Topic]:
    rows = zip(*columns.values(), strict=True)
    return [Topic(f"q{n}", meta=dict(zip(columns, row, strict=True))) for n, row in enumerate(rows)]


def test_strata_are_fields_of_few_values() -> None:
    topics = _topics(
        type=["a", "a", "b", "b"],
        hard=[True, False, False, False],
        every=["x"] * 4,
        id=list("wxyz"),
        tags=[["t"], ["t"], ["u"], ["u"]],
        label=["weak", "weak", "auto", "auto"],
        split=["dev", "test", "dev", "test"],
        share=[0.5, 0.5, 1.0, 1.0],
    )
    assert select_strata_fields(topics) == ("hard", "type")
    assert list_strata(topics[0].meta, ("hard", "type")) == ("hard=true", "type=a")
    assert list_strata({"type": "c"}, ("hard", "type")) == ("type=c",)


def test_of_two_fields_that_divide_alike_the_words_stay() -> None:
    assert select_strata_fields(_topics(category=[1, 1, 2, 2], type=["a", "a", "b", "b"])) == ("type",)
    assert select_strata_fields(_topics(category=[1, 1, 2, 2], type=["a", "b", "b", "a"])) == ("category", "type")


def test_thirteen_values_are_too_many() -> None:
    assert select_strata_fields(_topics(n=[*range(12)] * 2)) == ("n",)
    assert select_strata_fields(_topics(n=[*range(13)] * 2)) == ()


@pytest.mark.parametrize(
    ("text", "expected"), [("weak", "weak"), ("human annotation", "human"), ("SUPPORT", None), ("", None), (3, None)]
)
def test_labels(text: object, expected: str | None) -> None:
    assert parse_label(text) == expected


def test_mixed_labels_take_the_least_trusted_and_say_so(tmp_path: Path) -> None:
    queries = [{"_id": "q1", "text": "x", "metadata": {"label": "auto"}}, {"_id": "q2", "text": "x"}]
    folder = write(tmp_path / "m", queries=queries, judgements={"test": [("q1", "d1", 1), ("q2", "d2", 1)]})
    found = load(str(folder), "all")
    assert (found.label, found.notes) == ("unstated", ("labels are mixed: auto, unstated",))
    (folder / "meta.json").write_text('{"label": "synthetic"}')
    assert load(str(folder), "all").label == "synthetic"
    assert least_trusted([]) == "unstated"


def test_judgements_of_an_unanswerable_question_are_not_scored(tmp_path: Path) -> None:
    queries = [{"_id": "q1", "text": "x"}, {"_id": "q2", "text": "y", "metadata": {"type": "adversarial"}}]
    rows = [{"query_id": "q2", "doc_id": "d2", "sentence": 0}]
    folder = write(
        tmp_path / "a", queries=queries, judgements={"test": [("q1", "d1", 1), ("q2", "d2", 1)]}, evidence=rows
    )
    found = load(str(folder), "all")
    assert found.judgements == {"q1": {"d1": 1}}
    assert (found.abstain, found.scored, found.evidence) == ({"q2"}, ("q1",), {})
