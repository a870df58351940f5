"""Duplicates, judged on a labelled table with the real model, and by words alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay import embed, memory
from assay.embed.installed_models import find_model
from assay.memory.compared_text import ComparedText, TextReader
from assay.memory.duplicates import compare, find_contradiction, jaccard
from assay.memory.service import MemoryService
from assay.memory.types import MemoryEntry
from assay.text.analyser import Analyser

TABLE = [line.split("\t") for line in (Path(__file__).parent / "duplicates.tsv").read_text("utf-8").splitlines()]
installed = pytest.mark.skipif(
    find_model("minilm") is None, reason="the embedding model is not installed (assay model install)"
)


READER = TextReader(Analyser())


def entry(text: str) -> MemoryEntry:
    return MemoryEntry("a", text, "global", "fact", 0.5, (), 0.0, 0.0)


def test_overlap_by_hand() -> None:
    assert jaccard({"a", "b", "c"}, {"b", "c", "d"}) == 0.5
    assert jaccard({"a"}, {"a"}) == 1.0
    assert jaccard(set(), set()) == 0.0


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("room 12", "room 14", "numbers differ: 12, 14"),
        ("at 10:00", "at 10:30", "numbers differ"),
        ("Bob likes tea", "Bob doesn't like tea", "negates"),
        ("用户喜欢茶", "用户不喜欢茶", "negates"),
        ("Bob no longer smokes", "Bob smokes", "negates"),
        ("room 12", "Room 12.", ""),
        ("never push", "Do not push", ""),
    ],
)
def test_what_tells_two_texts_apart(one: str, other: str, why: str) -> None:
    first, second = ComparedText(one, Analyser()), ComparedText(other, Analyser())
    found = find_contradiction(first, second)
    assert found == find_contradiction(second, first)
    assert why in found
    assert bool(why) == bool(found)


def test_one_exchanged_word_in_a_long_text_is_another_fact() -> None:
    text = "On Monday the whole support team of the Lisbon office meets in the large room to plan the coming week."
    found = compare(entry(text), text.replace("Monday", "Friday"), 0.99, READER)
    assert found.overlap > 0.8
    assert not found.duplicate
    assert "friday, monday" in found.why.replace("monday, friday", "friday, monday")


def test_a_duplicate_that_says_more_names_what_it_adds() -> None:
    known = entry("The user speaks German and Portuguese at work.")
    found = compare(known, "User speaks German, Portuguese and Italian at work", 0.97, READER)
    assert (found.duplicate, found.adds) == (True, ("italian",))


def test_neither_cosine_nor_overlap_is_enough_alone() -> None:
    cat, bank = entry("The cat sleeps all day."), entry("The bank opens at nine.")
    longer = compare(cat, "The cat sleeps all the long sunny summer day outside.", 0.99, READER)
    assert (longer.duplicate, longer.overlap < 0.7) == (False, True)
    farther = compare(bank, "The bank opens at nine sharp.", 0.5, READER)
    assert (farther.duplicate, farther.overlap >= 0.7) == (False, True)


def test_without_a_model_every_word_must_agree() -> None:
    assert compare(entry("The bank opens at nine."), "the bank opens at nine", None, READER).duplicate
    assert not compare(entry("The bank opens at nine."), "The bank opens at nine sharp.", None, READER).duplicate


@installed
def test_the_labelled_table() -> None:
    """64 pairs. Precision first: a wrong duplicate loses a memory, a missed one is only said twice."""
    model = embed.load("minilm")
    assert model is not None
    vectors = model.encode([text for _, one, other in TABLE for text in (one, other)])
    right = wrong = missed = 0
    for place, (label, one, other) in enumerate(TABLE):
        cosine = float(vectors[2 * place] @ vectors[2 * place + 1])
        message = compare(entry(one), other, cosine, READER).duplicate
        right += message and label == "same"
        wrong += message and label == "other"
        missed += not message and label == "same"
    assert wrong == 0
    assert right / (right + missed) >= 0.85


@installed
def test_a_model_store_keeps_one_of_two_phrasings(tmp_path: Path) -> None:
    with memory.open(tmp_path / "m", embedder="minilm") as mem:
        first = mem.store("The user wants all dates in ISO format.")
        again = mem.store("User wants dates in ISO format")
        assert (again.action, again.id) == ("skipped", first.id)
        assert again.near[0].cosine is not None
        assert again.near[0].cosine > 0.9
        other = mem.store("The user wants all prices in euros.")
        assert other.action == "stored"


WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo"]


@pytest.mark.parametrize(
    ("known", "cosine", "duplicate"),
    [
        (7, 0.85, True),  # 7 of 10 words, and both thresholds themselves
        (7, 0.8499, False),
        (6, 0.99, False),  # 6 of 10
        (9, None, False),  # without a model 9 of 10 are not enough
        (10, None, True),
    ],
)
def test_the_thresholds_themselves(known: int, cosine: float | None, duplicate: bool) -> None:
    found = compare(entry(" ".join(WORDS[:known])), " ".join(reversed(WORDS[:10])), cosine, READER)
    assert (found.overlap, found.duplicate) == (known / 10, duplicate)


def test_neighbours_from_one_half_on_are_shown(mem: MemoryService) -> None:
    for words in ("alpha bravo charlie delta", "alpha bravo golf hotel", "india juliet kilo"):
        mem.store(words, on_duplicate="force")
    near = mem.store("alpha bravo charlie echo").near
    assert [(one.memory.text, one.overlap) for one in near] == [("alpha bravo charlie delta", 0.6)]


def test_a_duplicate_is_found_behind_what_has_more_of_its_words(mem: MemoryService) -> None:
    for number in range(5):
        mem.store(f"vault room vault room vault room vault room {WORDS[number]}", on_duplicate="force")
    first = mem.store("The vault and the room.", on_duplicate="force")
    again = mem.store("The room and the vault.")
    assert (again.action, again.id) == ("skipped", first.id)


def test_what_is_named_to_be_superseded_is_whatever_else_is_known(mem: MemoryService) -> None:
    old = mem.store("The vault is in the cellar.")
    known = mem.store("The safe is in the attic.")
    new = mem.store("the safe is in the attic", supersedes=old.id)
    assert (new.action, new.memory.supersedes if new.memory else ()) == ("superseded", (old.id,))
    assert mem.get(old.id, scope="global").superseded_by == new.id != known.id


@installed
def test_a_duplicate_that_says_more_is_kept_beside_or_merged_whole(tmp_path: Path) -> None:
    short, long = "The user speaks German and Portuguese at work.", "User speaks German, Portuguese and Italian at work"
    with memory.open(tmp_path / "m", embedder="minilm") as mem:
        first = mem.store(short, expires="2099-01-01")
        beside = mem.store(long)
        assert beside.action == "stored"
        assert beside.reason == f"beside {first.id}, which lacks: italian"
        mem.forget(beside.id, scope="global")
        merged = mem.store(long, on_duplicate="merge")
        assert (merged.action, merged.id) == ("merged", first.id)
        cached = mem.get(first.id, scope="global")
        assert (cached.text, cached.expires) == (long, None)  # the fuller text; one that never ends has no end
        (hit,) = mem.recall("who speaks Italian?", scope="global", pipeline="dense").hits
        cosine = float(
            embed.load("minilm").encode_query("who speaks Italian?") @ embed.load("minilm").encode([long])[0]
        )
        assert hit.score == pytest.approx(cosine, abs=1e-5)  # and the fuller text's own vector
        assert mem.store(short, on_duplicate="merge").memory == mem.get(first.id, scope="global")
        assert mem.get(first.id, scope="global").text == long
