"""Query vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dataset_folder import write

from assay.bench.datasets import DatasetError, load


def _with_vectors(folder: Path, **arrays: Any) -> str:
    write(folder)
    np.savez(folder / "queries.npz", **arrays)
    return str(folder)


def test_vectors_become_unit_vectors_of_their_topics(tmp_path: Path) -> None:
    found = load(_with_vectors(tmp_path / "v", ids=["q1"], vectors=np.array([[3.0, 4.0]])))
    vector = found.topics["q1"].vector
    assert vector is not None
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([0.6, 0.8])
    assert found.topics["q1"].text == "when to rotate keys"


def test_a_vector_needs_no_text(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "n", queries=[{"_id": "q1", "text": ""}], judgements={"test": [("q1", "d1", 1), ("q2", "d2", 1)]}
    )
    np.savez(folder / "queries.npz", ids=["q1", "q2"], vectors=np.eye(2))
    assert [topic.text for topic in load(str(folder), "all").topics.values()] == ["", ""]
    (folder / "queries.jsonl").unlink()
    assert list(load(str(folder), "all").topics) == ["q1", "q2"]


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"ids": ["q1"]}, "cannot be read: .*vectors"),
        ({"ids": ["q1", "q2"], "vectors": np.eye(3)}, r"2 ids and vectors of shape \(3, 3\)"),
        ({"ids": ["q1"], "vectors": np.ones(3)}, r"vectors of shape \(3,\)"),
        ({"ids": ["q1"], "vectors": np.array([["a"]])}, "vectors of shape .* <U1"),
        ({"ids": ["q1"], "vectors": np.zeros((1, 0))}, r"vectors of shape \(1, 0\)"),
        ({"ids": ["q1"], "vectors": np.zeros((1, 2))}, "the vector of query 'q1' has no direction"),
        ({"ids": ["q1"], "vectors": np.array([[np.nan, 1]])}, "the vector of query 'q1' has no direction"),
        ({"ids": ["q1", "q1"], "vectors": np.eye(2)}, "two vectors for query 'q1'"),
        ({"ids": ["q1 "], "vectors": np.ones((1, 2))}, "cannot be an id"),
    ],
)
def test_bad_vectors_are_named(arrays: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=complaint):
        load(_with_vectors(tmp_path / "bad", **arrays))


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    folder = write(tmp_path / "p")
    np.savez(folder / "queries.npz", ids=np.array(["q1"], object), vectors=np.eye(1))
    with pytest.raises(DatasetError, match="cannot be read"):
        load(str(folder))
    (folder / "queries.npz").write_bytes(b"not a zip")
    with pytest.raises(DatasetError, match="cannot be read"):
        load(str(folder))
