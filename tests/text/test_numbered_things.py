"""Numbered things: what has a number, and what only has an amount, an age or a date."""

import pytest

from assay.text.numbered_things import find_asked_things, find_numbered_things, names_another


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("How many volts at pole 3 of line 2?", {"pole": {"3"}, "line": {"2"}}),
        ("the code of Flat 4B", {"flat": {"4b"}}),
        ("room #12 and room 14", {"room": {"12", "14"}}),
        ("apartment no. 5.", {"apartment": {"5"}}),
        ("Bus 42!", {"bus": {"42"}}),
        ("the rent is 900, still 900, costs 900", {}),
        ("paid 14,500 in May 2024, aged 7", {}),
        ("v1.29.3 of kernel 6.1.2", {}),
        ("", {}),
    ],
)
def test_numbered_things(text, found):
    assert find_numbered_things(text) == found


@pytest.mark.parametrize("question", ["Does she still have plot 7?", "isn't plot 7 hers?", "Is it plot 7?"])
def test_a_question_for_yes_or_no_may_doubt_the_number(question):
    assert find_asked_things(question) == {}
    assert find_asked_things("Who has plot 7?") == {"plot": {"7"}}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("41 volts at pole 27", True),
        ("41 volts at pole 3", False),
        ("from pole 3 to pole 4", False),
        ("the poles were painted", False),
        ("line 9 is down", False),
    ],
)
def test_another_number_is_another_thing(text, other):
    assert names_another({"pole": {"3"}}, text) is other
