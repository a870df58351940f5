"""Samples are stratified and reproducible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.datasets import DatasetError, load, sample
from assay.bench.datasets.sample import allocate

SIZES = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 50), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("sizes", "n", "expected"),
    [
        ({"a": 50, "b": 50}, 10, {"a": 5, "b": 5}),
        ({"a": 70, "b": 20, "c": 10}, 10, {"a": 7, "b": 2, "c": 1}),
        ({"a": 1, "b": 1, "c": 1}, 2, {"a": 1, "b": 1, "c": 0}),
        ({"a": 97, "b": 2, "c": 1}, 10, {"a": 8, "b": 1, "c": 1}),
        ({"a": 3, "b": 2}, 9, {"a": 3, "b": 2}),
    ],
)
def test_shares(sizes: dict[str, int], n: int, expected: dict[str, int]) -> None:
    assert allocate(sizes, n) == expected


@given(SIZES, st.integers(1, 200))
def test_shares_add_up(sizes: dict[str, int], n: int) -> None:
    given_out = allocate(sizes, n)
    assert sum(given_out.values()) == min(n, sum(sizes.values()))
    assert all(0 <= given_out[group] <= sizes[group] for group in sizes)
    if n >= len(sizes):
        assert all(given_out.values())


def test_a_sample_keeps_documents_and_restricts_questions() -> None:
    whole = load("tiny", "all")
    found = load("tiny", "all~12")
    assert found.document_count == whole.document_count
    assert (found.split, len(found.topics), len(found.abstain)) == ("all~12", 12, 2)
    assert {len(places) for places in found.strata().values()} == {2}
    assert all(found.judgements[name] == whole.judgements[name] for name in found.scored)
    assert set(found.evidence) == set(found.scored)
    assert found.notes == ("12 of 24 questions, by strata, seed 0",)
    assert found.digest != whole.digest


def test_the_same_seed_the_same_questions() -> None:
    assert load("tiny", "all~12").digest == sample(load("tiny", "all"), 12).digest
    other = load("tiny", "all~12~1")
    assert other.split == "all~12~1"
    assert set(other.topics) != set(load("tiny", "all~12").topics)


def test_no_sample_of_nothing() -> None:
    with pytest.raises(DatasetError, match="a sample of 0 questions"):
        load("tiny", "test~0")
