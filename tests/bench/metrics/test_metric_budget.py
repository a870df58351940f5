"""Evidence in a budget: hand-computed values, equivalent passages, conflicts, topics without evidence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.metrics import BUDGETS, DEFAULTS, MetricError, default_metrics, score
from assay.bench.types import Dataset, Evidence, Piece, Topic, TopicResult
from assay.text.token_count import count_tokens

RULE = "Keys rotate every ninety days."
OWNER = "The platform team owns rotation."
TWIN = "Keys rotate every thirty days."


def chunk(text: str, document: str = "d") -> Piece:
    return Piece(document, text, count_tokens(text))


def dataset(evidence: Sequence[Evidence], **meta: Any) -> Dataset:
    topics = {"q": Topic("q", meta=meta)}
    return Dataset(
        "d", "test", "0", "human", (), 1, topics, {"q": {"d": 1}}, {"q": tuple(evidence)} if evidence else {}
    )


def at(text: str, group: int, start: int = 0, document: str = "d") -> Evidence:
    return Evidence(document, start, start + len(text), text, group)


def values(data: Dataset, pieces: Sequence[Piece], budget: int = 400, failed: str = "") -> dict[str, float]:
    names = [f"{measure}@{budget}" for measure in ("ER", "EP", "A", "A_strict")]
    found = score(names, data, [TopicResult("q", ("d",), (1.0,), tuple(pieces), failed)])
    return {name.partition("@")[0]: float(column[0]) for name, column in found.items()}


TWO = dataset([at(RULE, 0), at(OWNER, 1, start=100)])


def test_hand_computed() -> None:
    other = chunk("Nothing to see here, move along.")
    found = values(TWO, [chunk(RULE), other])
    assert found == {
        "ER": 0.5,
        "EP": count_tokens(RULE) / (count_tokens(RULE) + other.tokens),
        "A": 0.0,
        "A_strict": 0.0,
    }
    assert values(TWO, [chunk(RULE), chunk(OWNER)]) == {"ER": 1.0, "EP": 1.0, "A": 1.0, "A_strict": 1.0}


def test_the_budget_decides() -> None:
    pieces = [chunk(RULE), chunk(OWNER)]
    tokens = sum(piece.tokens for piece in pieces)
    assert values(TWO, pieces, tokens)["A"] == 1.0
    assert values(TWO, pieces, tokens - 1)["ER"] == 0.5
    assert values(TWO, pieces, 1) == {"ER": 0.0, "EP": 0.0, "A": 0.0, "A_strict": 0.0}


def test_a_fact_said_twice_is_one_fact_and_its_second_saying_is_ballast() -> None:
    longer = "Keys, it says here again, rotate every ninety days."
    data = dataset([at(RULE, 0), at(longer, 0, document="e")])
    both = [chunk(RULE), chunk(longer, "e")]
    assert values(data, both[1:]) == {"ER": 1.0, "EP": 1.0, "A": 1.0, "A_strict": 1.0}
    assert values(data, both)["EP"] == count_tokens(RULE) / sum(piece.tokens for piece in both)


def test_the_same_chunk_twice_does_not_double_its_evidence() -> None:
    assert values(dataset([at(RULE, 0)]), [chunk(RULE), chunk(RULE)])["EP"] == 0.5


def test_passages_that_overlap_count_their_common_words_once() -> None:
    text = "Keys rotate every ninety days and the platform team owns that."
    halves = [Evidence("d", 0, 29, text[:29], 0), Evidence("d", 12, len(text), text[12:], 1)]
    within = [Evidence("d", 0, len(text), text, 0), Evidence("d", 5, 11, text[5:11], 1)]
    assert values(dataset(halves), [chunk(text)])["EP"] == 1.0
    assert values(dataset(within), [chunk(text)])["EP"] == 1.0
    inner = [*within, Evidence("d", 20, 28, text[20:28], 2)]
    other = chunk("Nothing to see here, move along.")
    assert values(dataset(inner), [chunk(text), other])["EP"] == count_tokens(text) / (
        count_tokens(text) + other.tokens
    )


def test_a_twin_spoils_a_strict_answer() -> None:
    data = dataset([at(RULE, 0)], conflicts=[TWIN])
    spoilt = values(data, [chunk(RULE), chunk(f"In   2019: {TWIN}", "e")])
    assert (spoilt["A"], spoilt["A_strict"]) == (1.0, 0.0)
    assert values(data, [chunk(RULE)])["A_strict"] == 1.0


def test_a_twin_beside_its_header_does_no_harm() -> None:
    data = dataset([at(RULE, 0)], conflicts=[{"text": TWIN, "header": "Version 1"}])
    assert values(data, [chunk(RULE), chunk(f"Version 1\n{TWIN}", "e")])["A_strict"] == 1.0
    assert values(data, [chunk(RULE), chunk(TWIN, "e"), chunk("Version 1", "e")])["A_strict"] == 0.0


def test_a_twin_outside_the_budget_does_no_harm() -> None:
    data = dataset([at(RULE, 0)], conflicts=[TWIN])
    assert values(data, [chunk(RULE), chunk(TWIN, "e")], chunk(RULE).tokens)["A_strict"] == 1.0


@pytest.mark.parametrize(
    "conflicts", ["a text", 3, [""], [3], [{"header": "x"}], [{"text": "x", "header": 3}], {"text": "x"}]
)
def test_conflicts_that_cannot_be_read_are_refused(conflicts: Any) -> None:
    with pytest.raises(MetricError, match="topic 'q' has conflicts"):
        values(dataset([at(RULE, 0)], conflicts=conflicts), [])


def test_without_evidence_there_is_no_value_and_a_failure_is_a_zero() -> None:
    assert all(np.isnan(value) for value in values(dataset([]), [chunk(RULE)]).values())
    assert set(values(TWO, [chunk(RULE)], failed="timed out").values()) == {0.0}
    assert set(values(TWO, []).values()) == {0.0}


def test_the_defaults_of_a_dataset_with_evidence_have_budgets() -> None:
    assert default_metrics(TWO) == DEFAULTS + BUDGETS
    assert default_metrics(dataset([])) == DEFAULTS


sentences = st.sampled_from([RULE, OWNER, TWIN, "Nothing.", "Keys rotate", "every ninety days."])


@given(st.lists(st.tuples(sentences, st.sampled_from("de")), max_size=8), st.integers(1, 60))
def test_laws(drawn: list[tuple[str, str]], budget: int) -> None:
    data = dataset([at(RULE, 0), at(RULE, 0, document="e"), at(OWNER, 1, start=100)], conflicts=[TWIN])
    found = values(data, [chunk(text, document) for text, document in drawn], budget)
    assert all(0.0 <= value <= 1.0 for value in found.values())
    assert found["A"] == float(found["ER"] == 1.0)
    assert found["A_strict"] <= found["A"]
    assert (found["EP"] > 0.0) == (found["ER"] > 0.0)


def test_a_packed_context_takes_the_place_of_the_pieces() -> None:
    packed = {400: (Piece("d", OWNER, 9),)}
    result = TopicResult("q", ("d",), (1.0,), (chunk(RULE), chunk(OWNER)), contexts=packed)
    found = score(["ER@400", "EP@400", "A@800"], TWO, [result])
    assert [column[0] for column in found.values()] == [0.5, count_tokens(OWNER) / 9, 1.0]


def test_a_header_of_a_packer_identifies_a_conflict() -> None:
    data = dataset([at(RULE, 0)], conflicts=[{"text": TWIN, "header": "v1"}])
    packed = {400: (chunk(RULE), Piece("d", TWIN, 8, "Keys · v1"))}
    (column,) = score(["A_strict@400"], data, [TopicResult("q", ("d",), (1.0,), contexts=packed)]).values()
    assert column[0] == 1.0
    packed = {400: (chunk(RULE), Piece("d", TWIN, 8, "Keys · v2"))}
    (column,) = score(["A_strict@400"], data, [TopicResult("q", ("d",), (1.0,), contexts=packed)]).values()
    assert column[0] == 0.0


@pytest.mark.parametrize(
    ("meta", "value"),
    [
        ({"answer": "Ninety days"}, 1.0),
        ({"answers": ["a year", "the ninety  days!"]}, 1.0),
        ({"answers": ["inety"]}, 0.0),
        ({"answer": "yes"}, None),
        ({"answers": []}, None),
        ({"answer": 12}, None),
        ({}, None),
    ],
)
def test_answer_in_context(meta: dict[str, Any], value: float | None) -> None:
    (column,) = score(
        ["AIC@400"], dataset([at(RULE, 0)], **meta), [TopicResult("q", ("d",), (1.0,), (chunk(RULE),))]
    ).values()
    assert np.isnan(column[0]) if value is None else column[0] == value
