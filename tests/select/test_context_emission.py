"""The text of a context: headers, citations, gaps, and what each sentence costs."""

import pytest
from packing_cases import make_candidates, make_chunk

from assay.select.context.candidates import format_day, format_header, make_pool
from assay.select.context.emission import EmissionCosts, write_context
from assay.text.token_count import count_tokens


def make_example():
    return make_pool(
        make_candidates(
            [
                make_chunk(1, "One. Two. Three.", title="Keys", section="Rotating > Steps", created=1_740_960_000.0),
                make_chunk(2, "Four.", title="Cats"),
                make_chunk(3, "Five.\nSix.", title="Keys", section="Rotating > Steps", created=1_740_960_000.0),
                make_chunk(4, "Seven."),
            ]
        )
    )


def test_sentences_stand_under_their_header_with_citations_and_gaps():
    assert write_context(make_example(), [5, 0, 2, 4, 3, 6]) == (
        "Keys › Rotating › Steps · 2025-03-03\n[1] One. … Three.\n[3] Five.\nSix.\n\nCats\n[2] Four.\n\n[4] Seven."
    )


def test_neighbours_are_joined_as_in_the_text():
    pool = make_pool(make_candidates([make_chunk(1, "One.\n\nTwo.  Three.")]))
    assert write_context(pool, [0, 1, 2]) == "[1] One.\n\nTwo.  Three."
    assert write_context(pool, []) == ""


@pytest.mark.parametrize(
    ("chunk", "header"),
    [
        (make_chunk(1, "x"), ""),
        (make_chunk(1, "x", title="Keys"), "Keys"),
        (make_chunk(1, "x", section="A > B"), "A › B"),
        (make_chunk(1, "x", title="Keys", version="v1.29"), "Keys · v1.29"),
        (make_chunk(1, "x", title="Keys", version=2, created=0.0), "Keys · 2 · 1970-01-01"),
        (make_chunk(1, "x", title="Two\nlines ", version=["a"]), "Two lines"),
    ],
)
def test_headers(chunk, header):
    assert format_header(chunk) == header


@pytest.mark.parametrize(("moment", "day"), [(float("nan"), ""), (1e18, ""), (-1e18, ""), (86_400.0, "1970-01-02")])
def test_days(moment, day):
    assert format_day(moment) == day


def test_a_header_is_paid_once():
    pool = make_example()
    costs = EmissionCosts(pool)
    before = costs.costs()
    header = count_tokens("Keys › Rotating › Steps · 2025-03-03")
    assert before[0] - before[3] == header - count_tokens("Cats")
    costs.take(0)
    after = costs.costs()
    assert after[1] == count_tokens("Two.") + 1, "the chunk is cited and its header is written"
    assert before[4] - after[4] == header + 2, "another chunk under the same header pays for its citation only"
    assert after[3] == before[3]
