"""Links and addresses."""

import pytest

from assay.text.links import extract_links, extract_replacements, list_addresses


def test_kinds_of_links() -> None:
    text = "see [[Keys]], [[Notes/Old.md#top|old]] and [rotation](../security/keys.md#how), ![picture](a.png)"
    assert extract_links(text, "docs/ops/run.md") == [
        ("wiki", "keys"),
        ("wiki", "notes/old"),
        ("markdown", "docs/security/keys"),
    ]


@pytest.mark.parametrize("target", ["https://a.b/c", "mailto:a@b.c", "#top", "//cdn/x", "?q=1"])
def test_what_leaves_the_collection_has_no_address(target: str) -> None:
    assert extract_links(f"[x]({target})", "a.md") == []


def test_a_path_from_the_root() -> None:
    assert extract_links("[x](/docs/Security/)", "a/b.md") == [("markdown", "docs/security")]


def test_a_document_answers_to_its_path_its_name_and_its_title() -> None:
    assert list_addresses("docs/security/keys.md", "Rotating Keys") == [
        "docs/security/keys",
        "security/keys",
        "keys",
        "rotating keys",
    ]
    assert list_addresses("docs/security/README.md", "") == ["docs/security", "security"]
    assert list_addresses("", "") == []
    assert list_addresses("who.md", "World Health Organization", ["WHO", " who ", ""]) == [
        "who",
        "world health organization",
    ]


def test_what_the_metadata_replaces() -> None:
    assert extract_replacements(
        {"supersedes": ["m1", "m2"], "Superseded-By": "PEP 8", "title": "x", "replaces": None}
    ) == [
        ("supersedes", "m1"),
        ("supersedes", "m2"),
        ("supersedes", "pep 8"),
    ]


@pytest.mark.parametrize("piece", ["[x](a", "[[", "[[a|", "[a](b c", "[" * 50, "](" * 20])
def test_brackets_that_never_close(piece: str) -> None:
    assert extract_links(piece * (400_000 // len(piece)), "a") == []
