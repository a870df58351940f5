"""Documents as flat texts: what stands where."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay import kb
from assay.bench.collection import CollectionError, dataset_id, from_folder, from_store
from tests.bench.small_docs import write_docs


def test_a_flat_text_holds_headings_and_chunks_at_their_places(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("# T\nintro\n## A\none\n### B\ntwo\n## C\nthree\n")
    (found,) = from_folder(tmp_path / "docs").documents
    assert found.id == "docs/a.md"
    assert found.title == "T"
    assert found.text == "intro\n\n## A\n\none\n\n### B\n\ntwo\n\n## C\n\nthree"
    assert [found.text[p.start : p.end] for p in found.passages] == ["intro", "one", "two", "three"]


def test_an_outer_heading_is_said_again_after_an_inner_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "x", "title": "T", "section": "A > B", "text": "in"}\n')
    (found,) = from_folder(tmp_path / "a.jsonl").documents
    assert found.text == "## A\n\n### B\n\nin"


def test_a_folder_and_its_store_give_the_same_documents(tmp_path: Path) -> None:
    docs = write_docs(tmp_path / "docs")
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(docs)
        stored = from_store(base)
    assert stored == from_folder(docs)


def test_an_edited_document_is_whole_and_every_chunk_at_its_place(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    whole = "# T\n## A\none\n## B\ntwo\n## C\nthree\n"
    (docs / "a.md").write_text(whole)
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(docs)
        (docs / "a.md").write_text(whole.replace("two", "two and a half"))
        base.add(docs)
        (found,) = from_store(base).documents
    assert next(p.text for p in found.passages) == "one"
    assert sorted(p.text for p in found.passages) == ["one", "three", "two and a half"]
    assert all(found.text[p.start : p.end] == p.text for p in found.passages)


def test_a_file_that_cannot_be_read_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    docs = write_docs(tmp_path / "docs")
    (docs / "bad.md").write_bytes(b"\0\0\0")
    found = from_folder(docs)
    assert len(found.documents) == 5
    assert [name for name, _ in found.problems] == ["docs/bad.md"]


def test_a_missing_folder_is_an_error_with_a_cure(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="does not exist"):
        from_folder(tmp_path / "nothing")


def test_no_id_breaks_a_line_of_judgements() -> None:
    assert dataset_id("a\tb\nc\rd e") == "a%09b%0Ac%0Dd e"
