"""The window that shows why a text was found."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.text.analyser import Analyser
from assay.text.highlight import find_excerpt
from assay.types import Excerpt

ENGLISH = Analyser()
TEXT = (
    "Keys are secret. The weather in Lisbon is fine. To rotate the signing key, run it first. "
    "It prints what would change. The old key stays valid for a day."
)


def marked(found: Excerpt) -> list[str]:
    return [found.text[start:end] for start, end in found.marks]


def test_the_densest_window_wins_and_is_whole_sentences() -> None:
    found = find_excerpt(TEXT, ENGLISH.query_terms("how do I rotate the signing key?"), ENGLISH, 60)
    assert found.text == "To rotate the signing key, run it first."
    assert marked(found) == ["rotate", "signing", "key"]
    assert found.terms == ("key", "rotat", "sign")
    assert (found.cut_before, found.cut_after) == (True, True)


def test_the_earliest_of_equals_wins() -> None:
    found = find_excerpt(TEXT, ["key"], ENGLISH, 20)
    assert found.text == "Keys are secret."
    assert (found.start, found.cut_before, found.cut_after) == (0, False, True)


def test_a_sentence_that_does_not_fit_is_cut_between_words() -> None:
    found = find_excerpt("one two three four needle five six seven eight", ["needl"], ENGLISH, 21)
    assert found.text == "four needle five six"
    assert marked(found) == ["needle"]


def test_a_whole_text_that_fits_is_shown_whole() -> None:
    found = find_excerpt(TEXT, ["key"], ENGLISH, 1_000)
    assert found.text == TEXT
    assert (found.cut_before, found.cut_after) == (False, False)


def test_without_a_hit_the_beginning_is_shown() -> None:
    found = find_excerpt(TEXT, ["zebra"], ENGLISH, 30)
    assert (found.text, found.marks, found.terms) == ("Keys are secret.", (), ())


def test_a_compound_is_one_mark() -> None:
    found = find_excerpt("set JINA_API_KEY now", ENGLISH.query_terms("JINA_API_KEY"), ENGLISH, 80)
    assert marked(found) == ["JINA_API_KEY"]
    assert found.terms == ("api", "jina", "jina_api_key", "key")


def test_unspaced_script_is_cut_at_sentences() -> None:
    text = "今日は天気が良いので散歩に行きました。署名鍵を回転する方法を説明します。" * 3
    found = find_excerpt(text, ENGLISH.query_terms("署名鍵"), ENGLISH, 20)
    assert found.text == "署名鍵を回転する方法を説明します。"
    assert marked(found) == ["署名鍵"]


WORDS = st.sampled_from(
    ["key", "Keys", "rotate", "JINA_API_KEY", "the", ".", "\n\n", "日本語", "x" * 50, " ", ". ", "é", "\ud800"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=40).map(" ".join), st.integers(-1, 120))
def test_laws(text: str, width: int) -> None:
    terms = ["key", "rotat", "jina_api_key", "日本"]
    found = find_excerpt(text, terms, ENGLISH, width)
    assert found.text == text[found.start : found.end]
    assert len(found.text) <= max(width, 1)
    assert all(0 <= start < end <= len(found.text) for start, end in found.marks)
    assert all(one[1] <= other[0] for one, other in pairwise(found.marks))
    assert bool(found.marks) == bool(found.terms)
    assert set(found.terms) <= set(terms)
    fitting = {term for term, start, end in ENGLISH.spans(text) if term in terms and end - start <= max(width, 1)}
    assert bool(found.terms) == bool(fitting), "if one hit fits, one is shown"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["key", "rotate", "sign", "the", "of"]), max_size=30), st.integers(1, 60))
def test_no_window_of_words_shows_more_terms(words: list[str], width: int) -> None:
    """Against every window there is."""
    text, terms = " ".join(words), {"key", "rotat", "sign"}
    hits = [(term, start, end) for term, start, end in ENGLISH.spans(text) if term in terms]
    most = max(
        (len({t for t, a, b in hits if a >= left and b <= left + width}) for _, left, _ in hits),
        default=0,
    )
    assert len(find_excerpt(text, terms, ENGLISH, width).terms) == most
