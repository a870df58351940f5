"""Ranges of time and silence: what was asked for is shown, what was dropped is counted, nothing known is rare."""

from __future__ import annotations

import pytest

from assay.errors import QueryError
from assay.memory.service import MemoryService
from tests.memory.conftest import START, Clock

ASK = {"scope": "global", "adaptive": False}


@pytest.fixture
def dated(mem: MemoryService) -> MemoryService:
    """The clock stands at Sunday, 1 March 2026."""
    for text, created in (
        ("The vault is in room 12.", "2026-02-26"),
        ("The vault was in room 9.", "2026-02-17"),
        ("The vault was in room 3.", "2025-09-10"),
    ):
        mem.store(text, created=created)
    return mem


def rooms(answer) -> list[str]:
    return [hit.text.rstrip(".").split()[-1] for hit in answer.hits]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2026-02-17", None, ["12", "9"]),
        (None, "2026-02-17", ["3", "9"]),  # its day is included
        ("2026-02-17", "2026-02-17", ["9"]),
        ("last week", "last week", ["9"]),
        ("this week", None, ["12"]),
        ("in September", "in September", ["3"]),
        (START - 4 * 86_400.0, None, ["12"]),
        ("now", None, []),
    ],
)
def test_since_and_until_in_recall_and_list(dated, since, until, expected) -> None:
    recalled = dated.recall("vault room", since=since, until=until, **ASK)
    assert sorted(rooms(recalled)) == expected
    listed = dated.list(scope="global", since=since, until=until)
    assert sorted(entry.text.rstrip(".").split()[-1] for entry in listed) == expected
    assert recalled.range is not None
    assert recalled.to_json()["range"]["words"] is None


def test_the_range_is_resolved_against_the_clock_and_shown(dated, clock: Clock) -> None:
    assert dated.recall("vault", since="last week", **ASK).to_json()["range"]["since"] == "2026-02-16"
    clock.pass_days(7)
    assert dated.recall("vault", since="last week", **ASK).to_json()["range"]["since"] == "2026-02-23"
    assert dated.recall("vault", since="last week", at="2026-03-01", **ASK).range.since == START - 13 * 86_400.0


def test_words_in_the_query_raise_and_exclude_nothing(dated) -> None:
    answer = dated.recall("which room had the vault in September?", **ASK)
    assert rooms(answer)[0] == "3"
    assert len(answer) == 3
    assert answer.to_json()["range"] == {"since": "2025-09-01", "until": "2025-10-01", "words": "September"}


def test_as_of_in_the_query_is_the_clock(dated) -> None:
    answer = dated.recall("as of 20 February 2026, which room is the vault in?", **ASK)
    assert sorted(rooms(answer)) == ["3", "9"]
    assert answer.to_json()["at"].startswith("2026-02-20T23:59:59")


@pytest.mark.parametrize(
    ("since", "until", "what"),
    [
        ("2026-02-02", "2026-02-01", "contradict"),
        ("when pigs fly", None, "not a date"),
        (None, "31 February 2026", "no 31 February"),
        ("before May", None, "no such end"),
        ("", None, "not a date"),
        (float("nan"), None, "not a date"),
        ("x" * 10_000, None, "not a date"),
    ],
)
def test_bad_dates_are_refused_with_a_cure(dated, since, until, what) -> None:
    for call in (dated.recall, lambda _, **options: dated.list(scope="global", **options)):
        options = ASK if call == dated.recall else {}
        with pytest.raises(QueryError, match=what) as caught:
            call("vault", since=since, until=until, **options)
        assert caught.value.cure
        assert len(str(caught.value)) < 500


def test_nothing_is_known_only_where_nothing_was_found(dated) -> None:
    empty = dated.recall("vault", scope="user:nobody", adaptive=False)
    assert empty.found == 0
    assert empty.silence == 'Nothing is known here in the scope user:nobody (for another: scope="NAME").'
    dropped = dated.recall("vault room", at="2030-01-01", pipeline="memory", **ASK)
    assert (dropped.found, dict(dropped.dropped), len(dropped)) == (3, {"hard_minimum": 3}, 0)
    assert dropped.word == "all dropped, degraded"
    assert dropped.silence == "3 found, and none is served; dropped by: hard_minimum 3."
    limited = dated.recall("vault room", k=1, **ASK)
    assert (limited.found, dict(limited.dropped), limited.silence) == (3, {"limit": 2}, "")
