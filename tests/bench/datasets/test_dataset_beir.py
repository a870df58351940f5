"""Reading well-formed BEIR folders."""

import gzip
from pathlib import Path

import pytest
from dataset_folder import DOCUMENTS, describe, write

from assay import kb
from assay.bench.datasets import DatasetError, list_datasets, load


def test_documents_topics_and_judgements_of_a_split(tmp_path: Path) -> None:
    folder = write(tmp_path / "small")
    found = load(str(folder))
    assert (found.name, found.split, found.label, found.document_count) == ("small", "test", "unstated", 3)
    assert found.judgements == {"q1": {"d1": 2}}
    assert found.abstain == {"q3"}
    assert list(found.topics) == ["q1", "q3"]
    assert found.scored == ("q1",)
    assert list(found.documents) == list(found.documents)
    assert list(found.documents)[1] == {
        "id": "d2",
        "title": "",
        "text": "The kitchen closes at six.",
        "created": 1714521600.0,
        "metadata": {"date": "2024-05-01"},
    }


def test_the_other_split_has_its_own_judgements_and_digest(tmp_path: Path) -> None:
    folder = write(tmp_path / "small")
    dev, test = load(str(folder), "dev"), load(str(folder))
    assert dev.judgements == {"q2": {"d2": 1, "d3": 0}}
    assert not dev.abstain, "the unanswerable question is listed in test"
    assert dev.digest != test.digest


def test_documents_enter_a_knowledge_base_under_their_ids(tmp_path: Path) -> None:
    found = load(str(write(tmp_path / "small", [*DOCUMENTS, {"_id": "d4", "title": "", "text": ""}])))
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(found.documents)
        found_in = [hit.chunk.doc_id for hit in base.search("kitchen closes", pipeline="bm25").hits]
    assert found_in == ["d2"]


def test_gzip_bom_crlf_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    plain = write(tmp_path / "a")
    other = write(tmp_path / "b")
    packed = (other / "corpus.jsonl").read_bytes().replace(b"\n", b"\r\n\r\n")
    with gzip.open(other / "corpus.jsonl.gz", "wb") as file:
        file.write(b"\xef\xbb\xbf" + packed)
    (other / "corpus.jsonl").unlink()
    qrels = other / "qrels" / "test.tsv"
    qrels.write_bytes(b"\xef\xbb\xbf" + qrels.read_bytes().replace(b"\n", b"\r\n"))
    assert load(str(plain)).digest == load(str(other)).digest


def test_a_header_is_optional_and_ids_may_be_numbers(tmp_path: Path) -> None:
    folder = write(tmp_path / "n", [{"_id": 7, "text": "seven"}], [{"_id": 1, "text": "one"}], {"test": []})
    (folder / "qrels" / "test.tsv").write_text("1\t7\t1\n")
    assert load(str(folder), "all").judgements == {"1": {"7": 1}}


def test_queries_may_carry_a_moment_a_filter_and_a_scope(tmp_path: Path) -> None:
    query = {"_id": "q1", "text": "x", "at": "2024-06-01", "where": 'part = "rules"', "scope": "team"}
    topic = load(str(write(tmp_path / "q", queries=[query], judgements={"test": [("q1", "d1", 1)]})), "all").topics[
        "q1"
    ]
    assert (topic.at, topic.where, topic.scope) == (1717200000.0, 'part = "rules"', "team")


def test_an_empty_document_is_kept_and_noted(tmp_path: Path) -> None:
    found = load(str(write(tmp_path / "e", [*DOCUMENTS, {"_id": "d4", "title": " ", "text": ""}])))
    assert found.document_count == 4
    assert found.notes == ("1 documents are empty: they count, but nothing finds them",)


def test_a_relevant_document_of_the_future_is_noted(tmp_path: Path) -> None:
    query = {"_id": "q2", "text": "kitchen", "at": "2024-04-30"}
    found = load(str(write(tmp_path / "f", queries=[query], judgements={"test": [("q2", "d2", 1)]})), "all")
    assert found.notes == ("1 relevant documents were made after the question and stay hidden",)


def test_names_are_found_in_the_data_folder_and_sources_have_no_machine_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "data" / "mine")
    (tmp_path / "data" / "not-a-dataset").mkdir()
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    assert list_datasets() == ["changing_facts", "mine", "tiny"]
    assert load("mine").source == "mine"
    assert load(str(folder)).source == "mine"
    monkeypatch.delenv("ASSAY_DATA")
    assert list_datasets() == ["changing_facts", "tiny"]
    assert load(str(folder)).source == "mine"
    monkeypatch.chdir(tmp_path)
    assert load(str(folder)).source == "data/mine"
    assert load("data/mine").source == "data/mine"


def test_a_relative_path_is_never_a_name_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`assay bench repair ./mine` must not mend another folder called mine."""
    write(tmp_path / "data" / "mine")
    here = write(tmp_path / "here" / "mine", [{"_id": "d1", "text": "alone"}], judgements={"test": [("q1", "d1", 1)]})
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(here)
    assert load("mine").document_count == 3
    for path in (".", "../mine", "./../mine"):
        assert load(path, "all").document_count == 1


def test_an_unknown_name_gives_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    with pytest.raises(DatasetError, match="there is no dataset 'tinny'") as error:
        load("tinny")
    assert (
        error.value.cure
        == "did you mean 'tiny'? known: changing_facts, tiny; $ASSAY_DATA, the folder of your datasets, is not set"
    )
    assert error.value.exit_code == 2


def test_a_folder_of_datasets_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "gone"))
    with pytest.raises(DatasetError, match="there is no dataset 'hotpotqa'") as error:
        load("hotpotqa")
    assert error.value.cure.endswith(f"$ASSAY_DATA names {tmp_path / 'gone'}, which is no folder")


def test_counts_and_digests_that_are_true_pass(tmp_path: Path) -> None:
    folder = write(tmp_path / "m")
    numbers = {"rows": 2, "positive": 1, "queries": 1}
    describe(folder, docs=3, queries=3, qrels={"test": numbers, "dev": numbers})
    assert load(str(folder)).document_count == 3
    assert len(load(str(folder), "all").topics) == 3
