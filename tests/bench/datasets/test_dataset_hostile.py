"""Invalid folders: every error names the file and the line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from dataset_folder import DOCUMENTS, QUERIES, describe, write

from assay.bench.datasets import DatasetError, load

Damage = Callable[[Path], object]


def _line(name: str, line: bytes) -> Damage:
    """A folder with one more line in a file."""

    def damage(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.write(line + b"\n")

    return damage


def _row(name: str, row: object) -> Damage:
    return _line(name, json.dumps(row).encode())


CORPUS, ASKED, QRELS = "corpus.jsonl", "queries.jsonl", "qrels/test.tsv"
LINES = {
    "half a JSON line": (_line(CORPUS, b'{"_id": "d4", "te'), "corpus.jsonl:4 is no JSON"),
    "not a mapping": (_row(CORPUS, ["d4"]), r"corpus.jsonl:4 is \['d4'\], not a mapping"),
    "NaN": (
        _line(CORPUS, b'{"_id": "d4", "text": "x", "metadata": {"a": NaN}}'),
        "corpus.jsonl:4 holds NaN, which",
    ),
    "too deep": (_line(CORPUS, b"[" * 100_000), "corpus.jsonl:4 is no JSON"),
    "a NUL byte": (_line(CORPUS, b'{"_id": "d4", "text": "\0"}'), "corpus.jsonl:4 holds a NUL byte"),
    "Latin-1": (_line(CORPUS, '{"_id": "d4", "text": "Küche"}'.encode("latin-1")), "corpus.jsonl:4 is not UTF-8"),
    "no id": (_row(CORPUS, {"text": "x"}), "corpus.jsonl:4 has no '_id'"),
    "no text": (_row(CORPUS, {"_id": "d4"}), "corpus.jsonl:4 has no 'text'"),
    "a number for a text": (_row(CORPUS, {"_id": "d4", "text": 4}), "corpus.jsonl:4: 'text' is 4, not a text"),
    "a true id": (_row(CORPUS, {"_id": True, "text": "x"}), "corpus.jsonl:4: '_id' is True"),
    "an id with blanks": (_row(CORPUS, {"_id": " d4", "text": "x"}), "corpus.jsonl:4: ' d4' cannot be an id"),
    "an id with a surrogate": (_row(CORPUS, {"_id": "\ud800", "text": "x"}), "corpus.jsonl:4: .* cannot be an id"),
    "metadata as a list": (_row(CORPUS, {"_id": "d4", "text": "x", "metadata": []}), "corpus.jsonl:4: 'metadata'"),
    "importance out of range": (
        _row(CORPUS, {"_id": "d4", "text": "x", "metadata": {"importance": 7}}),
        "corpus.jsonl:4: field 'importance' is 7",
    ),
    "an infinite number": (
        _line(CORPUS, b'{"_id": "d4", "text": "x", "metadata": {"a": 1e999}}'),
        "corpus.jsonl:4 holds 1e999, which",
    ),
    "a document twice": (_row(CORPUS, DOCUMENTS[0]), "corpus.jsonl:4: document 'd1' again, first at .*corpus.jsonl:1"),
    "a query twice": (_row(ASKED, QUERIES[0]), "queries.jsonl:4: query 'q1' again, first at .*queries.jsonl:1"),
    "an empty query": (_row(ASKED, {"_id": "q4", "text": " "}), "queries.jsonl:4: query 'q4' is empty"),
    "a bad filter": (_row(ASKED, {"_id": "q4", "text": "x", "where": "a ="}), "queries.jsonl:4: filter"),
    "a bad moment": (_row(ASKED, {"_id": "q4", "text": "x", "at": "soon"}), "queries.jsonl:4: 'at' is 'soon'"),
    "two columns": (_line(QRELS, b"q1\td2"), "test.tsv:4 has 2 columns"),
    "blanks for tabs": (_line(QRELS, b"q1 d2 1"), "test.tsv:4 has 1 columns"),
    "a huge grade": (_line(QRELS, b"q1\td2\t1000000"), "test.tsv:4: the grade 1000000 is beyond 1000"),
    "half a grade": (_line(QRELS, b"q1\td2\t0.5"), "test.tsv:4: the grade '0.5' is not a whole number"),
    "a judgement twice": (_line(QRELS, b"q1\td1\t2"), "test.tsv:4: query 'q1' and document 'd1' are judged 2, but 2"),
    "a contradiction": (_line(QRELS, b"q1\td1\t0"), "test.tsv:4: .* judged 0, but 2 at .*test.tsv:2"),
    "no such document": (_line(QRELS, b"q1\td9\t1"), "test.tsv:4 judges document 'd9', which .* does not have"),
    "no such query": (_line(QRELS, b"q9\td1\t1"), "test.tsv:4 judges query 'q9', which .* does not have"),
}


@pytest.mark.parametrize("what", LINES)
def test_a_bad_line_is_named(what: str, tmp_path: Path) -> None:
    damage, complaint = LINES[what]
    folder = write(tmp_path / "bad")
    damage(folder)
    with pytest.raises(DatasetError, match=complaint) as error:
        load(str(folder), strict=True)
    assert error.value.cure


def test_an_escaped_nul_is_only_text(tmp_path: Path) -> None:
    folder = write(tmp_path / "z", [*DOCUMENTS, {"_id": "d4", "text": "a\0b \ud800"}])
    assert load(str(folder)).document_count == 4


WHOLE: dict[str, tuple[Damage, str]] = {
    "an empty corpus": (lambda folder: (folder / CORPUS).write_text("\n"), "bad has no documents"),
    "no corpus": (lambda folder: (folder / CORPUS).unlink(), "is no dataset: it has no corpus.jsonl"),
    "no queries": (lambda folder: (folder / ASKED).unlink(), "has no queries.jsonl"),
    "empty queries": (lambda folder: (folder / ASKED).write_text(""), "bad has no queries"),
    "nothing judged": (
        lambda folder: (folder / QRELS).write_text("q1\td1\t0\n"),
        "bad has no judged query in split 'test'",
    ),
    "nothing relevant": (lambda folder: (folder / QRELS).write_text(""), "bad has no judged query in split 'test'"),
    "bad meta": (lambda folder: (folder / "meta.json").write_text("{"), "meta.json is no JSON"),
    "odd meta": (lambda folder: (folder / "meta.json").write_text("[]"), "meta.json is not a mapping"),
    "document count": (lambda folder: describe(folder, docs=4), "says 4 for counts.docs, there are 3"),
    "query count": (lambda folder: describe(folder, queries=2), "says 2 for counts.queries, there are 3"),
    "judgement count": (
        lambda folder: describe(folder, qrels={"test": {"rows": 9}}),
        "says 9 for counts.qrels.test.rows, there are 2",
    ),
}


@pytest.mark.parametrize("what", WHOLE)
def test_a_bad_folder_is_named(what: str, tmp_path: Path) -> None:
    damage, complaint = WHOLE[what]
    folder = write(tmp_path / "bad")
    damage(folder)
    with pytest.raises(DatasetError, match=complaint) as error:
        load(str(folder))
    assert error.value.cure


def test_a_folder_without_judgements_says_where_to_put_them(tmp_path: Path) -> None:
    folder = write(tmp_path / "bare", judgements={})
    with pytest.raises(DatasetError, match="has no judgements") as error:
        load(str(folder))
    assert "qrels/test.tsv" in error.value.cure


@pytest.mark.parametrize("name", [CORPUS, ASKED, QRELS, "evidence.jsonl"])
def test_a_changed_file_stops_the_run(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "changed", evidence=[{"query_id": "q1", "doc_id": "d1", "sentence": 0}])
    describe(folder)
    load(str(folder))
    path = folder / name
    path.write_bytes(path.read_bytes() + b"\n")  # a blank line: no row changes, the file does
    with pytest.raises(DatasetError, match=re.escape(f"{path} was changed: its sha256 is")):
        load(str(folder))


def test_a_wrong_line_outside_the_half_stops_the_run_too(tmp_path: Path) -> None:
    """q1 is in the other half of a set that has only test.tsv; q2 and q3 are in dev."""
    queries = [{"_id": name, "text": "x"} for name in ("q1", "q2")]
    folder = write(tmp_path / "h", queries=queries, judgements={"test": [("q2", "d1", 1), ("q1", "d9", 1)]})
    with pytest.raises(DatasetError, match="judges document 'd9'"):
        load(str(folder), "dev")


def test_evidence_must_be_as_many_lines_as_said(tmp_path: Path) -> None:
    folder = write(tmp_path / "n", evidence=[{"query_id": "q1", "doc_id": "d1", "sentence": 0}])
    describe(folder, extras={"evidence.jsonl": 2})
    with pytest.raises(DatasetError, match=r"says 2 for counts.extras.evidence.jsonl, there are 1"):
        load(str(folder))


def test_a_broken_gzip_is_an_error_not_a_crash(tmp_path: Path) -> None:
    folder = write(tmp_path / "gz")
    (folder / CORPUS).unlink()
    (folder / f"{CORPUS}.gz").write_bytes(b"\x1f\x8b\x08\x00garbage")
    with pytest.raises(DatasetError, match=r"corpus.jsonl.gz cannot be read"):
        load(str(folder))


def test_an_unknown_split_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no split 'tset'") as error:
        load(str(write(tmp_path / "s")), "tset")
    assert error.value.cure == "did you mean 'test'? known: all, dev, test"


@pytest.mark.parametrize("split", ["test~", "test~x", "test~1~2~3", "test~-1"])
def test_a_sample_that_cannot_be_read(split: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="names no sample"):
        load(str(write(tmp_path / "s")), split)
