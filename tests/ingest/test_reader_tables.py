"""JSON lines and tables: one document per record, all or nothing."""

import json
import math

import pytest

from assay.errors import BadFile
from assay.ingest.discovery import read_file
from assay.ingest.readers import csv as csv_reader
from assay.ingest.readers import jsonl
from assay.types import Section

JUNE = 1748736000.0


@pytest.fixture
def read(tmp_path):
    def read(content, name):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_file(path, name))

    return read


def test_jsonl(read):
    lines = [
        {"_id": "a", "title": "T", "text": "x", "metadata": {"n": 1}},
        {"id": 2, "content": "y", "created": "2025-06-01", "importance": 0.5, "tags": ["t"]},
        {"body": "z"},
    ]
    content = "\ufeff" + json.dumps(lines[0]) + "\r\n\n  \n" + json.dumps(lines[1]) + "\n" + json.dumps(lines[2])
    first, second, third = read(content, "c.jsonl")
    assert (first.id, first.title, first.sections) == ("c.jsonl#a", "T", (Section((), "x"),))
    assert first.meta == {"n": 1, "record": "a"}
    assert (second.id, second.created, second.importance) == ("c.jsonl#2", JUNE, 0.5)
    assert second.meta == {"tags": ["t"], "record": "2"}
    assert third.id == "c.jsonl#5"  # its line
    assert math.isnan(third.created)


def test_jsonl_empty(read):
    assert read("", "c.ndjson") == []
    assert read("\n\n", "c.jsonl") == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2: a record is a mapping"),
        ("3", "line 2: a record is a mapping"),
        ("{'id': 1}", "line 2 is not JSON"),
        ('{"id": 3}', "line 2: field 'text' is missing"),
        ('{"text": "x", "created": "?"}', "line 2: field 'created'"),
        ('{"text": "x", "n": ' + "9" * 5000 + "}", "line 2 is not JSON"),
        ("[" * 100_000, "line 2 is not JSON"),
        ('{"id": "a", "text": "again"}', "line 2 has the id of line 1"),
        ('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}', "line 3 has the id of line 2"),
    ],
)
def test_one_bad_line_refuses_the_whole_file_before_the_first_document(tmp_path, line, reason):
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a", "text": "good"}\n' + line + "\n")
    with pytest.raises(BadFile, match=reason) as raised:
        next(iter(read_file(path, "c.jsonl")))
    assert raised.value.cure


def test_jsonl_with_a_line_of_many_megabytes(read, monkeypatch):
    big = json.dumps({"id": "big", "text": "word " * (2 << 20)})
    (document,) = read(big, "c.jsonl")
    assert len(document.sections[0].text) == 5 * (2 << 20)
    monkeypatch.setattr(jsonl, "MOST_CHARACTERS", 1 << 20)
    with pytest.raises(BadFile, match="line 1 has over 1 million characters"):
        read(big, "c.jsonl")


def test_csv_with_a_text_column_is_records(read):
    content = 'ID,Title,Text,Date,price,code\n7,T,"Hello, ""you""\nthere",2025-06-01,5.50,007\n8,,second,,3,1\n'
    first, second = read(content, "t.csv")
    assert (first.id, first.title, first.created) == ("t.csv#7", "T", JUNE)
    assert first.sections == (Section((), 'Hello, "you"\nthere'),)
    assert first.meta == {"record": "7", "Date": "2025-06-01", "price": 5.5, "code": "007"}
    assert second.meta == {"record": "8", "price": 3, "code": "1"}
    assert second.title == ""


def test_csv_without_a_text_column_renders_its_cells(read):
    first, second = read("name;city;;note\nAda;London;x;a;\n\nBo;;;\n".replace("a;\n", "a\n"), "t.csv")
    assert first.id == "t.csv#1"
    assert first.title == "Ada"
    assert first.sections == (Section((), "name: Ada\ncity: London\ncolumn_3: x\nnote: a"),)
    assert first.meta == {"name": "Ada", "city": "London", "column_3": "x", "note": "a"}
    assert second.sections == (Section((), "name: Bo"),)


@pytest.mark.parametrize(
    ("delimiter", "name"), [(",", "t.csv"), (";", "t.csv"), ("\t", "t.csv"), ("|", "t.csv"), ("\t", "t.tsv")]
)
def test_delimiters(read, delimiter, name):
    rows = [["id", "text", "who, when"], ["1", "a", "x"]]
    content = "\n".join(delimiter.join(f'"{c}"' if "," in c else c for c in row) for row in rows)
    (document,) = read(content, name)
    assert document.sections[0].text == "a"
    assert document.meta["who, when"] == "x"


def test_tsv_with_and_without_quotes(read):
    (quoted,) = read('id\ttext\n1\t"a\tb\nc"\n', "t.tsv")
    assert quoted.sections[0].text == "a\tb\nc"
    first, second = read('id\ttext\n1\t"to be" he said\n2\t"unclosed\n', "t.tsv")
    assert first.sections[0].text == '"to be" he said'
    assert second.sections[0].text == '"unclosed'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('id,text\n1,"unclosed\n2,b\n', "line 3 is not a row"),
        ('id,text\n1,"a" b\n', "line 2 is not a row"),
        ("id,text\n1,a\n2,b,c\n", "line 3 has 3 cells under 2 columns"),
        ("id,text\n1,a\n1,b\n", "row 2 has the id of row 1"),
        ("id,text,importance\n1,a,5\n", "row 1: field 'importance'"),
        ("id,text\n" + "1,a\n" * 0 + "1,a\n2,b\n3,\x00\n", "NUL"),
    ],
)
def test_a_bad_row_refuses_the_whole_table(tmp_path, content, reason):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(BadFile, match=reason):
        next(iter(read_file(path, "t.csv")))


def test_columns_without_and_with_the_same_name(read):
    (document,) = read("a,a,,Meta,text\n1,2,3,4,t\n", "t.csv")
    assert document.meta == {"a": 1, "a_2": 2, "column_3": 3, "Meta": 4}
    (document,) = read("meta,section,text\nm,A > B,t\n", "t.csv")
    assert document.meta == {"field_meta": "m"}
    assert document.sections[0].path == ("A", "B")


def test_short_rows_and_blank_texts(read):
    first, second = read("id,text,x\n1,a\n2,,y\n", "t.csv")
    assert first.sections == (Section((), "a"),)
    assert second.sections == ()


def test_empty_tables(read):
    for content in ("", "\n", "id,text\n", "id,text"):
        assert read(content, "t.csv") == []


def test_long_cells_are_text_but_not_metadata(read):
    (document,) = read(f"name,essay\nAda,{'word ' * 300}\n", "t.csv")
    assert "essay" not in document.meta
    assert document.sections[0].text.count("word") == 300


def test_a_cell_without_end(read, monkeypatch):
    monkeypatch.setattr(csv_reader, "MOST_CHARACTERS", 1 << 16)
    with pytest.raises(BadFile, match="not a row of the table"):
        read('id,text\n1,"' + "x" * (1 << 17), "t.csv")


def test_records_say_when_their_encoding_was_guessed(read):
    (document,) = read(b'{"id": 1, "text": "caf\xe9"}', "c.jsonl")
    assert document.sections[0].text == "café"
    assert document.meta["reader_notes"] == ["not UTF-8; read as Windows-1252"]
    (document,) = read(b"id,text\n1,caf\xe9\n", "t.csv")
    assert document.meta["reader_notes"] == ["not UTF-8; read as Windows-1252"]
