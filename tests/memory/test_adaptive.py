"""Adaptive retrieval: the memory pipeline's categories, the traps of the specification, and a labelled table."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labels import HOSTILE, PARTS, agreement, growth, rows

from assay.memory.adaptive import should_retrieve, strip_wrappers

LABELS = Path(__file__).parent / "adaptive_labels.tsv"
FORCED = {"memory", "temporal", "personal"}
SKIPPED = {"system", "slash", "emoji", "greeting", "affirmation", "continuation", "shell", "short"}


def judge(text):
    found = should_retrieve(text)
    return ("retrieve" if found.yes else "skip"), found.category


@pytest.mark.parametrize(
    ("part", "precision", "recall"), [("tune", 0.99, 0.99), ("held", 0.99, 0.98), ("blind", 0.97, 0.95)]
)
def test_labels(part, precision, recall):
    found = agreement(LABELS, part, "skip", judge)
    assert found.precision >= precision, "\n".join(found.wrong)
    assert found.recall >= recall, "\n".join(found.wrong)


def test_the_documentation_says_what_is_measured():
    page = (Path(__file__).parents[2] / "docs" / "memory.md").read_text("utf-8")
    for part in PARTS:
        found = agreement(LABELS, part, "skip", judge)
        assert f"| adaptive | {part} | {found.rows} | {found.precision:.3f} | {found.recall:.3f} |" in page


def test_labels_are_many_and_of_every_category():
    every = list(rows(LABELS))
    assert len(every) >= 300
    assert len({row.text for row in every}) == len(every)
    assert {row.category for row in every if row.expected == "skip"} == SKIPPED
    assert {row.category for row in every if row.expected == "retrieve"} == FORCED | {"plain"}


@pytest.mark.parametrize(
    "text", ["History of the Lisbon office?", "find the policy for travel", "History?", "Hi-res scans of the contract"]
)
def test_what_only_begins_like_a_skip(text):
    assert judge(text) == ("retrieve", "plain")


def test_results_of_last_week_are_no_shell_command():
    assert judge("test results from last week") == ("retrieve", "temporal")
    assert judge("test results of the Porto factory") == ("retrieve", "plain")


@pytest.mark.parametrize("text", ["2024", "#", "*", "7", "0123456789", "12:30"])
def test_digits_are_short_and_no_emoji(text):
    assert judge(text) == ("skip", "short")


@pytest.mark.parametrize("text", ["1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👩🏽‍💻 ✅"])
def test_keycaps_flags_and_families_are_emoji(text):
    assert judge(text) == ("skip", "emoji")


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("hi, do you remember me?", "memory"),
        ("/recall the plan", "memory"),
        ("git push as before", "temporal"),
        ("HEARTBEAT: my name", "personal"),
        ("[System] 上次", "temporal"),
        ("ok 之前", "temporal"),
        ("👍 你记得", "memory"),
    ],
)
def test_force_wins(text, category):
    found = should_retrieve(text)
    assert (found.yes, found.category) == (True, category)
    assert category in found.reason


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("fourteen chars", False),  # 14 Latin characters
        ("fifteen  chars.", False),  # white space counts once: 14
        ("fifteen letters", True),  # 15
        ("五个中文字", False),  # 5
        ("这是六个汉字", True),  # 6
        ("日本語五字", False),
        ("한글여섯글자", True),
        ("ab 五个中文字", True),  # 2 + 1 + 5 · 2.5 = 15.5
        ("a 五个中文字", False),  # 1 + 1 + 12.5 = 14.5
        ("Lisbon office?", True),  # a question may be short
        ("里斯本？", True),
        ("东京什么", True),
        ("who is Anna", True),
        ("what", False),
    ],
)
def test_length_thresholds(text, yes):
    assert should_retrieve(text).yes is yes


FENCED = 'Conversation info (untrusted metadata):\n```json\n{"sender": "remember"}\n```\n\n'


@pytest.mark.parametrize(
    "prefix",
    [
        "[cron:daily-7f3a digest] ",
        "[CRON:x]",
        "[Mon 2026-03-02 04:21 GMT+8] ",
        "[2026-03-02T04:21:00Z] ",
        "@assistant ",
        "<@U042>, ",
        FENCED,
        "Conversation info (untrusted metadata):\nchannel: remember\nsender: x\n\n",
        "Sender (untrusted metadata):\nname: x\n\n",
        f"{FENCED}[cron:job] [Mon 2026-03-02 04:21 GMT+8] @bot: ",
    ],
)
def test_wrappers_are_not_the_message(prefix):
    assert strip_wrappers(f"{prefix}thanks!\n") == "thanks!"
    assert judge(f"{prefix}thanks!") == ("skip", "affirmation")
    assert judge(f"{prefix}Which vendor handles our catering?") == ("retrieve", "plain")


def test_what_is_no_wrapper_stays():
    for text in ("[draft] remember", "[cron: open", "me@example.com wrote", "Conversation info about the roof"):
        assert strip_wrappers(text) == text
    header = "Conversation info (untrusted metadata): which vendor handles our catering"
    assert strip_wrappers(header) == "which vendor handles our catering"


def test_nothing_at_all():
    for text in ("", " \n\t", "\0", "\ud800", "\u200b", "[cron:x]"):
        assert judge(text) == ("skip", "short")


@given(st.text(st.characters(), max_size=60))
def test_any_text_gets_one_known_category_and_a_reason(text):
    found = should_retrieve(text)
    assert found.category in (FORCED | {"plain"} if found.yes else SKIPPED)
    assert found.reason
    assert should_retrieve(text) == found


@given(st.text(max_size=30), st.sampled_from(["remember", "last time", "my name", "你记得"]), st.text(max_size=30))
def test_force_wins_wherever_it_stands(before, phrase, after):
    assert should_retrieve(f"{before} {phrase} {after}").yes


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_time_is_linear(name):
    """Sixteen times the text: a linear judge takes 16 times as long at most, a quadratic one 256."""
    assert growth(should_retrieve, HOSTILE[name]) < 64


@pytest.mark.parametrize("name", ["locomo", "longmemeval_mini", "squad2_mini", "hotpotqa", "cranfield", "scifact"])
def test_no_question_of_a_real_dataset_is_skipped(name):
    path = Path(os.environ.get("ASSAY_DATA", "")) / name / "queries.jsonl"
    if not path.is_file():
        pytest.skip(f"needs the questions of {name}: set ASSAY_DATA")
    asked = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
    assert [text for text in asked if not should_retrieve(text).yes] == []
