"""The digest covers everything a result depends on, and nothing else."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dataset_folder import DOCUMENTS, JUDGEMENTS, QUERIES, write

from assay.bench.datasets import load

EVIDENCE = [{"query_id": "q1", "doc_id": "d1", "sentence": 0}]


def _digest(folder: Path, **changes: Any) -> str:
    return load(str(write(folder, **{"evidence": EVIDENCE, **changes}))).digest


CHANGES: dict[str, Callable[[], dict[str, Any]]] = {
    "a grade": lambda: {"judgements": {**JUDGEMENTS, "test": [("q1", "d1", 1), ("q3", "d3", 0)]}},
    "a judgement": lambda: {"judgements": {**JUDGEMENTS, "test": [*JUDGEMENTS["test"], ("q1", "d2", 0)]}},
    "a letter of a document": lambda: {
        "documents": [{**DOCUMENTS[0], "text": "Rotate the kex. Tell nobody."}, *DOCUMENTS[1:]]
    },
    "a title": lambda: {"documents": [{**DOCUMENTS[0], "title": "Key"}, *DOCUMENTS[1:]]},
    "metadata": lambda: {"documents": [{**DOCUMENTS[0], "metadata": {"part": "rule"}}, *DOCUMENTS[1:]]},
    "a document more": lambda: {"documents": [*DOCUMENTS, {"_id": "d4", "text": "x"}]},
    "a document's id": lambda: {"documents": [*DOCUMENTS[:1], {**DOCUMENTS[1], "_id": "e"}, *DOCUMENTS[2:]]},
    "the order of documents": lambda: {"documents": DOCUMENTS[::-1]},
    "a question": lambda: {"queries": [{**QUERIES[0], "text": "when to rotate key"}, *QUERIES[1:]]},
    "a moment": lambda: {"queries": [{**QUERIES[0], "at": "2025-01-01"}, *QUERIES[1:]]},
    "a filter": lambda: {"queries": [{**QUERIES[0], "where": 'part = "rules"'}, *QUERIES[1:]]},
    "evidence": lambda: {"evidence": [{**EVIDENCE[0], "sentence": 1}]},
    "no evidence": lambda: {"evidence": []},
    "a question that nothing answers": lambda: {"queries": [*QUERIES[:2], {**QUERIES[2], "text": "nobody"}]},
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_moves_it(what: str, tmp_path: Path) -> None:
    changed = CHANGES[what]()
    if what == "a document's id":
        changed["judgements"] = {"test": JUDGEMENTS["test"], "dev": [("q2", "e", 1)]}
    assert _digest(tmp_path / "a") != _digest(tmp_path / "b", **changed)


def test_what_is_not_part_of_the_split_does_not_move_it(tmp_path: Path) -> None:
    plain = _digest(tmp_path / "a")
    assert plain == _digest(tmp_path / "b")
    assert plain == _digest(tmp_path / "c", queries=QUERIES[::-1])
    assert plain == _digest(tmp_path / "d", judgements={"test": JUDGEMENTS["test"][::-1], "dev": [("q2", "d1", 2)]})
    assert plain == _digest(tmp_path / "e", queries=[QUERIES[0], {**QUERIES[1], "text": "of dev"}, QUERIES[2]])


def test_a_vector_moves_it(tmp_path: Path) -> None:
    digests = set()
    for name, x in (("a", 0.0), ("b", 0.5)):
        folder = write(tmp_path / name)
        np.savez(folder / "queries.npz", ids=["q1"], vectors=[[1.0, x]])
        digests.add(load(str(folder)).digest)
    assert len(digests) == 2


def test_hash_seeds_do_not_move_it(tmp_path: Path) -> None:
    program = "import sys; from assay.bench.datasets import load; print(load('tiny', 'all').digest)"
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {load("tiny", "all").digest + "\n"}
