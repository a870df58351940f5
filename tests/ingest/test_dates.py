"""parse_moment: hand-computed seconds, and errors that list the accepted forms."""

import contextlib
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import QueryError
from assay.ingest.dates import parse_moment

JUNE = 1748736000.0  # 2025-06-01T00:00:00Z: 20,240 days × 86,400 s


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1970-01-01", 0.0),
        ("2025-06-01", JUNE),
        (" 2025-06-01\n", JUNE),
        ("2025-06", JUNE),
        ("2025/6/1", JUNE),
        ("2025.06.01", JUNE),
        ("20250601", JUNE),
        ("2025-06-01T12:00:00Z", JUNE + 12 * 3600),
        ("2025-06-01T12:00:00", JUNE + 12 * 3600),
        ("2025-06-01 12:00 +02:00", JUNE + 10 * 3600),
        ("2025-06-01 12:00:00 +0200", JUNE + 10 * 3600),
        ("2025-06-01 12:00:00.5-05:00", JUNE + 17 * 3600 + 0.5),
        ("2025-06-01 12:00:00 UTC", JUNE + 12 * 3600),
        ("Sun, 1 Jun 2025 12:00:00 +0200", JUNE + 10 * 3600),
        ("1 Jun 2025 12:00 GMT", JUNE + 12 * 3600),
        ("Sun, 01 Jun 2025 00:00:00 -0000", JUNE),
        ("2025/06/01 (Sun) 02:21", JUNE + 2 * 3600 + 21 * 60),
        ("1 June 2025", JUNE),
        ("1-Jun-2025", JUNE),
        ("June 1, 2025", JUNE),
        ("jun. 01 2025", JUNE),
        ("1748736000", JUNE),
        ("1748736000.25", JUNE + 0.25),
        ("1748736000000", JUNE),
        (1748736000, JUNE),
        (1748736000000, JUNE),
        (np.int64(1748736000), JUNE),
        (0, 0.0),
        (-86400.0, -86400.0),
        (date(2025, 6, 1), JUNE),
        (datetime(2025, 6, 1, 12), JUNE + 12 * 3600),  # noqa: DTZ001 - naive on purpose: it means UTC
        (datetime(2025, 6, 1, 12, tzinfo=timezone(timedelta(hours=2))), JUNE + 10 * 3600),
    ],
)
def test_forms(value, seconds):
    assert parse_moment(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            " ",
            "yesterday",
            "2025-13-01",
            "2025-02-30",
            "2025-06-01T25:00",
            "12:30",
            "06/01/2025",
            "1e400",
            "nan",
            "1 Foo 2025",
            "31 June 2025",
        ),
        *("9" * 400, "x" * 10_000, "٢٠٢٥-٠٦-٠١x", "\0", "\ud800", float("nan"), float("inf"), 1e300, 10**400),
        *(True, None, [], {}, b"2025"),
    ],
)
def test_what_is_no_date_says_which_forms_are(value):
    with pytest.raises(QueryError, match="is not a date") as raised:
        parse_moment(value)
    assert "2025-06-01" in raised.value.cure
    assert len(raised.value.message) < 100


def test_a_number_too_long_to_print_is_refused_too():
    with pytest.raises(QueryError, match="a value of type int is not a date"):
        parse_moment(10**5000)


@given(st.text(max_size=40))
def test_any_text_is_a_moment_or_a_query_error(text):
    with contextlib.suppress(QueryError):
        assert abs(parse_moment(text)) < 1e11


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_iso_round_trip(moment):
    assert parse_moment(moment.isoformat()) == moment.timestamp()
    assert parse_moment(moment.isoformat(sep=" ").replace("+00:00", " Z")) == moment.timestamp()


def test_where_seconds_end_and_milliseconds_begin():
    assert parse_moment(99_999_999_999) == 99_999_999_999.0
    assert parse_moment(100_000_000_000) == 100_000_000.0
    assert parse_moment("500000000000") == 500_000_000.0
    assert parse_moment(-500_000_000_000) == -500_000_000.0
