"""Date constraints: every form with hand-computed ranges. Clock: Wednesday, 18 June 2025, 12:00 UTC."""

from datetime import UTC, datetime

import pytest

from assay.errors import QueryError
from assay.text.query.dates import find_dates
from assay.text.query.periods import format_moment, make_months, shift_day

NOON = 1750248000.0
DAY = 86_400.0


def day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_the_clock_of_these_tests():
    assert datetime.fromtimestamp(NOON, UTC) == datetime(2025, 6, 18, 12, tzinfo=UTC)
    assert datetime.fromtimestamp(NOON, UTC).strftime("%A") == "Wednesday"
    assert day("2024-03-15") == 1710460800.0  # from `date -u -d 2024-03-15 +%s`


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2024-03-15", "2024-03-15", "2024-03-16"),
        ("2024/03/15", "2024-03-15", "2024-03-16"),
        ("2024-03-15T10:30", "2024-03-15", "2024-03-16"),
        ("15.03.2024", "2024-03-15", "2024-03-16"),
        ("15/03/2024", "2024-03-15", "2024-03-16"),
        ("03/15/2024", "2024-03-15", "2024-03-16"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("2024-06", "2024-06-01", "2024-07-01"),
        ("15 March 2024", "2024-03-15", "2024-03-16"),
        ("15th of March, 2024", "2024-03-15", "2024-03-16"),
        ("March 15, 2024", "2024-03-15", "2024-03-16"),
        ("29 February 2024", "2024-02-29", "2024-03-01"),
        ("on 29 February", "2024-02-29", "2024-03-01"),
        ("Q3 2024", "2024-07-01", "2024-10-01"),
        ("2024 Q3", "2024-07-01", "2024-10-01"),
        ("third quarter of 2024", "2024-07-01", "2024-10-01"),
        ("Q4", "2024-10-01", "2025-01-01"),
        ("Q2", "2025-04-01", "2025-07-01"),
        ("H2 2023", "2023-07-01", "2024-01-01"),
        ("2024-W12", "2024-03-18", "2024-03-25"),
        ("2023", "2023-01-01", "2024-01-01"),
        ("in 1984", "1984-01-01", "1985-01-01"),
        ("2023-2024", "2023-01-01", "2025-01-01"),
        ("in September", "2024-09-01", "2024-10-01"),
        ("in June", "2025-06-01", "2025-07-01"),
        ("in may", "2025-05-01", "2025-06-01"),
        ("on 19 June", "2024-06-19", "2024-06-20"),
        ("on 18 June", "2025-06-18", "2025-06-19"),
        ("since May", "2025-05-01", None),
        ("from May onwards", "2025-05-01", None),
        ("2023 or later", "2023-01-01", None),
        ("after March 2024", "2024-04-01", None),
        ("until 2024-06", None, "2024-07-01"),
        ("before 3 June 2025", None, "2025-06-03"),
        ("prior to 2024", None, "2024-01-01"),
        ("as of March 2024", None, "2024-04-01"),
        ("between March and May 2024", "2024-03-01", "2024-06-01"),
        ("between October and March", "2024-10-01", "2025-04-01"),
        ("between October and March 2024", "2023-10-01", "2024-04-01"),
        ("from May 2024 to January", "2024-05-01", "2025-02-01"),
        ("between 3 and 5 May 2024", "2024-05-03", "2024-05-06"),
        ("May 3 to 5, 2024", "2024-05-03", "2024-05-06"),
        ("March – May 2024", "2024-03-01", "2024-06-01"),
        ("since 2022 and before 2024", "2022-01-01", "2024-01-01"),
        ("today", "2025-06-18", "2025-06-19"),
        ("yesterday", "2025-06-17", "2025-06-18"),
        ("the day before yesterday", "2025-06-16", "2025-06-17"),
        ("tomorrow", "2025-06-19", "2025-06-20"),
        ("last week", "2025-06-09", "2025-06-16"),
        ("this week", "2025-06-16", "2025-06-23"),
        ("next week", "2025-06-23", "2025-06-30"),
        ("last month", "2025-05-01", "2025-06-01"),
        ("last quarter", "2025-01-01", "2025-04-01"),
        ("last year", "2024-01-01", "2025-01-01"),
        ("past 3 days", "2025-06-15T12:00", "2025-06-18T12:00"),
        ("past week", "2025-06-11T12:00", "2025-06-18T12:00"),
        ("last two months", "2025-04-18T12:00", "2025-06-18T12:00"),
        ("two days ago", "2025-06-16", "2025-06-17"),
        ("two weeks ago", "2025-06-02", "2025-06-09"),
        ("a year ago", "2024-01-01", "2025-01-01"),
        ("3 hours ago", "2025-06-18T09:00", "2025-06-18T10:00"),
        ("last Tuesday", "2025-06-17", "2025-06-18"),
        ("last Wednesday", "2025-06-11", "2025-06-12"),
        ("on Wednesday", "2025-06-18", "2025-06-19"),
        ("on Friday", "2025-06-13", "2025-06-14"),
        ("this Friday", "2025-06-20", "2025-06-21"),
        ("next Monday", "2025-06-23", "2025-06-24"),
        ("last March", "2025-03-01", "2025-04-01"),
        ("last June", "2024-06-01", "2024-07-01"),
        ("since yesterday", "2025-06-17", None),
    ],
)
def test_ranges(text, since, until):
    (found,) = find_dates(text, NOON)
    assert (found.since, found.until) == (since and day(since), until and day(until)), found
    assert found.problem is None


def test_two_listed_days_are_two_dates():
    first, second = find_dates("on 5 and 6 July 2024", NOON)
    assert (first.since, second.since) == (day("2024-07-05"), day("2024-07-06"))


def test_the_span_has_the_relation_but_not_a_plain_preposition():
    text = "emails in March 2024 and since 3 May"
    assert [text[d.start : d.end] for d in find_dates(text, NOON)] == ["March 2024", "since 3 May"]


@pytest.mark.parametrize(
    "text",
    [
        "error 404",
        "404",
        'the novel "1984"',
        '"March 2024"',
        "“last week”",
        "room 2019",
        "port 2024",
        "2000 rows",
        "$2024",
        "FY2024",
        "FY 2024",
        "fiscal year 2024",
        "who may see it",
        "what did June say",
        "approved by April",
        "the Monday meeting",
        "a long march",
        "CVE-2024-1234",
        "version 2023",
        "1990s music",
        "10:30",
        "2024-99",
        "the last release",
    ],
)
def test_not_dates(text):
    assert find_dates(text, NOON) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("31 February", "there is no 31 February"),
        ("2024-02-30", "there is no 30 February 2024"),
        ("29 February 2023", "there is no 29 February 2023"),
        ("since 31 April 2024", "there is no 31 April 2024"),
        ("2024-13-01", "there is no day 1 of month 13 2024"),
        ("2024-W60", "there is no week 60 in 2024"),
        ("04/05/2024", "one day in Europe and another in America"),
        ("between 1 and 31 February 2024", "there is no"),
    ],
)
def test_impossible_dates_are_reported(text, says):
    (found,) = find_dates(text, NOON)
    assert found.since is None
    assert found.until is None
    assert says in found.problem.text
    assert found.problem.cure


@pytest.mark.parametrize("text", ["last week", "yesterday", "in September", "past 3 days", "two weeks ago", "on 5 May"])
def test_without_a_clock_relative_dates_are_found_but_unresolved(text):
    (found,) = find_dates(text, None)
    assert (found.since, found.until) == (None, None)
    assert "clock" in found.problem.text
    assert "at" in found.problem.cure


def test_without_a_clock_absolute_dates_are_resolved():
    (found,) = find_dates("before 3 June 2025", None)
    assert found.until == day("2025-06-03")


@pytest.mark.parametrize(
    "text",
    [
        "since May 2025 until March 2024",
        "between 2024-06-01 and 2024-05-01",
        "from 5 May 2024 to 3 May 2024",
        "after 2025 and before 2023",
        "before 2023 and after 2025",
        "between today and yesterday",
    ],
)
def test_contradictory_ranges_raise(text):
    with pytest.raises(QueryError, match="contradict") as raised:
        find_dates(text, NOON)
    assert raised.value.cure
    assert text.split()[-1] in raised.value.message


def test_separate_ranges_do_not_contradict():
    assert len(find_dates("decisions before March 2024 about the outage after June 2024", NOON)) == 2


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e20])
def test_a_clock_outside_the_calendar_is_refused(at):
    with pytest.raises(QueryError, match="clock"):
        find_dates("last week", at)


def test_clocks_at_the_ends_of_the_calendar():
    for at in (-62_135_596_800.0, 253_370_764_800.0):
        for text in ("last week", "in March", "last Monday", "past 900 years", "next year", "on 29 February"):
            for found in find_dates(text, at):
                assert found.problem or found.since < found.until


def test_periods():
    assert make_months(2024, 12) == (day("2024-12-01"), day("2025-01-01"))
    assert shift_day(datetime(2024, 3, 31).date(), "month", -1) == datetime(2024, 2, 29).date()  # noqa: DTZ001
    assert format_moment(NOON) == "2025-06-18T12:00:00Z"
    assert format_moment(day("2025-06-18")) == "2025-06-18"
