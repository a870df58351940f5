"""What fields mean, and how records become documents."""

import json
import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadRecord
from assay.ingest.fields import MOST_FIELDS, parse_fields
from assay.ingest.records import parse_record
from assay.types import Section

JUNE = 1748736000.0


def test_every_kind_of_field():
    facts = parse_fields(
        {
            "Title": "  Signing\nkeys ",
            "date": "2025-06-01",
            "importance": "0.25",
            "tags": "ops, security,, ops",
            "language": "de_AT",
            "author": {"name": "Ada", "desk": {"floor": 3}},
            "reviewers": ["Bo", "Cy"],
            "nested": [{"not": "kept"}],
            "when": date(2024, 1, 5),
            "nan": float("nan"),
            "huge": 2**70,
            "section": "mine",
            7: True,
        }
    )
    assert (facts.title, facts.created, facts.importance) == ("Signing keys", JUNE, 0.25)
    assert facts.meta == {
        "date": "2025-06-01",
        "tags": ["ops", "security"],
        "lang": "de",
        "language": "de_AT",
        "author.name": "Ada",
        "author.desk.floor": 3,
        "reviewers": ["Bo", "Cy"],
        "when": "2024-01-05",
        "huge": "1180591620717411303424",
        "field_section": "mine",
        "7": True,
    }
    json.dumps(facts.meta, allow_nan=False)


def test_the_first_readable_date_counts_and_the_others_are_noted():
    facts = parse_fields({"created": "some day", "date": None, "updated": "2025-06-01"})
    assert facts.created == JUNE
    assert facts.meta["field_created"] == "some day"
    assert facts.meta["updated"] == "2025-06-01"
    assert facts.meta["reader_notes"] == ["field 'created' is 'some day', which is not a date"]


def test_a_readable_created_has_its_place_and_is_not_copied():
    facts = parse_fields({"created": "2025-06-01"})
    assert facts.created == JUNE
    assert facts.meta == {}


def test_no_date_is_nan():
    assert math.isnan(parse_fields({}).created)


@pytest.mark.parametrize("value", [-0.1, 1.1, "high", True, [1], float("inf"), "1e999", 10**400])
def test_importance_is_a_number_from_0_to_1(value):
    with pytest.raises(BadRecord, match="field 'importance'") as raised:
        parse_fields({"importance": value})
    assert "0 to 1" in raised.value.cure


@pytest.mark.parametrize(
    ("value", "code"), [("en-US", "en"), ("PT_br", "pt"), ("no", "no"), ("English", None), ("", None)]
)
def test_languages_are_cut_to_their_code(value, code):
    assert parse_fields({"lang": value}).meta.get("lang") == code


def test_too_many_fields_are_refused():
    with pytest.raises(BadRecord, match=f"more than {MOST_FIELDS}"):
        parse_fields({f"f{n}": n for n in range(MOST_FIELDS + 1)})


def test_a_beir_record():
    record = {"_id": "4983", "title": "Microstructural", "text": "Alterations.", "metadata": {"url": "u", "year": 2003}}
    document = parse_record(record, prefix="scifact/corpus.jsonl#")
    assert document.id == "scifact/corpus.jsonl#4983"
    assert document.title == "Microstructural"
    assert document.sections == (Section((), "Alterations."),)
    assert document.meta == {"url": "u", "year": 2003, "record": "4983"}
    assert math.isnan(document.created)


def test_all_names_of_a_record():
    document = parse_record(
        {
            "id": np.int64(7),
            "body": "b",
            "content": "c",
            "section": "A > B",
            "created": 0,
            "importance": 0,
            "meta": {"x": 1},
            "y": 2,
        }
    )
    assert document.id == "7"
    assert document.sections == (Section(("A", "B"), "c"),)  # `content` is named before `body`, which stays metadata
    assert (document.created, document.importance) == (0.0, 0.0)
    assert document.meta == {"x": 1, "y": 2, "body": "b", "record": "7"}


def test_what_the_record_says_itself_wins_over_its_metadata():
    document = parse_record({"id": "a", "text": "t", "lang": "en", "metadata": {"lang": "de", "title": "from meta"}})
    assert document.meta["lang"] == "en"
    assert document.title == "from meta"


def test_a_bad_date_in_foreign_metadata_is_noted_not_refused():
    document = parse_record({"id": "a", "text": "t", "metadata": {"created": "long ago"}})
    assert math.isnan(document.created)
    assert document.meta["field_created"] == "long ago"
    assert "not a date" in document.meta["reader_notes"][0]


def test_a_record_with_only_a_title_is_found_by_it():
    assert parse_record({"id": "a", "title": "T", "text": ""}).sections == (Section((), "T"),)
    assert parse_record({"id": "a", "title": "T"}).sections == (Section((), "T"),)
    assert parse_record({"id": "a", "text": " \n"}).sections == ()


def test_a_record_without_id_is_named_by_its_place_or_its_content():
    assert parse_record({"text": "t"}, prefix="f#", fallback_id="3").id == "f#3"
    assert "record" not in parse_record({"text": "t"}, fallback_id="3").meta
    assert parse_record({"text": "t"}).id == parse_record({"text": "t"}).id != parse_record({"text": "u"}).id


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ({"id": 1}, "field 'text' is missing"),
        ({"text": None}, "field 'text' is missing"),
        ({"text": 3}, "field 'text' is 3"),
        ({"text": ["a"]}, "field 'text'"),
        ({"id": 1.5, "text": "t"}, "field 'id' is 1.5"),
        ({"id": {"$oid": "x"}, "text": "t"}, "field 'id'"),
        ({"id": "x" * 1001, "text": "t"}, "field 'id' has 1001 characters"),
        ({"text": "t", "metadata": "x"}, "field 'metadata'"),
        ({"text": "t", "section": 4}, "field 'section' is 4"),
        ({"text": "t", "created": "some day"}, "field 'created' is 'some day'"),
        ({"text": "t", "importance": 2}, "field 'importance' is 2"),
        (["text"], "a record is a mapping"),
        ("text", "a record is a mapping"),
    ],
)
def test_a_bad_record_is_refused_by_the_name_of_its_field(record, named):
    with pytest.raises(BadRecord, match=named) as raised:
        parse_record(record)
    assert raised.value.cure


def test_hostile_characters_become_storable():
    document = parse_record({"id": "a\0b", "text": "x\r\ny\rz\ud800\0\x0c.", "title": "\udfff\nT"})
    assert document.sections[0].text == "x\ny\nz\ufffd\ufffd\n."
    assert document.title == "\ufffd T"
    json.dumps([document.id, document.title, document.meta]).encode()


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(
    ["id", "_id", "text", "content", "title", "created", "date", "importance", "tags", "lang", "meta", "section"]
)


@given(st.dictionaries(_names | st.text(max_size=5), _json, max_size=8))
def test_any_json_is_a_document_or_a_bad_record(record):
    try:
        document = parse_record(record)
    except BadRecord:
        return
    json.dumps(document.meta, allow_nan=False).encode()
    f"{document.id}{document.title}{[s.text for s in document.sections]}".encode()
    assert 0 <= document.importance <= 1
