"""Any file content gives a dataset or a DatasetError, never a crash."""

import contextlib
import json
from typing import Any

import pytest
from dataset_folder import DOCUMENTS, QUERIES, write
from hypothesis import given, settings
from hypothesis import strategies as st
from test_dataset_locomo import ITEM
from test_dataset_longmemeval import ITEMS

from assay.bench.datasets import DatasetError, load
from assay.ingest.records import parse_record

ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["d1", "q1"])
VALUES = st.recursive(
    ATOMS,
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["importance", "created", "tags"]), v, max_size=3)
    ),
)
EVIDENCE = {
    "query_id": "q1",
    "doc_id": "d1",
    "start": 0,
    "end": 3,
    "sentence": 0,
    "sentences": [0],
    "text": "Rot",
    "group": 1,
}
FILES = [
    "corpus.jsonl",
    "corpus.jsonl.gz",
    "queries.jsonl",
    "queries.npz",
    "qrels/test.tsv",
    "evidence.jsonl",
    "meta.json",
]


def _read(source: str) -> None:
    with contextlib.suppress(DatasetError):
        found = load(source, "all")
        assert len(found.digest) == 64
        ids = [record["id"] for record in found.documents]
        assert len(ids) == found.document_count
        assert [parse_record(record).id for record in found.documents] == ids, "a store takes them all as they are"


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=50)
@given(content=st.binary(max_size=60))
def test_any_bytes(name: str, content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = write(tmp_path_factory.mktemp("bytes"))
    if name.endswith(".gz"):
        (place / name.removesuffix(".gz")).unlink()
    (place / name).write_bytes(content)
    _read(str(place))


@pytest.mark.parametrize(
    ("name", "row"),
    [("corpus", DOCUMENTS[0]), ("queries", {**QUERIES[0], "at": 1, "where": "a = 1"}), ("evidence", EVIDENCE)],
)
@settings(max_examples=50)
@given(data=st.data())
def test_any_value_in_any_field(
    name: str, row: dict[str, Any], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    field = data.draw(st.sampled_from([*row, "metadata", "scope"]))
    place = write(tmp_path_factory.mktemp("fields"), evidence=[])
    rows = [*(DOCUMENTS[1:] if name == "corpus" else QUERIES[1:] if name == "queries" else ())]
    lines = [json.dumps(line) for line in ({**row, field: data.draw(VALUES)}, *rows)]
    (place / f"{name}.jsonl").write_text("\n".join(lines))
    _read(str(place))


@pytest.mark.parametrize(("prefix", "item"), [("longmemeval", ITEMS[0]), ("locomo", ITEM)])
@settings(max_examples=50)
@given(data=st.data())
def test_any_value_in_any_conversation(
    prefix: str, item: dict[str, Any], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    field = data.draw(st.sampled_from(sorted(item)))
    path = tmp_path_factory.mktemp("chats") / "chat.json"
    path.write_text(
        json.dumps([{**item, field: data.draw(VALUES | st.lists(st.lists(VALUES, max_size=2), max_size=2))}])
    )
    _read(f"{prefix}:{path}#{data.draw(st.sampled_from(['session', 'turn']))}")


@pytest.mark.parametrize("name", ["topics.txt", "qrels.txt", "docs.trec"])
@settings(max_examples=50)
@given(content=st.text("<>/top numtileDOCNOTEXT\n\t12 0a&;", max_size=60))
def test_any_markup(name: str, content: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("trec")
    (place / "topics.txt").write_text("1\tone\n")
    (place / "qrels.txt").write_text("1 0 a 1\n")
    (place / "docs.trec").write_text("<DOC><DOCNO>a</DOCNO>x</DOC>")
    (place / name).write_text(content)
    _read(f"trec:{place}")


@given(st.text(max_size=300))
def test_any_name(name: str) -> None:
    with pytest.raises(DatasetError):
        load(f"no-such/{name}")


@given(st.text(max_size=20))
def test_any_split(split: str) -> None:
    with contextlib.suppress(DatasetError):
        load("tiny", split)
