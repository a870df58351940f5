"""Version constraints: what is one, how it binds, and what it admits."""

import pytest

from assay.text.query.versions import VersionNumber, find_versions


def spell(text: str) -> list[tuple[str, str, str, str]]:
    return [(text[v.start : v.end], v.relation, str(v.low or ""), str(v.high or "")) for v in find_versions(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v1.29", [("v1.29", "exact", "1.29", "")]),
        ("version 3 of the API", [("version 3", "exact", "3", "")]),
        ("notes for 1.29.3", [("1.29.3", "exact", "1.29.3", "")]),
        ("v2.0.0-rc1", [("v2.0.0-rc1", "exact", "2.0.0-rc1", "")]),
        ("Python 3.8", [("3.8", "exact", "3.8", "")]),
        ("since 1.28", [("since 1.28", "since", "1.28", "")]),
        ("needs >= 1.28", [("1.28", "since", "1.28", "")]),
        ("Node 18.2+ only", [("18.2+", "since", "18.2", "")]),
        ("v1.27 or older", [("v1.27 or older", "until", "", "1.27")]),
        ("newer than v2", [("newer than v2", "after", "2", "")]),
        ("before 3.4", [("before 3.4", "before", "", "3.4")]),
        ("between 2.1 and 2.3", [("between 2.1 and 2.3", "between", "2.1", "2.3")]),
        ("between v2.3 and v2.1", [("between v2.3 and v2.1", "between", "2.1", "2.3")]),
        ("from 8.x to 9.x", [("from 8.x to 9.x", "between", "8", "9")]),
        ("versions 2 and 3", [("versions 2", "exact", "2", ""), ("3", "exact", "3", "")]),
        ("v1.28 vs v1.29", [("v1.28", "exact", "1.28", ""), ("v1.29", "exact", "1.29", "")]),
    ],
)
def test_versions(text, found):
    assert spell(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "CVE-2024-1234",
        "10.0.0.1",
        "IPv4",
        "404",
        "rose by 2.3 percent",
        "2.3%",
        "$2.50",
        "9.99 USD",
        "section 4.2",
        "1.000.000 users",
        '"Migrate to v2"',
        "Windows 11",
        "release 2024",
        "v",
        "version",
    ],
)
def test_not_versions(text):
    assert spell(text) == []


def test_taken_characters_are_no_versions():
    assert find_versions("in 15.3.2024", taken=[(3, 12)]) == ()


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("v3", [(3,), (3, 1)], [(2, 9), (4,)]),
        ("since 1.28", [(1, 28), (1, 28, 3), (2,)], [(1, 27, 9)]),
        ("newer than v1.28", [(1, 29)], [(1, 28), (1, 28, 3)]),
        ("before 2.0", [(1, 9)], [(2,), (2, 0, 1)]),
        ("v1.27 or older", [(1, 27, 4), (1,)], [(1, 28)]),
        ("between 2.1 and 2.3", [(2, 1), (2, 3, 7)], [(2, 0, 9), (2, 4)]),
    ],
)
def test_admits(text, inside, outside):
    (found,) = find_versions(text)
    assert all(found.admits(VersionNumber(numbers)) for numbers in inside)
    assert not any(found.admits(VersionNumber(numbers)) for numbers in outside)
