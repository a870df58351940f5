"""The filter language: what it reads, what it prints, what it refuses, and what it means."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labels import grows_linearly

from assay.errors import QueryError
from assay.where import And, Compare, Filter, Missing, Not, Or, compare_values, parse

MARCH = 1_740_787_200.0  # 2025-03-01T00:00:00Z


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('lang = "en"', Compare("lang", "=", "en")),
        ("n>=3", Compare("n", ">=", 3.0)),
        ("x != -1.5e2", Compare("x", "!=", -150.0)),
        ("flag = true", Compare("flag", "=", True)),
        ("created < 2025-03-01", Compare("created", "<", MARCH, is_date=True)),
        ("created < 2025-03-01T02:00+02:00", Compare("created", "<", MARCH, is_date=True)),
        ("t ~ 'it''s'", None),
        ("t ~ 'it\\'s'", Compare("t", "~", "it's")),
        ("a is missing", Missing("a")),
        ("a is not missing", Not(Missing("a"))),
        ("not not a = 1", Compare("a", "=", 1.0)),
        ('k in ("x")', Compare("k", "=", "x")),
        ('k not in ("x", 2)', Not(Or((Compare("k", "=", "x"), Compare("k", "=", 2.0))))),
        # `and` binds closer than `or`
        (
            "a = 1 or b = 2 and c = 3",
            Or((Compare("a", "=", 1.0), And((Compare("b", "=", 2.0), Compare("c", "=", 3.0))))),
        ),
        ("AND_x = 1 AND b = 2", And((Compare("AND_x", "=", 1.0), Compare("b", "=", 2.0)))),
        ('`First Name` = "Ada"', Compare("First Name", "=", "Ada")),
        ("`in` is missing and `2024`>3", And((Missing("in"), Compare("2024", ">", 3.0)))),
        ("`a` = 1", Compare("a", "=", 1.0)),
    ],
)
def test_reads(text: str, expected: Filter | None) -> None:
    if expected is None:
        with pytest.raises(QueryError):
            parse(text)
    else:
        assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "lang",
        "lang = ",
        "lang = en",
        "= 1",
        "`` = 1",
        "`a = 1",
        "a = `b`",
        "(a = 1",
        "a = 1)",
        "a = 1 b = 2",
        "a in ()",
        "a in 1",
        "a == 1",
        'a = "x',
        "a = 2025-13-45",
        "a is",
        "a is blue",
        "and",
        "\0",
        "a = \ud800",
        "(" * 200 + "a = 1" + ")" * 200,
    ],
)
def test_refuses_with_the_place_and_a_cure(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert "filter:" in caught.value.message
    assert "write it like" in caught.value.cure


names = st.one_of(
    st.from_regex(r"[a-z_][a-z0-9_.]{0,6}", fullmatch=True),
    st.sampled_from(["and", "IN", "missing", "true", "First Name", " x", "2024", "2024-01-01", "a=b", "x\n", "é é"]),
    st.text(min_size=1, max_size=6).filter(lambda name: "`" not in name),
)
values = st.one_of(st.text(max_size=6), st.booleans(), st.floats(-1e6, 1e6))
tests = st.one_of(
    st.builds(Compare, names, st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "~"]), values),
    st.builds(Missing, names),
)
filters = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(lambda a, b: And((a, b)), inner, inner), st.builds(lambda a, b: Or((a, b)), inner, inner)
    ),
    max_leaves=6,
)


@given(filters)
def test_prints_what_it_reads(expression: Filter) -> None:
    assert parse(str(expression)) == expression


@pytest.mark.parametrize(
    ("stored", "op", "value", "holds"),
    [
        ("en", "=", "en", True),
        ("en", "<", "fr", True),
        ("Straße", "~", "STRASSE", True),
        (3, ">", 2.0, True),
        (3, "=", "3", False),
        ("3", "=", 3.0, False),
        (True, "=", True, True),
        (True, "=", 1.0, False),
        (1, "=", True, False),
        (True, "<", True, False),
        (None, "!=", "x", False),
        (float("nan"), "!=", 1.0, False),
        (["a", "b"], "=", "b", True),
        (["a", "b"], "=", "c", False),
        ([], "!=", "c", False),
        ({"a": 1}, "=", "a", False),
    ],
)
def test_meaning(stored: object, op: str, value: str | float | bool, holds: bool) -> None:
    assert compare_values(stored, op, value) is holds


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "(" * n,
        lambda n: "a=1" + ")" * n,
        lambda n: " or ".join(["(a=1)"] * (n // 9)),
        lambda n: "a in (" + ",".join("1" * (n // 2)) + ")",
        lambda n: "not " * (n // 4) + "a=1",
        lambda n: 'a="' + "\\x" * (n // 2),
        lambda n: " " * n + "a=1" + " " * n,
        lambda n: "(" * 99 + "a=1" + ")" * 99 + " and (a=1)" * (n // 10),
    ],
    ids=["open", "closed", "or", "in", "not", "text", "blanks", "nested"],
)
def test_a_long_filter_takes_linear_time(make) -> None:
    def read(text: str) -> None:
        with contextlib.suppress(QueryError):
            parse(text)

    assert grows_linearly(read, make, size=10_000)


def test_the_error_of_a_long_filter_shows_the_place_only() -> None:
    with pytest.raises(QueryError) as caught:
        parse("a = 1 and " * 10_000 + "?" + " and b = 2" * 10_000)
    assert "…" in caught.value.message
    assert "and⟨here⟩ ? and b = 2" in caught.value.message
    assert len(caught.value.message) < 500
