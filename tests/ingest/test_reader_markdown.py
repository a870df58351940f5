"""Markdown, reStructuredText and plain text: front matter, headings, encodings, and what is no text at all."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import BadFile
from assay.ingest import files, outline
from assay.ingest.discovery import read_file
from assay.types import Section

JUNE = 1748736000.0


@pytest.fixture
def read(tmp_path):
    def read(content, name="a.md"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_file(path, f"docs/{name}"))

    return read


def sections(read, content, name="a.md"):
    (document,) = read(content, name)
    return [(" > ".join(section.path), section.text) for section in document.sections]


def test_a_whole_file(read):
    (document,) = read(
        """---
title: Signing keys
date: 2025-06-01
tags: [security, ops]
lang: en-GB
importance: 0.8
owner: {team: platform}
draft: no
---
Before any heading.

# Keys

How keys are kept.

## Rotation

Every ninety days.
"""
    )
    assert document.id == "docs/a.md"
    assert (document.title, document.created, document.importance) == ("Signing keys", JUNE, 0.8)
    assert document.meta == {
        "date": "2025-06-01",
        "tags": ["security", "ops"],
        "lang": "en",
        "owner.team": "platform",
        "draft": "no",
    }
    assert document.sections == (
        Section((), "Before any heading."),
        Section(("Keys",), "How keys are kept."),
        Section(("Keys", "Rotation"), "Every ninety days."),
    )


def test_toml_front_matter(read):
    (document,) = read('+++\ntitle = "T"\ndate = 2025-06-01T12:00:00+02:00\n[extra]\nkind = "guide"\n+++\nText\n')
    assert (document.title, document.created) == ("T", JUNE + 10 * 3600)
    assert document.meta == {"date": "2025-06-01T12:00:00+02:00", "extra.kind": "guide"}


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_make_no_difference(read, ends):
    content = "---\ntitle: T\n---\n# A\n\nx\ny\n\nB\n==\nz\n".replace("\n", ends)
    assert sections(read, content) == [("A", "x\ny"), ("B", "z")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_with_and_without_marks(read, encoding):
    (document,) = read("---\ntitle: Zürich\n---\n# Größe\n\n“fünf” €\n".encode(encoding))
    assert document.title == "Zürich"
    assert document.sections == (Section(("Größe",), "“fünf” €"),)
    assert document.meta == {}


def test_broken_utf8_is_windows_1252_with_a_note(read):
    (document,) = read("caf\xe9 \x93quoted\x94 \x81".encode("latin-1"), "a.txt")
    assert document.sections[0].text == "café “quoted” \ufffd"
    assert document.meta["reader_notes"] == ["not UTF-8; read as Windows-1252"]


def test_the_encoding_is_told_from_the_whole_file(read):
    late = b"x\n" * files.BLOCK + b"caf\xe9\n"
    (document,) = read(late, "a.txt")
    assert document.sections[-1].text.endswith("café")
    split = b"x" * (files.BLOCK - 1) + "é".encode()  # a character across two blocks is no error
    (document,) = read(split, "a.txt")
    assert "reader_notes" not in document.meta


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"text\0text", "NUL"),
        (b"x" * (2 << 20) + b"\0", "NUL"),
        ("no mark".encode("utf-16-le"), "NUL"),
        (b"%PDF-1.7\n", "is a PDF"),
        (b"PK\x03\x04\x14", "is a zip archive"),
        (b"\x89PNG\r\n", "is a PNG image"),
        (b"\x1f\x8b\x08", "is a gzip archive"),
        (b"<!DOCTYPE html>\n<p>x", "is an HTML page"),
        (b"\n <!-- saved -->\n<html lang=en>", "is an HTML page"),
        (b"\xff\xfeabc", "says it is utf-16"),
        (b"\xef\xbb\xbfcaf\xe9", "says it is utf-8-sig"),
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.rst", "a.jsonl", "a.csv"])
def test_what_is_not_text_is_refused(read, content, reason, name):
    with pytest.raises(BadFile, match=reason) as raised:
        read(content, name)
    assert name in raised.value.message
    assert raised.value.cure


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("title: [unclosed\nb: 1", "not YAML, line 3"),
        ("a: 1\n\tb: 2", "not YAML, line 3"),
        ("a: b: c", "not YAML, line 2"),
        ("importance: 3", "field 'importance' is 3"),
        ("a: &x 1\nb: *x", "an alias"),
        ("[" * 60_000, "more than 20 levels"),
        ("- " * 30_000 + "a", "more than 20 levels"),
        ("a: !!python/object/apply:os.system [id]", "not YAML, line 2"),
    ],
)
def test_broken_front_matter_costs_a_note_not_the_page(read, front, reason):
    (document,) = read(f"---\n{front}\n---\ntext below")
    (note,) = document.meta["reader_notes"]
    assert reason in note
    assert document.sections[-1].text.endswith("text below")
    assert document.importance == 1.0


def test_the_words_of_broken_front_matter_stay_in_the_text(read):
    (document,) = read("---\ntitle: Kiln: cleaning\n---\n# Kiln\ntext")
    assert [s.text for s in document.sections] == ["title: Kiln: cleaning", "text"]
    assert document.title == "Kiln"


def test_one_bad_field_leaves_the_others(read):
    (document,) = read("---\ntitle: T\nimportance: 3\nteam: ops\n---\ntext")
    assert (document.title, document.meta["team"]) == ("T", "ops")


def test_more_fields_than_are_kept(read):
    fields = "\n".join(f"f{n}: {n}" for n in range(600))
    (document,) = read(f"---\n{fields}\n---\ntext")
    assert document.meta["f499"] == 499
    assert "f500" not in document.meta
    assert "only the first 500" in document.meta["reader_notes"][0]


def test_broken_toml_names_the_line(read):
    (document,) = read("+++\na = 1\nb = = 2\n+++\nText.")
    assert "not TOML, line 3" in document.meta["reader_notes"][0]


def test_unclosed_front_matter_is_noted_when_it_has_fields(read):
    (document,) = read("---\ntitle: T\n\nText.\n")
    assert "never closes" in document.meta["reader_notes"][0]
    assert document.sections[0].text == "title: T\n\nText."


@pytest.mark.parametrize("content", ["---\nA rule, then text.\n", "---\n\nText\n\n---\n\nMore", "---\n- a\n- b\n---\n"])
def test_rules_at_the_top_are_text(read, content):
    (document,) = read(content)
    assert "".join(s.text for s in document.sections).split() == content.split()


def test_an_unreadable_date_is_kept_and_noted(read):
    (document,) = read("---\ndate: 2025-13-45\n---\nx")
    assert math.isnan(document.created)
    assert document.meta["date"] == "2025-13-45"
    assert "not a date" in document.meta["reader_notes"][0]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("# A\n```sh\n# not a heading\n```\nb", [("A", "```sh\n# not a heading\n```\nb")]),
        ("~~~\n# x\n```\n~~~~\n# B\nc", [("", "~~~\n# x\n```\n~~~~"), ("B", "c")]),
        ("- item\n  ```\n# x\n  ```\n# B\nc", [("", "- item\n  ```\n# x\n  ```"), ("B", "c")]),
        ("``` inline ``` code\n# B\nc", [("", "``` inline ``` code"), ("B", "c")]),
        ("```\nunclosed\n# x", [("", "```\nunclosed\n# x")]),
        ("<!--\n# x\n-->\n# B\nc", [("", "<!--\n# x\n-->"), ("B", "c")]),
        ("    # indented code", [("", "    # indented code")]),
        ("#hashtag\n####### seven", [("", "#hashtag\n####### seven")]),
        ("## B ##\nc", [("B", "c")]),
        ("# [A *b*](url) `c` {#anchor}\nx", [("A b c", "x")]),
        ("# snake_case_name\nx", [("snake_case_name", "x")]),
        ("A\n===\nx\n\nB\n---\ny", [("A", "x"), ("A > B", "y")]),
        ("para\nof two\n---\ny", [("", "para\nof two\n---\ny")]),
        ("- item\n---\ny", [("", "- item\n---\ny")]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", [("", "| a | b |\n|---|---|\n| 1 | 2 |")]),
        ("x\n\n---\n\ny", [("", "x\n\n---\n\ny")]),
        ("# A\n### C\nx\n## B\ny", [("A > C", "x"), ("A > B", "y")]),
        ("# A\n## B\n## C\n", [("A > B", "B"), ("A > C", "C")]),
        ("# A\n\n# A\nx", [("A", "A"), ("A", "x")]),
        ("#\nx", [("", "x")]),
    ],
)
def test_headings(read, content, expected):
    assert sections(read, content) == expected


def test_titles_come_from_front_matter_then_the_first_heading_then_the_name(read):
    assert read("---\ntitle: F\n---\n# H\nx")[0].title == "F"
    assert read("intro\n# H\nx")[0].title == "H"
    assert read("## H\nx")[0].title == "a"
    assert read("x", "CVE-2024-1234.v2.md")[0].title == "CVE-2024-1234.v2"


def test_pictures_written_into_the_text_are_left_out(read):
    (document,) = read("see ![x](data:image/png;base64," + "iVBORw0KGgo" * 500 + ") here")
    assert document.sections[0].text == "see ![x](data:) here"


def test_an_empty_file_is_an_empty_document(read):
    for content in ("", "\n \n", "\ufeff"):
        (document,) = read(content)
        assert document.sections == ()


def test_rst_levels_follow_their_first_appearance(read):
    content = "=====\nTitle\n=====\n\nintro\n\nOne\n---\n\nx\n\nTwo\n~~~\n\ny\n\nThree\n-----\nz\n\nnot a title:\n--\n"
    assert sections(read, content, "a.rst") == [
        ("Title", "intro"),
        ("Title > One", "x"),
        ("Title > One > Two", "y"),
        ("Title > Three", "z\n\nnot a title:\n--"),
    ]


def test_a_line_of_ten_megabytes(read):
    word = "lorem "
    (document, *more) = read(word * ((10 << 20) // len(word)), "a.txt")
    assert [d.id for d in more] == ["docs/a.txt#part-2"]
    found = " ".join(section.text for d in (document, *more) for section in d.sections).split()
    assert len(found) == (10 << 20) // len(word)
    assert set(found) == {"lorem"}  # long lines are cut between words


def test_a_huge_text_is_several_documents_of_bounded_size(read, monkeypatch):
    monkeypatch.setattr(outline, "PIECE", 1000)
    monkeypatch.setattr(outline, "PART", 5000)
    lines = [f"line {n}." if n % 7 else "" for n in range(3000)]
    parts = read("# Head\n" + "\n".join(lines))
    assert len(parts) > 3
    assert [part.id for part in parts[:3]] == ["docs/a.md", "docs/a.md#part-2", "docs/a.md#part-3"]
    assert {part.title for part in parts} == {"Head"}
    assert all(sum(len(s.text) for s in part.sections) <= 5000 for part in parts)
    assert all(len(s.text) <= 2100 for part in parts for s in part.sections)
    assert all(s.path == ("Head",) for part in parts for s in part.sections)
    text = "\n".join(s.text for part in parts for s in part.sections)
    assert text.split() == " ".join(lines).split()


@settings(max_examples=200)
@given(st.text(alphabet=st.sampled_from("#=-`~ab \n\r\t|*+"), max_size=80))
def test_no_word_is_lost_between_headings(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("md") / "a.md"
    path.write_bytes(("\n" + text).encode())  # not at the top: no front matter
    words = {letter for letter in text if letter in "ab"}
    (document,) = read_file(path, "a.md")
    content = "".join(" ".join(s.path) + s.text for s in document.sections)
    assert words <= set(content)
    assert content.count("a") >= text.count("a")
