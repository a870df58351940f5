"""The noise filter: 002's categories, what only looks like noise, and a labelled table."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labels import HOSTILE, PARTS, agreement, growth, rows

from assay.text.noise_filter import CATEGORIES, classify_noise

LABELS = Path(__file__).parent / "noise_labels.tsv"


def judge(text):
    found = classify_noise(text)
    return ("noise" if found.noisy else "keep"), found.category or "fact"


@pytest.mark.parametrize(
    ("part", "precision", "recall"), [("tune", 0.99, 0.98), ("held", 0.99, 0.98), ("blind", 0.98, 0.82)]
)
def test_labels(part, precision, recall):
    found = agreement(LABELS, part, "noise", judge)
    assert found.precision >= precision, "\n".join(found.wrong)
    assert found.recall >= recall, "\n".join(found.wrong)


def test_the_documentation_says_what_is_measured():
    page = (Path(__file__).parents[2] / "docs" / "memory.md").read_text("utf-8")
    for part in PARTS:
        found = agreement(LABELS, part, "noise", judge)
        assert f"| noise | {part} | {found.rows} | {found.precision:.3f} | {found.recall:.3f} |" in page


def test_labels_are_many_and_of_every_category():
    every = list(rows(LABELS))
    assert len(every) >= 300
    assert len({row.text for row in every}) == len(every)
    assert {row.category for row in every} == {*CATEGORIES, "fact"}


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I don't have any information about your dog.", "denial"),
        ("I’m not sure about that.", "denial"),
        ("Do you remember my name?", "meta_question"),
        ("can you recall", "meta_question"),
        ("hello", "boilerplate"),
        ("HEARTBEAT", "boilerplate"),
        ("fresh session", "boilerplate"),
        ("hi", "short"),
        ("abcd", "short"),
        ("北", "short"),
        ("我不记得了", "denial"),
        ("你还记得我的名字吗？", "meta_question"),
        ("你好！", "boilerplate"),
    ],
)
def test_the_examples_of_002_in_two_languages(text, category):
    found = classify_noise(text)
    assert (found.noisy, found.category) == (True, category)
    assert found.reason


def test_five_characters_or_two_chinese_ones_are_enough():
    assert judge("abcde") == ("keep", "fact")
    assert judge("北京") == ("keep", "fact")


@pytest.mark.parametrize(
    "text",
    [
        "Hello Kitty is Mia's favourite brand.",
        "Do you remember my birthday? It is on May 3.",
        "I don't recall the price, but the supplier is Oliveira.",
        "Hello!\nThe gate code is 4417.",
        "我不知道具体价格，但是供应商是张三",
        "Heartbeat interval of the gateway is 30 seconds.",
    ],
)
def test_one_clause_that_says_something_keeps_the_whole(text):
    assert judge(text) == ("keep", "fact")


def test_the_worst_clause_names_the_category():
    assert judge("Hello! I don't have any information about that. Do you remember it?") == ("noise", "denial")
    assert judge("Hello! Do you remember me?") == ("noise", "meta_question")


@given(st.text(st.characters(), max_size=60))
def test_any_text_gets_a_verdict(text):
    found = classify_noise(text)
    assert (found.category in CATEGORIES) is found.noisy
    assert found.reason
    assert classify_noise(text) == found


@given(st.sampled_from(["hello", "I don't know.", "你好", "Do you remember me?"]), st.integers(0, 3))
def test_white_space_around_changes_nothing(text, size):
    assert classify_noise(" \n" * size + text + "\t " * size).category == classify_noise(text).category


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_time_is_linear(name):
    """Sixteen times the text: a linear judge takes 16 times as long at most, a quadratic one 256."""
    assert growth(classify_noise, HOSTILE[name]) < 64


def test_no_evidence_of_a_real_conversation_is_noise():
    """Of the turns that answer a question of LoCoMo, not one may be lost."""
    folder = Path(os.environ.get("ASSAY_DATA", "")) / "locomo"
    if not (folder / "corpus.jsonl").is_file():
        pytest.skip("needs the LoCoMo turns: set ASSAY_DATA")
    relevant = {line.split("\t")[1] for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]}
    turns = map(json.loads, (folder / "corpus.jsonl").read_text("utf-8").splitlines())
    evidence = [turn["text"].split(": ", 1)[1] for turn in turns if turn["_id"] in relevant]
    assert len(evidence) > 1000
    assert [text for text in evidence if classify_noise(text).noisy] == []


def test_a_long_text_is_never_noise():
    """600 characters: 14 times this clause of 42 is noise, 15 times is not."""
    clause = "I do not have any information about that. "
    assert (len(clause), classify_noise(clause * 14).category) == (42, "denial")
    assert not classify_noise(clause * 15).noisy
