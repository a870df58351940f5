"""Chunks: they fit, they cover, they keep their ids, and they are cut where a reader would cut."""

import json
import math
import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.ingest.chunker import (
    HEADER_LINE,
    LIMIT,
    PROFILES,
    chunk_document,
    chunk_documents,
    chunk_id,
    format_section,
    trim_line,
)
from assay.ingest.files import clean_text
from assay.ingest.packing import SizeLimits, pack_chunks
from assay.ingest.text_units import split_blocks, weigh
from assay.text.token_count import count_tokens
from assay.text.wordpiece import count_pieces
from assay.types import Document, Section

DEFAULT, FINE = PROFILES["default"], PROFILES["fine"]


def document(*texts, title="T", path=("A",), **facts):
    return Document("d", title, tuple(Section(path, text) for text in texts), **facts)


def texts(*given, profile=DEFAULT, **facts):
    return [chunk.text for chunk in chunk_document(document(*given, **facts), profile)]


def words(number, word="word"):
    return " ".join([word] * number)


# What a chunk carries -----------------------------------------------------------------------------------------------


def test_a_chunk_in_full():
    text = "  Keys are rotated every ninety days.\n"
    given = Document(
        "handbook/keys.md",
        "Keys",
        (Section(("Keys", "Rotation"), text),),
        5.0,
        0.5,
        {"lang": "en", "tags": ["ops"], "record": "7"},
    )
    (chunk,) = chunk_document(given, DEFAULT)
    assert chunk.text == "Keys are rotated every ninety days."
    assert (chunk.doc_id, chunk.created, chunk.importance) == ("handbook/keys.md", 5.0, 0.5)
    assert chunk.tokens == count_tokens(chunk.text)
    assert chunk.meta == {
        "title": "Keys",
        "section": "Rotation",
        "start": 2,
        "lang": "en",
        "tags": ["ops"],
        "record": "7",
    }
    assert chunk.indexed_text == "Keys\nRotation\nKeys are rotated every ninety days."
    assert chunk.id == chunk_id("handbook/keys.md", ("Keys", "Rotation"), chunk.text, 0)


def test_the_id_is_fixed_for_all_time():
    assert chunk_id("doc", ("A", "B"), "text", 0) == "vnwcs7yhdzufnsif"  # also what b2sum -l 80 and base32 say
    assert re.fullmatch("[a-z2-7]{16}", chunk_id("\ud800", (), "", 3))


def test_no_text_no_chunks():
    assert chunk_document(document(), DEFAULT) == []
    assert chunk_document(document("", " \n\t", "\u3000"), FINE) == []


def test_many_documents_at_once_are_each_as_alone():
    documents = [document("one.", title="1"), document(), document("one.", words(600), title="3")]
    assert repr(chunk_documents(documents, FINE)) == repr([chunk_document(d, FINE) for d in documents])
    assert chunk_documents([], FINE) == []


def test_an_undated_document_has_undated_chunks():
    (chunk,) = chunk_document(document("x"), DEFAULT)
    assert math.isnan(chunk.created)


def test_the_language_is_told_once_where_nobody_said_it():
    english = "The signing key is rotated every ninety days by the platform team, and never by hand."
    (chunk,) = chunk_document(document(english), DEFAULT)
    assert chunk.meta["lang"] == "en"
    (chunk,) = chunk_document(document(english, meta={"lang": "xx"}), DEFAULT)
    assert chunk.meta["lang"] == "xx"


# Headers ------------------------------------------------------------------------------------------------------------


def test_section_lines():
    assert format_section((), "T") == ""
    assert format_section(("T",), "T") == ""
    assert format_section(("T", "A", "B"), "T") == "A > B"
    assert format_section(("A", "T"), "T") == "A > T"
    long = tuple(f"heading number {n} of many" for n in range(9))
    assert format_section(long, "").startswith("… > ")
    assert format_section(long, "").endswith(long[-1])


@given(st.text(max_size=300), st.lists(st.text(max_size=80), max_size=6))
@example("x" * 5000, ["[" * 400, "字" * 400])
@example(words(200), [words(200), words(200)])
def test_headers_are_one_line_of_bounded_weight(title, path):
    for line in (trim_line(title, HEADER_LINE), format_section(tuple(path), title)):
        assert "\n" not in line
        assert count_pieces(line) <= HEADER_LINE
        assert len(line) <= HEADER_LINE * 20


# Where it is cut ----------------------------------------------------------------------------------------------------


def test_what_fits_is_not_cut():
    text = f"{words(90)}.\n\n{words(90)}."
    assert texts(text) == [text]


def row(tokens):
    """A table of one row that weighs so much: the bar is a token, and so is every letter."""
    return "|" + " a" * (tokens - 1)


def test_the_model_reads_256_tokens_and_adds_two_of_them():
    (whole,) = chunk_document(document(row(254), title="", path=()), DEFAULT)
    assert count_pieces(whole.indexed_text) + 2 == 256
    assert len(texts(row(255), title="", path=())) == 2
    titled = chunk_document(document(row(253), title="T", path=()), DEFAULT)
    assert [count_pieces(chunk.indexed_text) + 2 for chunk in titled] == [256]
    assert len(texts(row(254), title="T", path=())) == 2


def test_a_fine_chunk_holds_at_most_90():
    assert len(texts(row(90), profile=FINE)) == 1
    assert len(texts(row(91), profile=FINE)) == 2


def test_a_header_line_has_32_tokens_at_most():
    assert trim_line(words(32, "a"), HEADER_LINE) == words(32, "a")
    assert trim_line(words(33, "a"), HEADER_LINE) == words(31, "a") + "…"


def test_a_chunk_that_is_less_than_half_full_takes_sentences_of_the_next_paragraph():
    paragraph = " ".join([f"This {words(7)} end."] * 18)  # of ten tokens each
    assert [count_pieces(chunk) for chunk in texts(f"{words(80)}\n\n{paragraph}")] == [200, 60]
    assert [count_pieces(chunk) for chunk in texts(f"{words(100)}\n\n{paragraph}")] == [100, 180]


def test_sections_are_never_joined():
    assert texts("one.", "two.") == ["one.", "two."]


def test_a_half_full_chunk_ends_at_its_paragraph():
    first, second = f"{words(120)}.", f"{words(120)}."
    assert texts(f"{first}\n\n{second}") == [first, second]


def test_a_long_paragraph_is_cut_between_sentences():
    sentence = f"This {words(37)} end."  # 40 tokens
    chunks = texts(" ".join([sentence] * 12))
    assert [chunk.count("end.") for chunk in chunks] == [5, 5, 2]
    assert all(chunk.startswith("This ") and chunk.endswith("end.") for chunk in chunks)


def test_a_small_rest_joins_the_chunk_before():
    sentence = f"This {words(37)} end."
    chunks = texts(" ".join([sentence] * 5) + " A rest.")
    assert len(chunks) == 1


def test_fine_chunks_share_a_rest_evenly():
    sentence = f"This {words(17)} end."  # 20 tokens
    chunks = texts(" ".join([sentence] * 5), profile=FINE)
    assert [chunk.count("end.") for chunk in chunks] == [2, 3] or [chunk.count("end.") for chunk in chunks] == [3, 2]


def test_fine_chunks_have_40_to_90_tokens():
    prose = " ".join(f"Sentence number {n} speaks about {words(n % 13, 'keys')} and ends." for n in range(200))
    sizes = [count_pieces(chunk) for chunk in texts(prose, profile=FINE)]
    assert all(40 <= size <= 90 for size in sizes)


def test_a_long_sentence_is_cut_after_a_clause():
    clause = f"{words(59)},"
    chunks = texts(" ".join([clause] * 5))
    assert len(chunks) == 2
    assert chunks[0].endswith(",")
    assert chunks[0].count(",") == 3


def test_a_long_sentence_without_clauses_is_cut_between_words():
    chunks = texts(words(600))
    assert [len(chunk.split()) for chunk in chunks] == [200, 200, 200]


def test_a_word_without_end_is_cut_between_characters():
    blob = "aB3/" * 5000
    chunks = texts(blob)
    assert "".join(chunks) == blob
    assert len(chunks) < 200


def test_ten_megabytes_without_a_space_are_many_chunks():
    blob = "x" * (10 << 20)
    chunks = texts(blob)
    assert "".join(chunks) == blob
    assert max(map(len, chunks)) <= 16 * LIMIT


def test_code_stays_whole_with_its_introduction_when_it_fits():
    code = "```sh\n" + "\n\n".join(f"rotate key{n}" for n in range(40)) + "\n```"  # 163 tokens and blank lines
    text = f"{words(60)}.\n\nRun this:\n\n{code}\n\n{words(120)}."
    chunks = texts(text)
    assert chunks[1] == f"Run this:\n\n{code}" or chunks[0].endswith(code)
    assert sum(code in chunk for chunk in chunks) == 1


def test_code_that_does_not_fit_is_cut_between_lines():
    lines = [f"rotate --key key{n} --now" for n in range(100)]
    chunks = texts("```\n" + "\n".join(lines) + "\n```")
    assert len(chunks) > 2
    assert all(line in lines or line == "```" for chunk in chunks for line in chunk.split("\n"))


def test_a_table_stays_whole_when_it_fits():
    table = "\n".join(f"| key{n} | {n} |" for n in range(25))
    text = f"{words(80)}.\n\n{table}\n\n{words(80)}."
    assert count_pieces(table) == 150
    assert sum(table in chunk for chunk in texts(text)) == 1


def test_blocks_are_not_cut_inside_a_fence():
    text = "one\n\n- item\n  ```py\n  a\n\n  b\n  ```\n\ntwo\n\n~~~\nunclosed\n\nend"
    assert [text[b.start : b.end] for b in split_blocks(text, 200)] == [
        "one",
        "- item",
        "```py\n  a\n\n  b\n  ```",
        "two",
        "~~~\nunclosed\n\nend",
    ]


def test_wide_gaps_are_not_free():
    assert texts("a" + "\n" * 100_000 + "b") == ["a", "b"]
    assert texts("a" + " " * 100_000 + "b") == ["a", "b"]
    assert all(len(chunk) < 10_000 for chunk in texts(("a" + " " * 60) * 10_000))


# Ids ----------------------------------------------------------------------------------------------------------------


def ids(text):
    return [chunk.id for chunk in chunk_document(document(text), DEFAULT)]


def test_the_same_text_twice_has_two_ids_that_stay():
    paragraph = f"{words(150)}."
    one, two = ids(paragraph), ids(f"{paragraph}\n\n{paragraph}")
    assert len(set(two)) == 2
    assert two[0] == one[0]


def test_ids_differ_by_document_and_section_but_not_by_title():
    same = [
        chunk_document(Document("d", "T", (Section(("A",), "x"),)), DEFAULT)[0].id,
        chunk_document(Document("e", "T", (Section(("A",), "x"),)), DEFAULT)[0].id,
        chunk_document(Document("d", "T", (Section(("B",), "x"),)), DEFAULT)[0].id,
    ]
    assert len(set(same)) == 3
    assert chunk_document(Document("d", "U", (Section(("A",), "x"),)), DEFAULT)[0].id == same[0]


@settings(max_examples=60)
@given(st.lists(st.integers(20, 160), min_size=20, max_size=30), st.integers(0, 19), st.integers(1, 150))
def test_an_edited_paragraph_touches_only_its_surroundings(sizes, place, size):
    paragraphs = [f"Paragraph {n} {words(size)}." for n, size in enumerate(sizes)]
    before = ids("\n\n".join(paragraphs))
    paragraphs[place] = f"Edited {words(size)}."
    after = ids("\n\n".join(paragraphs))
    changed = len(set(after) - set(before))
    assert changed <= 12  # the cuts fall into step again within a few paragraphs


def test_an_edit_in_one_section_leaves_the_others_alone():
    def chunks(bodies):
        return chunk_document(Document("d", "T", tuple(Section((str(n),), b) for n, b in enumerate(bodies))), DEFAULT)

    bodies = [f"Section {n}. " + " ".join(f"Sentence {n} {m} {words(20)}." for m in range(30)) for n in range(5)]
    before = {chunk.id for chunk in chunks(bodies)}
    bodies[2] = bodies[2].replace("Sentence 2 0", "Edited")
    new = [chunk for chunk in chunks(bodies) if chunk.id not in before]
    assert [chunk.section for chunk in new] == ["2"]


# Laws ---------------------------------------------------------------------------------------------------------------

HOSTILE = st.sampled_from(
    [
        *(
            "a",
            "word",
            "Sentence one. ",
            "end.",
            " ",
            "\n",
            "\n\n",
            "\t",
            "\r\n",
            "\x0c",
            "\x85",
            "\u2028",
            "\u3000",
            "\0",
            "\ud800",
        ),
        *(
            "```\n",
            "~~~",
            "| a | b |\n",
            "# h\n",
            "- item\n",
            "字",
            "字。",
            "これは文です。",
            "한국어",
            "é",
            "e\u0301",
            "ﬁ",
            "İ",
            "ß",
            "👩‍👩‍👧",
        ),
        *(
            "[CLS]",
            "[UNK",
            "]",
            "x" * 99,
            "x" * 101,
            "aB3/" * 60,
            "http://a.b/c?d=e",
            "\u200b",
            "\u00ad",
            "\ufeff",
            "म",
            "؟ ",
            ", ",
        ),
        *(words(30), words(70) + ". ", words(260), "字" * 300, "!" * 300, " " * 200, "\n" * 50, "a." * 100),
    ]
)
TEXTS = st.lists(HOSTILE, max_size=60).map("".join) | st.text(max_size=200)


def ink(text):
    return "".join(text.split())


@settings(max_examples=400)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from([DEFAULT, FINE]), TEXTS, st.lists(TEXTS, max_size=3))
def test_chunks_fit_and_cover_everything_once_in_order(bodies, profile, title, path):
    given_document = Document("d", title, tuple(Section(tuple(path), body) for body in bodies))
    chunks = chunk_document(given_document, profile)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert count_pieces(chunk.indexed_text) <= LIMIT
        assert count_pieces(chunk.text) <= profile.most
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.tokens == count_tokens(chunk.text)
        json.dumps(chunk.meta, allow_nan=False).encode()
        chunk.indexed_text.encode()
    queue = list(chunks)
    for body in map(clean_text, bodies):
        mine, position, covered = [], 0, 0
        while covered < len(ink(body)):
            chunk = queue.pop(0)
            assert chunk.meta["start"] >= position
            position = chunk.meta["start"] + len(chunk.text)
            assert body[chunk.meta["start"] : position] == chunk.text
            mine.append(ink(chunk.text))
            covered += len(mine[-1])
        assert "".join(mine) == ink(body)
    assert not queue


@settings(max_examples=300)
@given(TEXTS, st.integers(1, 30), st.integers(0, 40), st.integers(0, 60))
def test_packing_holds_for_any_room(text, least, more, most):
    text = clean_text(text)
    room = SizeLimits(least, least + more, least + more + most)
    spans = pack_chunks(text, room)
    assert ink("".join(text[start:end] for start, end in spans)) == ink(text)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(
        count_pieces(text[start:end]) <= max(room.most, 4) for start, end in spans
    )  # one character may be four tokens


@given(TEXTS)
def test_weight_is_never_below_the_tokens(text):
    assert weigh(text) >= count_pieces(text)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_profiles_are_sensible(profile):
    assert 0 < profile.least < profile.target <= profile.most <= LIMIT
    assert profile is PROFILES[profile.name]
