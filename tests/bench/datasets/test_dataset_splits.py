"""Splits and their questions."""

from pathlib import Path

import pytest
from dataset_folder import write
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.datasets import DatasetError, load
from assay.bench.datasets.splits import SplitSelection, is_in_dev_half, list_splits, select_split

DEV_OF_TWENTY = {"q0", "q2", "q3", "q5", "q9", "q10", "q11", "q13", "q14", "q17", "q19"}
"""Of q0 … q19. A half that moves would mix what decided with what confirms; no change to this line is harmless."""


def test_the_halves_never_move() -> None:
    assert {f"q{n}" for n in range(20) if is_in_dev_half(f"q{n}")} == DEV_OF_TWENTY
    real = ("PLAIN-2", "CVE-2015-8271", "conv-26:q0", "é", "5a8b57f25542995d1e6f1371")
    assert [name for name in real if is_in_dev_half(name)] == ["PLAIN-2", "conv-26:q0", "é"]


@pytest.mark.parametrize(
    ("split", "files", "expected"),
    [
        ("train", {"train", "dev", "test"}, SplitSelection("train", ("train",))),
        ("dev", {"train", "dev", "test"}, SplitSelection("dev", ("dev",))),
        ("test", {"train", "dev", "test"}, SplitSelection("test", ("test",))),
        ("all", {"train", "dev", "test"}, SplitSelection("all", ("train", "dev", "test"))),
        ("train", {"train", "test"}, SplitSelection("train", ("train",), "other")),
        ("dev", {"train", "test"}, SplitSelection("dev", ("train",), "dev")),
        ("test", {"train", "test"}, SplitSelection("test", ("test",))),
        ("dev", {"test", "test_graded"}, SplitSelection("dev", ("test",), "dev")),
        ("test", {"test", "test_graded"}, SplitSelection("test", ("test",), "other")),
        ("all", {"test", "test_graded"}, SplitSelection("all", ("test",))),
        ("test_graded", {"test", "test_graded"}, SplitSelection("test_graded", ("test_graded",))),
        ("dev", {"validation", "test"}, SplitSelection("dev", ("validation",))),
        ("validation", {"dev", "test"}, SplitSelection("dev", ("dev",))),
        ("test", {"genre"}, SplitSelection("test", ("genre",), "other")),
        ("genre", {"genre"}, SplitSelection("genre", ("genre",))),
    ],
)
def test_plans(split: str, files: set[str], expected: SplitSelection) -> None:
    assert select_split(split, files) == expected


def test_what_cannot_be_had_is_said() -> None:
    assert list_splits({"test", "test_graded"}) == ["all", "dev", "test", "test_graded"]
    assert list_splits({"one", "two"}) == ["one", "two"]
    with pytest.raises(DatasetError, match="there is no split 'train'"):
        select_split("train", {"test"})
    with pytest.raises(DatasetError, match="there is no split 'test'"):
        select_split("test", {"one", "two"})


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1))
def test_halves_share_nothing_and_lose_nothing(ids: set[str]) -> None:
    dev, test = select_split("dev", {"test"}), select_split("test", {"test"})
    assert all(dev.includes(name) != test.includes(name) for name in ids)
    assert all(dev.includes_unlisted(name) == dev.includes(name) for name in ids)
    assert all(select_split("all", {"test"}).includes(name) for name in ids)


def test_halves_of_a_folder_make_the_whole(tmp_path: Path) -> None:
    queries = [{"_id": f"q{n}", "text": "x", "metadata": {"abstain": n >= 15}} for n in range(20)]
    folder = str(write(tmp_path / "h", queries=queries, judgements={"test": [(f"q{n}", "d1", 1) for n in range(12)]}))
    dev, test, whole = (load(folder, split) for split in ("dev", "test", "all"))
    assert set(dev.judgements) == {f"q{n}" for n in range(12)} & DEV_OF_TWENTY
    assert dict(dev.judgements) | dict(test.judgements) == whole.judgements
    assert dev.abstain == {f"q{n}" for n in range(15, 20)} & DEV_OF_TWENTY
    assert dev.abstain | test.abstain == whole.abstain == {f"q{n}" for n in range(15, 20)}
    assert dev.notes == ("a half of the judgements 'test': the first byte of sha256(query id) is even",)
    assert whole.notes == ("3 queries have no judgement and are left out",)


def test_an_unanswerable_question_follows_its_file_then_its_metadata(tmp_path: Path) -> None:
    queries = [{"_id": name, "text": "x"} for name in ("a", "b")]
    queries += [{"_id": "none-1", "text": "x", "metadata": {"abstain": True, "split": "dev"}}]
    queries += [{"_id": "none-2", "text": "x", "metadata": {"abstain": True}}]
    judged = {"dev": [("a", "d1", 1)], "test": [("b", "d1", 1), ("none-2", "d1", 0)]}
    folder = str(write(tmp_path / "u", queries=queries, judgements=judged))
    assert load(folder, "dev").abstain == {"none-1"}
    assert load(folder, "test").abstain == {"none-2"}
    assert load(folder, "all").abstain == {"none-1", "none-2"}
