"""The published schema fits what we write, and nothing that is broken."""

from __future__ import annotations

import copy
import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from assay.bench import lab
from assay.bench.receipt import read
from assay.bench.runner import RunPlan
from assay.bench.systems import load_systems
from assay.bench.workspace import Workspace
from tests.bench.hand_made import dataset

SCHEMA = json.loads(resources.files("assay.bench").joinpath("receipt.schema.json").read_text("utf-8"))
COMMITTED = Path(__file__).resolve().parents[2] / "receipts"


@pytest.fixture(scope="module")
def written(words: Workspace, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("receipts")
    lab.run(dataset(), load_systems(["bm25", "default", "oracle"]), words, RunPlan(), out=folder, with_text=True)
    return {path.name: json.loads(path.read_text("utf-8")) for path in folder.iterdir()}


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_what_a_run_writes_fits(written: dict[str, Any]) -> None:
    assert len(written) == 3
    for receipt in written.values():
        jsonschema.validate(receipt, SCHEMA)


def test_what_is_broken_does_not_fit(written: dict[str, Any]) -> None:
    receipt = written["hand.test.bm25.json"]
    for where, value in [("status", "maybe"), ("rankings", ["xyz"]), ("depth", 0), ("extra", 1)]:
        broken = copy.deepcopy(receipt)
        broken["canonical"][where] = value
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)
    broken = copy.deepcopy(receipt)
    del broken["canonical"]["index"]["digest"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


def test_committed_receipts_fit_and_are_unchanged() -> None:
    """All have the digest that they say; one in six of the lab, and all of RB-006, are held against the schema."""
    lab_receipts = sorted((COMMITTED / "lab").rglob("*.json"))
    judged = sorted((COMMITTED / "rb006").glob("frozen-*.json"))
    if not lab_receipts:
        pytest.skip("no receipts are committed yet")
    for path in (*lab_receipts, *judged):
        read(path)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for path in (*lab_receipts[::6], *judged):
        validator.validate(json.loads(path.read_text("utf-8")))
