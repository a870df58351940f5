"""The measurements: coverage, unknown words, speakers, demand; by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from assay import kb
from assay.answerability.demand import estimate_demand
from assay.answerability.evidence import TermTable, collect_evidence, weigh_terms
from assay.answerability.judge import EvidenceMeasures, measure
from assay.answerability.question import read_question
from assay.answerability.speakers import read_labels
from assay.text.token_count import count_tokens


def table() -> TermTable:
    holds = np.array([[True, True, False], [False, True, False]])
    return TermTable(np.array([4, 5, 6]), ("key", "vault"), holds, {"key": 1.0, "vault": 3.0})


def test_coverage_by_hand() -> None:
    assert table().coverage(frozenset({"key", "vault"})).tolist() == [0.25, 1.0, 0.0]
    assert table().coverage(frozenset({"vault"})).tolist() == [0.0, 1.0, 0.0]
    assert table().coverage(frozenset()).tolist() == [1.0, 1.0, 1.0]


def test_rows_that_hold_all_terms() -> None:
    assert table().find_rows(frozenset({"key"})).tolist() == [True, True, False]
    assert table().find_rows(frozenset({"key", "vault"})).tolist() == [False, True, False]
    assert table().find_rows(frozenset({"key", "absent"})).tolist() == [False, False, False]


def measured(texts: Sequence[str], question: str, folder: Path) -> EvidenceMeasures:
    with kb.open(folder / "kb", embedder="none") as base:
        base.add(texts)
        answer = base.search(question, pipeline="bm25")
        return measure(answer.query, weigh_terms(answer.query, answer.snapshot), answer.snapshot, answer.trace, 400)


def test_names_are_runs_of_capitals_codes_and_hyphens(tmp_path: Path) -> None:
    texts = ["Port Logistics uses juniper-reader since 2024."]
    found = measured(texts, "Which version of juniper-reader did Port Logistics run on 2024-05-01?", tmp_path)
    assert found.question.name_texts == ("juniper-reader", "Port Logistics")
    assert not any("2024" in word.text for word in found.question.words)  # a date binds, it is no content


def test_the_first_word_of_a_question_is_no_name(tmp_path: Path) -> None:
    assert measured(["Rotate the key."], "Rotate keys with Anna", tmp_path).question.name_texts == ("Anna",)


def test_unknown_words_weigh_most(tmp_path: Path) -> None:
    texts = [f"The kitchen closes at {hour}." for hour in (5, 6, 7)] + ["The vault opens at nine."]
    values = measured(texts, "kitchen zorbflax", tmp_path).scope_values
    # idf of a term that 3 of 4 chunks hold, and of one that none holds: ln(1 + (N − n + ½) / (n + ½))
    known, unknown = np.log(1 + 1.5 / 3.5), np.log(1 + 4.5 / 0.5)
    assert values["unknown"] == pytest.approx(unknown / (known + unknown))
    assert values["uncovered"] == pytest.approx(unknown / (known + unknown))
    assert values["identifier"] == values["name"] == values["distance"] == 0.0


def test_a_word_is_unknown_only_if_no_chunk_holds_it(tmp_path: Path) -> None:
    """The chunk with the rare word is not among the candidates, which are the first of many; it is looked up."""
    texts = [f"kitchen kitchen kitchen number {n}" for n in range(60)] + ["cellar " + "filler " * 400]
    found = measured(texts, "kitchen cellar attic", tmp_path)
    assert [word.text for word in found.evidence.unknown] == ["attic"]


TRANSCRIPT = [
    "Anna: I planted tomatoes in the garden last spring.",
    "Anna: Tomatoes need sun, my garden has it.",
    "Anna: The garden tomatoes won a prize.",
    "Ben: Hi Anna! I repaired the old motorcycle.",
    "Ben: The motorcycle engine is loud, Anna.",
    "Ben: I sold a motorcycle to my cousin.",
]


@pytest.mark.parametrize(("who", "sign"), [("Ben", 1.0), ("Anna", -1.0)])
def test_what_somebody_else_said_is_a_gap(tmp_path: Path, who: str, sign: float) -> None:
    found = measured(TRANSCRIPT, f"Why did {who} plant tomatoes in the garden?", tmp_path)
    assert found.scope_values["speaker"] * sign > 0.2


def test_no_gap_without_a_transcript(tmp_path: Path) -> None:
    texts = [text.split(": ", 1)[1] for text in TRANSCRIPT]
    assert measured(texts, "Why did Ben plant tomatoes?", tmp_path).scope_values["speaker"] == 0.0


def test_labels() -> None:
    texts = [
        "Anna: hello",
        "Dr. Ben Ho: yes",
        "no label here",
        "https://example.org is down",
        "12: 30",
        "小明：你好",
        "Anna:",
    ]
    assert read_labels(texts) == ["Anna", "Dr. Ben Ho", "", "", "", "小明", ""]


def test_demand_lies_between_the_names_and_the_words(tmp_path: Path) -> None:
    """Nine chunks hold the name, four of them the other word: √(9 · 4) = 6 of them."""
    texts = [f"Larch-engine error {n}." for n in range(4)] + [f"Larch-engine note {n}." for n in range(5)]
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(texts)
        answer = base.search("List all errors of larch-engine", pipeline="bm25")
        weights = weigh_terms(answer.query, answer.snapshot)
        question = read_question(answer.query, answer.snapshot, weights)
        evidence = collect_evidence(answer.query, question, weights, answer.snapshot, answer.trace)
        demand = estimate_demand(answer.query, question, dict(evidence.table.weights), answer.snapshot)
    assert (demand.chunks, demand.most_chunks) == (6, 9)
    each = sum(map(count_tokens, texts)) / 9
    assert demand.tokens == round(6 * each)
    assert demand.most_tokens == round(9 * each)
