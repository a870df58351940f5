"""What of a query must be found exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.text.identifiers import extract_identifiers
from assay.text.normalisation import normalise

NAMES = [
    *("JINA_API_KEY", "__init__", "camelCaseName", "GitHub", "v1.29.3", "CVE-2024-1234", "gpt-4", "sha256", "k8s"),
    *("#34524", "10.0.0.1", "99999", "foo.bar.baz", ".NET", "/etc/hosts", "a/b/c", "user@example.com", "C++", "C#"),
    *("--dry-run", "2024-01-15", "docs.example.com/x", "log4j-2.17.1.jar", "3.5"),
]
WORDS = [
    *("word", "Word", "WORD", "NASA", "APIs", "404", "2024", "1,000", "3rd", "1990s", "e.g.", "U.S.", "don't"),
    *("state-of-the-art", "and/or", "O'Brien", "naïve", "日本語", "😀", "???", "_emphasis_", "John's"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    assert extract_identifiers(f"where is {name} set?") == [normalise(name)]


@pytest.mark.parametrize("word", WORDS)
def test_words(word: str) -> None:
    assert extract_identifiers(f"where is {word} set?") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('say "Exact  Phrase" twice', ["exact phrase"]),
        ("run `kubectl apply -f x.yaml` now", ["kubectl apply -f x.yaml"]),
        ("“curly one” «two» „drei“ 「四」", ["curly one", "two", "drei", "四"]),
        ('GitHub and "a b" and GITHUB_TOKEN and GitHub', ["github", "a b", "github_token"]),
        ('an open " quote v2.0', ["v2.0"]),
        ('""', []),
        ('" "', []),
        ("", []),
        ("https://a.example.com/x/y", ["a.example.com/x/y"]),
        ("</div>", []),
        ('"' + "x" * 300 + '"', []),  # a phrase is short
    ],
)
def test_queries(query: str, found: list[str]) -> None:
    assert extract_identifiers(query) == found


@settings(max_examples=300, deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from('aB1_.-/\\@#+"`“”«» ')), max_size=60))
def test_any_query_gives_normal_forms_once(text: str) -> None:
    found = extract_identifiers(text)
    assert all(name and normalise(name) == name for name in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("quote", "found"), [('"', ["a"]), ("`", ["a"]), ("“", []), ("«", []), ("„", []), ("「", [])])
def test_a_long_query_of_stray_quotes_is_read_to_the_end(quote: str, found: list[str]) -> None:
    assert extract_identifiers(f"{quote}a " * 30_000) == found
