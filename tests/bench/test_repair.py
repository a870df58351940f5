"""A dataset that somebody brings loads where a person would expect it to, and can be mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.bench.datasets import DatasetError, load, load_splits
from assay.bench.repair import repair_folder
from tests.bench.datasets.dataset_folder import DOCUMENTS, QUERIES, describe, write

GOOD = {"query_id": "q1", "doc_id": "d1", "sentence": 0}
LOST = {"query_id": "q1", "doc_id": "d1", "text": "Turn the key"}
FOREIGN = {"claim": 17, "sentences": ["somebody else's"]}


def damaged(folder: Path, *evidence: dict) -> Path:
    """NaN in metadata, and these lines of evidence."""
    return write(
        folder, [*DOCUMENTS, {"_id": "d4", "text": "x", "metadata": {"a": float("nan"), "b": 1}}], evidence=evidence
    )


def test_defects_are_remarks_and_errors_only_when_asked(tmp_path):
    folder = damaged(tmp_path / "d", GOOD, LOST, {**GOOD, "query_id": "q9"})
    found = load(str(folder))
    assert [passage.text for passage in found.evidence["q1"]] == ["Rotate the key."]
    fits, nan = sorted(found.notes[-2:], key=lambda note: "NaN" in note)
    assert nan.startswith("1 lines hold NaN or an infinity, which is read as missing; the first: ")
    assert "corpus.jsonl:4 holds NaN" in nan
    assert fits.startswith("2 lines of evidence fit no question or document and are left out; the first: ")
    record = next(one for one in found.documents if one["id"] == "d4")
    assert record["metadata"] == {"a": None, "b": 1}
    with pytest.raises(DatasetError) as error:
        load(str(folder), strict=True)
    assert "assay bench repair" in error.value.cure
    assert found.digest == load(str(folder)).digest


def test_what_the_splits_share_is_remarked_in_each(tmp_path):
    queries = [*QUERIES, {"_id": "q4", "text": "x", "metadata": {"a": float("inf")}}]
    folder = write(tmp_path / "d", queries=queries)
    for found in load_splits(str(folder), ("dev", "test")):
        assert any("queries.jsonl:4 holds Infinity" in note for note in found.notes)


def test_an_evidence_file_of_another_program_is_ignored(tmp_path):
    found = load(str(damaged(tmp_path / "d", FOREIGN, FOREIGN)))
    assert found.evidence == {}
    assert any(note.startswith("2 lines of evidence") for note in found.notes)


def test_what_changes_the_meaning_of_a_result_stays_an_error(tmp_path):
    folder = write(tmp_path / "d", judgements={"test": [("q1", "d1", 1), ("q1", "d9", 1)]})
    with pytest.raises(DatasetError, match="judges document 'd9'"):
        load(str(folder))


def test_a_mended_folder_loads_strictly_and_nothing_is_lost(tmp_path):
    folder = damaged(tmp_path / "d", GOOD, LOST)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td9\t1\nq1\td1\t2\n")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    planned = repair_folder(str(folder), write=False)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    done = repair_folder(str(folder))
    assert done.changes == [*planned.changes, "meta.json: counts and sha256 of the files as they are now"]
    assert done.changes[:-1] == [
        "corpus.jsonl: 1 lines hold values that are no numbers",
        "test.tsv: 2 judgements fit nothing, or are repeated",
        "evidence.jsonl: 1 lines of evidence fit nothing",
    ]
    found = load(str(folder), strict=True)
    assert found.judgements == {"q1": {"d1": 2}}
    assert [passage.text for passage in found.evidence["q1"]] == ["Rotate the key."]
    for path in (folder / "corpus.jsonl", folder / "evidence.jsonl", folder / "qrels" / "test.tsv"):
        assert path.with_name(f"{path.name}.before").read_bytes() == before[path]
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["counts"]["docs"], meta["counts"]["qrels"]["test"]["rows"]) == (4, 1)
    assert repair_folder(str(folder)).changes == [], "a second time there is nothing to do"


def test_a_change_that_was_meant_is_hashed_anew(tmp_path):
    folder = write(tmp_path / "d")
    describe(folder, docs=3)
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d4", "text": "one more"}\n')
    with pytest.raises(DatasetError, match="was changed") as error:
        load(str(folder))
    assert error.value.cure.endswith("assay bench repair")
    repair_folder(str(folder))
    assert load(str(folder), strict=True).document_count == 4


def test_a_foreign_evidence_file_is_set_aside(tmp_path):
    folder = damaged(tmp_path / "d", FOREIGN)
    assert "evidence.jsonl: no line fits; set aside as evidence.jsonl.foreign" in repair_folder(str(folder)).changes
    assert (folder / "evidence.jsonl.foreign").is_file()
    assert not (folder / "evidence.jsonl").exists()
    assert load(str(folder), strict=True).evidence == {}


@pytest.mark.parametrize(
    ("meta", "text"), [({"label": "human"}, "human judgements"), ({}, "judgements without a label")]
)
def test_only_a_label_makes_judgements_human(tmp_path, meta, text):
    folder = write(tmp_path / "d")
    (folder / "meta.json").write_text(json.dumps(meta))
    assert load(str(folder)).judgements_text == text
    assert load(str(folder)).label == meta.get("label", "unstated")
