"""Evidence by characters, by sentences, by text, and mapped from raw documents to their pieces."""

import json
from pathlib import Path
from typing import Any

import pytest
from dataset_folder import write

from assay.bench.datasets import DatasetError, load
from assay.bench.types import Evidence

FIRST = Evidence("d1", 0, 15, "Rotate the key.", 0)


def _found(folder: Path, *rows: dict[str, Any], name: str = "evidence") -> tuple[Evidence, ...]:
    folder = write(folder, **{name: [{"query_id": "q1", **row} for row in rows]})
    return load(str(folder), strict=True).evidence["q1"]


@pytest.mark.parametrize(
    "row",
    [
        {"start": 0, "end": 15},
        {"start": 0, "end": 15, "text": "Rotate the key."},
        {"sentence": 0},
        {"sentences": [0]},
        {"text": "Rotate the key."},
        {"sentences": [0], "text": ["Rotate the key."]},
    ],
)
def test_one_passage_in_every_spelling(row: dict[str, Any], tmp_path: Path) -> None:
    assert _found(tmp_path / "e", {"doc_id": "d1", **row}) == (FIRST,)
    assert _found(tmp_path / "s", {"doc_id": "d1", **row}, name="supporting_facts") == (FIRST,)


def test_passages_are_facts_of_their_own_unless_grouped(tmp_path: Path) -> None:
    apart = _found(tmp_path / "a", {"doc_id": "d1", "sentences": [1, 0]}, {"doc_id": "d2", "sentence": 0})
    assert [(p.doc_id, p.start, p.group) for p in apart] == [("d1", 0, 1), ("d1", 16, 0), ("d2", 0, 2)]
    rows = [{"doc_id": "d1", "sentence": 0, "group": "x"}, {"doc_id": "d2", "sentence": 0, "group": "x"}]
    together = _found(tmp_path / "b", *rows, {"doc_id": "d3", "sentence": 0})
    assert [(p.doc_id, p.group) for p in together] == [("d1", 0), ("d2", 0), ("d3", 1)]


def test_a_passage_named_twice_counts_once(tmp_path: Path) -> None:
    assert _found(tmp_path / "t", {"doc_id": "d1", "sentence": 0}, {"doc_id": "d1", "start": 0, "end": 15}) == (FIRST,)


def test_a_documents_own_sentences_come_first(tmp_path: Path) -> None:
    own = {"_id": "d1", "text": "One. Two! Three", "metadata": {"sentences": [" One. Two!", "Three "]}}
    folder = write(
        tmp_path / "o", documents=[own], queries=[{"_id": "q1", "text": "x"}], judgements={"test": [("q1", "d1", 1)]}
    )
    (folder / "supporting_facts.jsonl").write_text('{"query_id": "q1", "doc_id": "d1", "sentence": 0}\n')
    assert load(str(folder), "all").evidence == {"q1": (Evidence("d1", 0, 9, "One. Two!", 0),)}


def test_line_ends_in_a_passage_are_those_of_the_store(tmp_path: Path) -> None:
    document = {"_id": "d1", "text": "a\r\nb\r\nc"}
    folder = write(
        tmp_path / "l",
        documents=[document],
        queries=[{"_id": "q1", "text": "x"}],
        judgements={"test": [("q1", "d1", 1)]},
    )
    (folder / "evidence.jsonl").write_text('{"query_id": "q1", "doc_id": "d1", "start": 3, "end": 7}\n')
    assert load(str(folder), "all").evidence["q1"] == (Evidence("d1", 3, 7, "b\nc", 0),)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"query_id": "q9", "doc_id": "d1", "sentence": 0}, "evidence for query 'q9', which does not exist"),
        ({"doc_id": "d9", "sentence": 0}, "evidence in document 'd9', which does not exist"),
        ({"doc_id": "d1", "start": 0, "end": 99}, r"\[0, 99\) is no part of a text of 28 characters"),
        ({"doc_id": "d1", "start": 3, "end": 3}, r"\[3, 3\) is no part"),
        ({"doc_id": "d1", "start": True, "end": 3}, "start is True"),
        ({"doc_id": "d1", "end": 3}, "start is None"),
        ({"doc_id": "d1", "start": 0, "end": 5, "text": "Turn"}, r"the text at \[0, 5\) is 'Rotat'"),
        ({"doc_id": "d1", "sentence": 2}, "sentence 2 of 2"),
        ({"doc_id": "d1", "sentence": -1}, "names no passage"),
        ({"doc_id": "d1", "sentences": []}, "names no passage"),
        ({"doc_id": "d1"}, "names no passage"),
        ({"doc_id": "d1", "text": "Turn the key"}, "'Turn the key' does not stand in document 'd1'"),
        ({"doc_id": "d1", "text": [""]}, r"'text' is \[''\]"),
        ({"sentence": 0}, "has no 'doc_id'"),
    ],
)
def test_evidence_that_cannot_be_is_named(row: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=f"evidence.jsonl:1:? .*{complaint}"):
        _found(tmp_path / "bad", row)


RAW = "abcdefghij klmnopqrst uvwxyz"
PIECES = [
    {"_id": "r:0", "text": RAW[:10], "metadata": {"corpus": "r", "start": 0, "end": 10}},
    {"_id": "r:1", "text": RAW[11:21], "metadata": {"corpus": "r", "start": 11, "end": 21}},
    {"_id": "r:2", "text": RAW[22:], "metadata": {"corpus": "r", "start": 22, "end": 28}},
]


def _spans(folder: Path, *spans: tuple[int, int, str]) -> str:
    rows = [{"query_id": "q1", "corpus": "r", "start": a, "end": b, "content": text} for a, b, text in spans]
    write(folder, PIECES, [{"_id": "q1", "text": "x"}], {"test": [("q1", "r:0", 1)]}, spans=rows)
    (folder / "documents.jsonl").write_text(json.dumps({"_id": "r", "title": "", "text": RAW}) + "\n")
    return str(folder)


def test_spans_are_carried_into_the_pieces_they_touch(tmp_path: Path) -> None:
    found = load(_spans(tmp_path / "p", (2, 5, "cde"), (8, 13, "ij kl")), "all")
    assert found.evidence["q1"] == (
        Evidence("r:0", 2, 5, "cde", 0),
        Evidence("r:0", 8, 10, "ij", 1),
        Evidence("r:1", 0, 2, "kl", 2),
    )


def test_the_raw_documents_are_a_dataset_of_their_own(tmp_path: Path) -> None:
    found = load(_spans(tmp_path / "p", (2, 5, "cde"), (8, 13, "ij kl")) + "#documents", "all")
    assert (found.name, found.document_count) == ("p-documents", 1)
    assert found.judgements == {"q1": {"r": 1}}
    assert [p.text for p in found.evidence["q1"]] == ["cde", "ij kl"]


def test_spans_that_say_something_else_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"spans.jsonl:1: the text at \[2, 5\) is another one in document 'r:0'"):
        load(_spans(tmp_path / "p", (2, 5, "xyz")), "all", strict=True)
    with pytest.raises(DatasetError, match=r"spans.jsonl:1: no document of the corpus holds this span"):
        load(_spans(tmp_path / "q", (40, 45, "xyz")), "all", strict=True)


def test_a_folder_without_raw_documents_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"has no spans.jsonl over raw documents"):
        load(str(write(tmp_path / "w")) + "#documents")
