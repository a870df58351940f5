"""Phrases, units and commands, on which adaptive retrieval and the noise filter are built."""

import pytest

from assay.text.commands import is_shell_command, is_slash_command, is_system_message
from assay.text.phrase_units import is_emoji, join_units, split_units, weigh_text
from assay.text.phrases import BEGIN, END, Phrases


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't STOP!", ("dont", "stop")),
        ("don’t", ("dont",)),
        ("yesss hiii 1000", ("yes", "hi", "1000")),
        ("no-code v1.2.3", ("no-code", "v1.2.3")),
        ("hello你好", ("hello", "你", "好")),
        ("안녕 👍", ("안", "녕")),
        ("ＨＥＬＬＯ", ("hello",)),
        ("?! ...", ()),
        ("\ud800 a\0b", ("a", "b")),
    ],
)
def test_units(text, expected):
    assert split_units(text) == expected


def test_spelled():
    assert join_units(("do", "you", "记", "得", "me")) == "do you 记得 me"
    assert join_units(()) == ""


def test_weight():
    assert weigh_text("  abc  d ") == 5
    assert weigh_text("你好") == 5.0
    assert weigh_text("a 你") == 4.5


def test_emoji():
    assert is_emoji("👍🏽 ❤️")
    assert is_emoji("1️⃣")
    for text in ("", " ", "1", "#", "*", "a👍", "2024", "©x"):
        assert not is_emoji(text)


TABLE = Phrases({"one": "(good|bad) [very|quite] day\n^start", "two": "good\nday end$\n你[很]好"})


def test_alternatives_and_options():
    found = TABLE.match_at(("good", "quite", "day"), 0)
    assert (found.category, found.start, found.end, found.phrase) == ("one", 0, 3, "good quite day")
    assert TABLE.match_at(("bad", "day"), 0).category == "one"
    assert TABLE.match_at(("bad",), 0) is None


def test_the_longest_wins_and_whole_units_only():
    assert TABLE.match_at(("good", "day"), 0).category == "one"
    assert TABLE.match_at(("good", "evening"), 0).category == "two"
    assert TABLE.match_at(("goodness",), 0) is None


def test_inside_and_anchors():
    assert TABLE.search(("oh", "good")).start == 1
    assert TABLE.search(("start",)) is None
    assert TABLE.search((BEGIN, "start", END)).phrase == "start"
    assert TABLE.search((BEGIN, "no", "start", END)) is None
    assert TABLE.search(("day", "end", END)).category == "two"
    assert TABLE.search(("day", "end", "now", END)) is None
    assert TABLE.search(tuple("啊你很好")).phrase == "你很好"


def test_lead():
    assert [match.phrase for match in TABLE.match_prefix(("good", "good", "day", "x", "good"))] == ["good", "good day"]
    assert TABLE.match_prefix(()) == []


@pytest.mark.parametrize(
    "text",
    [
        "git push origin main",
        'git commit -m "what we did for the team"',
        "ls",
        "sudo",
        "sudo reboot",
        "sudo apt install jq",
        "sudo sudo ls -la",
        "./configure --prefix=/usr",
        "find . -name x",
        "cat a.txt | sort | uniq -c",
        "run the tests again",
        "Build.",
        "make",
    ],
)
def test_shell(text):
    assert is_shell_command(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "find the policy for travel",
        "test results from last week",
        "git push or git pull, which was it?",
        "ls?",
        "git workflow",
        "make a list of vendors",
        "run the migration we planned",
        "cat allergies among the team",
        "sudoku rules for two",
        "sudo rights of the contractors in Porto",
    ],
)
def test_no_shell(text):
    assert not is_shell_command(text)


def test_slash_and_system():
    assert is_slash_command("/new")
    assert is_slash_command("/model:fast now")
    assert not is_slash_command("/etc/hosts")
    assert not is_slash_command("/ a")
    assert not is_slash_command("//")
    assert is_system_message("[System] x")
    assert is_system_message("heartbeat")
    assert is_system_message("(Heartbeat!)")
    assert not is_system_message("my heartbeat is fast")
    assert is_system_message("see HEARTBEAT.md")
    assert not is_system_message("[Systematic] x")
    assert not is_system_message("HEARTBEAT_INTERVAL is 30")
    assert not is_system_message("what is HEARTBEAT?")
