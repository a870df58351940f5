"""What may reach a terminal, and how numbers look there."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from assay.cli.terminal import (
    format_count,
    format_date,
    format_json,
    format_seconds,
    format_size,
    sanitize,
    sanitize_piece,
)
from assay.cli.views.footer import footer_lines
from assay.cli.views.layout import align_columns, flow_pieces, spread_ends
from assay.cli.views.waterfall import draw_bar, format_number, largest_addend, waterfall_pieces
from assay.config.load import load
from assay.engine.answer import ScorePart
from assay.testing.sample import sample_snapshot
from assay.types import Query

ANY = st.text(st.characters(codec=None))  # lone surrogates too
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(ANY)
def test_safe_text_holds_nothing_a_terminal_acts_on(text: str) -> None:
    for shown in (sanitize(text), sanitize_piece(text), sanitize(text, keep_lines=True)):
        kinds = {unicodedata.category(c) for c in shown if c not in "\n\t"}
        assert not kinds & {"Cc", "Cs"}
        assert not BIDI & set(shown)
        shown.encode()
    assert "\n" not in sanitize(text)


def test_safe_text_shows_what_was_there() -> None:
    assert sanitize("a\x1b[31mb\x07c\x7fd\x9be") == "a␛[31mb␇c␡d\ufffde"
    assert sanitize(" \u202eabc\u2066 \r\n  d ") == "abc d"
    assert sanitize("a\n b", keep_lines=True) == "a\n b"
    assert sanitize_piece(" a  b ") == " a b "


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_json_for_terminals_is_the_same_json(value: object) -> None:
    written = format_json(value)
    assert json.loads(written) == value
    assert not {unicodedata.category(c) for c in written} & {"Cc", "Cs"}
    assert not BIDI & set(written)


@pytest.mark.parametrize(
    ("value", "most", "shown"),
    [
        (1.0, 1.0, "━━━━━━━━"),
        (0.5, 1.0, "━━━━"),
        (0.94, 1.0, "━━━━━━━╸"),
        (1e-9, 1.0, "╸"),
        (0.0, 1.0, ""),
        (0.0, 0.0, ""),
    ],
)
def test_bars(value: float, most: float, shown: str) -> None:
    assert draw_bar(value, most) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1 / 61, ".0164"),
        (30.5, "30.5"),
        (-0.25, "-.2500"),
        (0.0, "0"),
        (1.0, "1"),
        (2.31849, "2.318"),
        (3e-7, "3.0e-07"),
        (200.0, "200"),
        (1e9, "1.0e+09"),
        (0.99999, "1"),
    ],
)
def test_numbers(value: float, shown: str) -> None:
    assert format_number(value) == shown


def test_a_waterfall_reads_as_a_sum() -> None:
    lines = [
        ScorePart("bm25", "add", 1 / 61, 1 / 61, 1),
        ScorePart("dense", "add", 1 / 63, 1 / 61 + 1 / 63, 3),
        ScorePart("normalise", "mul", 30.5, 0.984, None),
        ScorePart("clamp", "set", 0.9, 0.9, None),
    ]
    pieces = [piece.plain for piece in waterfall_pieces(lines, 1 / 61, {}, bars=True)]
    assert pieces == ["bm25 #1 ━━━━━━━━ .0164", "+ dense #3 ━━━━━━━╸ .0159", "× normalise 30.5", "→ clamp .9000"]
    assert waterfall_pieces(lines, 1 / 61, {}, bars=False)[0].plain == "bm25 #1 .0164"


def test_a_ranker_replaces_what_came_before_it() -> None:
    lines = [
        ScorePart("bm25", "add", 0.6, 0.6, 1),
        ScorePart("dense", "add", 0.3, 0.9, 3),
        ScorePart("normalise", "mul", 0.5, 0.45, None),
        ScorePart("learned", "set", 0.1, 0.1, None),
        ScorePart("learned.cosine", "add", 0.2, 0.3, None),
        ScorePart("exact_bonus", "add", 0.1, 0.4, None),
    ]
    assert largest_addend([lines]) == 0.2  # the bars are of what counts
    pieces = [piece.plain for piece in waterfall_pieces(lines, 0.2, {}, bars=True)]
    assert pieces == ["bm25 #1", "dense #3", "→ learned .1000", "+ cosine ━━━━━━━━ .2000", "+ exact_bonus ━━━━ .1000"]


def test_a_score_of_many_parts_shows_the_largest_in_their_order() -> None:
    lines = [ScorePart(f"t{i}", "add", float(i % 7), 0.0, None) for i in range(20)]
    shown = [piece.plain for piece in waterfall_pieces(lines, 6.0, {}, bars=False)]
    assert shown == [
        "t4 4",
        "+ t5 5",
        "+ t6 6",
        "+ t11 4",
        "+ t12 5",
        "+ t13 6",
        "+ t18 4",
        "+ t19 5",
        "… and 12 smaller parts",
    ]


def test_flow_breaks_between_pieces_only() -> None:
    lines = flow_pieces([Text("aaa", "red"), Text("bbb"), Text("cccccccc")], 7)
    assert [line.plain for line in lines] == ["aaa bbb", "cccccccc"]
    assert lines[0].style == ""  # the first piece's colour is its own


def test_both_ends_of_a_line() -> None:
    assert [line.plain for line in spread_ends(Text("left"), Text("right"), 40)] == ["left" + " " * 31 + "right"]
    (cut,) = spread_ends(Text("x" * 100), Text("right"), 40)
    assert cut.plain == "x" * 32 + "…  right"
    assert [line.plain for line in spread_ends(Text("x" * 30), Text("r" * 10), 20)] == [
        "x" * 19 + "…",
        "    " + "r" * 10,
    ]


def test_columns_line_up_by_cells_not_characters() -> None:
    rows = [[Text("键"), Text("1"), Text("a")], [Text("x"), Text("20"), Text("b")]]
    assert [line.plain for line in align_columns(rows, right=(1,), indent=1)] == [" 键   1  a", " x   20  b"]


def test_words_for_numbers() -> None:
    assert [format_count(n, "chunk") for n in (0, 1, 1204)] == ["0 chunks", "1 chunk", "1,204 chunks"]
    assert [format_size(n) for n in (812, 3_400_000, 150_000)] == ["812 B", "3.4 MB", "150 kB"]
    assert [format_seconds(s) for s in (0.25, 3.14, 600)] == ["250 ms", "3.1 s", "10 min"]
    assert [format_date(m) for m in (0.0, 60.0, float("nan"), 1e30)] == ["1970-01-01", "1970-01-01 00:01", "", ""]


def test_the_footer_says_what_the_whole_took() -> None:
    """Steps may run side by side, so their times do not add up to it."""
    answer = replace(load("bm25").run(Query("signing key"), sample_snapshot(), k=2), ms=1234.5)
    facts, times = (line.plain for line in footer_lines(answer, "bm25", 200)[-2:])
    assert facts.startswith("answered · 2 of ")
    assert facts.endswith(" · 1,234 ms")
    assert times == "bm25 4 in 0.0 ms"
