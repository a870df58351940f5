"""Names, identifiers and pairs by their shape; hostile text first."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.text.entities import LONGEST_KEY, extract_entities, extract_query_keys, find_spelling, make_key


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\0",
        "\ud800",
        "A" * 10_000_000,
        "A " * 200_000,
        "a" * 70 + " b",
        "🔑" * 1000,
        "[[" * 100_000,
        "._" * 9999,
        "The Bank of " * 90_000,
    ],
    ids=[
        "empty",
        "blank",
        "nul",
        "surrogate",
        "one line",
        "capitals",
        "long word",
        "emoji",
        "brackets",
        "signs",
        "endless name",
    ],
)
def test_any_text_is_legal(text: str) -> None:
    found = extract_entities(text)
    assert all(0 < len(key) <= LONGEST_KEY for key in (*found.firm, *found.soft))
    extract_query_keys(text)


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_no_text_raises(text: str) -> None:
    extract_entities(text)
    extract_query_keys(text)
    assert make_key(make_key(text)) == make_key(text)


def test_names_inside_a_sentence_are_firm_and_at_its_start_soft() -> None:
    found = extract_entities("Scott Derrickson lives in Los Angeles, near Anna. Yesterday he met Ed Wood.")
    assert found.firm == ["los angeles", "anna", "ed wood"]
    assert found.soft == ["scott derrickson", "yesterday"]


def test_a_small_word_before_a_name_shows_that_it_does_not_begin_the_sentence() -> None:
    assert extract_entities("The World Health Organization met.").firm == ["world health organization"]
    assert extract_entities("the Bank of England and Ludwig van Beethoven").firm == [
        "bank of england",
        "ludwig van beethoven",
    ]


def test_a_heading_makes_no_name() -> None:
    assert extract_entities("How To Rotate Keys in London", heading=True).firm == []


def test_a_long_run_of_capitals_is_a_title() -> None:
    assert extract_entities("she read One Two Three Four Five Six Seven today").firm == []


def test_identifiers_of_any_spelling_are_one() -> None:
    assert {
        key for s in ("JINA_API_KEY", "jina-api_key", "JinaApiKey") for key in extract_entities(f"set {s} now").firm
    } == {"jinaapikey"}
    assert extract_entities("GitHub, Github's").firm == ["github", "github"]


def test_between_digits_a_separator_counts() -> None:
    assert extract_entities("v1.29 is not v12.9").firm == ["v1.29", "v12.9"]
    assert extract_entities("CVE-2024-1234 and cve_2024_1234").firm == ["cve2024.1234", "cve2024.1234"]


def test_short_numbers_are_amounts() -> None:
    assert extract_entities("it costs 9.99 or 404 at 10.0.0.1").firm == ["10.0.0.1"]


def test_pairs_are_plain_words_side_by_side() -> None:
    assert extract_entities("rotate signing keys, then the key vault. Old key").pairs == [
        "rotate signing",
        "signing key",
        "key vault",
    ]


def test_a_query_may_mean_any_run_of_its_words() -> None:
    keys = [meant.key for meant in extract_query_keys("who founded acme corp in IT")]
    assert "acme corp" in keys
    assert "it" in keys  # in capitals it is a name
    assert "who" not in keys
    assert keys.index("acme corp") < keys.index("acme")


def test_other_languages_keep_their_plurals() -> None:
    assert extract_entities("rote autos", "german").pairs == ["rote autos"]


@pytest.mark.parametrize(
    ("text", "key", "written"),
    [
        ("set JINA_API_KEY first", "jinaapikey", "JINA_API_KEY"),
        ("We met Anna\n  Bell.", "anna bell", "Anna Bell"),
        ("two signing keys", "signing key", "signing keys"),
        ("Bank of England", "bank of england", "Bank of England"),
        ("nothing of it", "anna bell", "anna bell"),
        ("", "a", "a"),
        ("a b", "", ""),
        ("\ud800 \0 x" * 9, "link docs/keys", "link docs/keys"),
    ],
)
def test_a_key_is_shown_as_its_chunk_writes_it(text: str, key: str, written: str) -> None:
    assert find_spelling(text, key) == written
