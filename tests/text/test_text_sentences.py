"""Where sentences end: hand-labelled cases, and what holds of any text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.text.sentences import split_sentences

# Each case is a list of sentences; the text is what stands between the bars.
PROSE = [
    "One.‖ Two!‖ Three?‖ Four…‖ Five",
    "See Dr. Smith, e.g. on v1.29.3 or 3.5.‖ Then go.",
    "Mr. J. R. R. Tolkien wrote it.‖ So do I.‖ The end.",
    "He lives in the U.S.‖ The law is old.‖ The U.S. Government acts.",
    "It starts at 9 a.m. on Monday.‖ He left at 5 p.m.‖ The door was open.",
    "As shown in Fig. 3 and Sec. 2, it works.‖ No.‖ The end.",
    "Acme Inc. announced it.‖ (It did.)‖ Fine.",
    '"Really?" he asked.‖ "Yes."‖ She left.',
    "Wait... what?‖ Wait...‖ What?",
    "Use .NET, Node.js and C++.‖ Then i.e. stop.",
    "It holds.[1]‖ Next.[2][3]‖ Last.",
    "**Bold.**‖ _Then_ plain.",
    "i like it very much.‖ it works well.‖ ok",
    "On Jan. 5 we met.‖ In May.‖ Done.",
    "Das kostet z.B. 3,5 Euro.‖ Am 3. Oktober 1990.‖ Ende.",
    "今天天气很好。‖我们去公园吧！‖好吗？‖「是的。」‖他说。",
    "これはペンです。‖\n次の文です。",
    "यह वाक्य है।‖ यह दूसरा है।",
    "هل أنت بخير؟‖ نعم.",
    "Visit https://example.com/a.b?c=d.e now.‖ Or not.",
]
LINES = [
    "A heading line‖\n\nA paragraph that is\nsoftly wrapped.‖ And more.",
    "# Title‖\nText follows.",
    "Intro:‖\n- first item‖\n- second item.‖ With two sentences.‖\n* third",
    "1. Install it.‖ Then run.‖\n2. Go.‖\n10) Stop",
    "| a | b |‖\n| c | d |",
    "Run this:‖\n```sh‖\nkubectl get pods‖\nkubectl apply -f x.yaml‖\n```‖\nThen wait.",
    "Before‖\nx = compute(1)‖\nfoo(x)‖\nif x:‖\nafter",
    "From: a@example.com‖\nSubject: Hello.‖ World",
    "one‖\r\n\r\ntwo\r\nstill two",
    "one‖\n \t\ntwo",
    "Title‖\n=====‖\nBody.",
    "> quoted line‖\n> another",
]


@pytest.mark.parametrize("marked", PROSE + LINES)
def test_hand_labelled(marked: str) -> None:
    text = marked.replace("‖", "")
    assert [text[start:end] for start, end in split_sentences(text)] == [part.strip() for part in marked.split("‖")]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\x1c", "\u3000"])
def test_nothing_to_read(text: str) -> None:
    assert split_sentences(text) == []


WORDS = ["Word", "word", "e.g. ", "Dr. ", "U.S. ", "3.5", "1. ", "x = 1", "é", "한"]
MARKS = [
    ". ",
    ".",
    "...",
    "!",
    "?",
    "。",
    "！",
    "'",
    '"',
    ")",
    "[1]",
    "「",
    "」",
    "|",
    "{",
    "}",
    ";",
    "- ",
    "# ",
    "```\n",
]
SPACE = [" ", "  ", "\n", "\n\n", "\r\n", "\f", "\u2028", "\x00", "\ud800"]
PIECES = st.sampled_from(WORDS + MARKS + SPACE)


def check(text: str) -> None:
    """In order, not overlapping, nothing visible left out, no white space around."""
    spans = split_sentences(text)
    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.lists(PIECES, max_size=40).map("".join), st.text(max_size=60)))
def test_spans_cover_all_that_is_visible_in_order(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "unit", [".", ".)", "...x", "\n", " ", ". ", "f()", "if:", "\n \n", ".[1]", "-", "a. ", "。", "|\n", "e.g. "]
)
def test_a_long_hostile_text_is_read_to_the_end(unit: str) -> None:
    """An expression that backtracks would need hours here."""
    check(unit * 60_000)
