"""Dates of chat logs."""

from datetime import UTC, datetime

import pytest

from assay.bench.datasets.timestamps import DOCUMENT_DATES, find_timestamp, parse_timestamp


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        ("12:30 PM on 1 June 2023", datetime(2023, 6, 1, 12, 30, tzinfo=UTC)),
        ("2023/05/30 (Tue) 21:48", datetime(2023, 5, 30, 21, 48, tzinfo=UTC)),
        ("2024-02-01", datetime(2024, 2, 1, tzinfo=UTC)),
    ],
)
def test_moments(text: str, expected: datetime) -> None:
    assert parse_timestamp(text) == expected.timestamp()


@pytest.mark.parametrize("value", [None, "", "yyyy-mm-dd", "1:56 pm on a sunny day", True, [], "25:99"])
def test_what_is_no_date(value: object) -> None:
    assert parse_timestamp(value) is None


def test_the_first_field_that_is_a_date_counts() -> None:
    assert find_timestamp({"Date": "soon", "date_time": "1:00 am on 1 January, 1970"}, DOCUMENT_DATES) == 3600.0
    assert find_timestamp({"title": "2024-01-01"}, DOCUMENT_DATES) is None
