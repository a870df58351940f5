"""Golden receipts: the shipped dataset by words alone gives these numbers and rankings on every platform."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.bench.datasets import load
from assay.bench.receipt import Receipt, read
from assay.bench.replay import find_differences
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import from_spec
from assay.bench.workspace import IndexSettings, prepare

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(path.name for path in GOLDEN.glob("*.json"))


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="digests of Python 3.11: its Unicode tables cut the words")
@pytest.mark.parametrize("name", FILES)
def test_a_golden_receipt_comes_out_again(name: str, tmp_path: Path) -> None:
    """To renew: assay bench run tiny --systems bm25 --embedder none --no-timing --out tests/golden, and say why."""
    receipt = read(GOLDEN / name)
    golden = receipt.canonical
    dataset = load(golden["dataset"]["source"], golden["dataset"]["split"])
    with prepare(dataset, IndexSettings("none"), cache=tmp_path) as workspace:
        bench = Bench(dataset, workspace, RunPlan(tuple(golden["scores"]), golden["depth"], golden["seed"]))
        system = from_spec(golden["system"]["name"], golden["system"]["spec"])
        again = bench.receipt(system, bench.run(system))
    assert find_differences(receipt, again) == []
    assert again.digest == receipt.digest  # on any library version: versions are no part of it


def test_there_are_golden_receipts() -> None:
    assert FILES == ["tiny.test.bm25.json", "tiny.test.oracle.json", "tiny.test.random.json"]


def test_a_replay_that_went_wrong_says_how_before_what_came_of_it() -> None:
    receipt = read(GOLDEN / "tiny.test.bm25.json")
    golden = receipt.canonical
    first, second, *rest = golden["queries"]
    broken = {
        **golden,
        "failed": {first: "StoreError", second: "StoreError"},
        "degraded": {"dense": {"skipped": len(rest)}},
        "rankings": ["0" * 16, *golden["rankings"][1:]],
    }
    messages = {"failed": {first: "StoreError: there is no LanceDB folder at second.lance"}}
    versions = {**receipt.measured["versions"], "numpy": "1.0"}
    again = Receipt("run", broken, {"messages": messages, "versions": versions})
    found = [line for line in find_differences(receipt, again) if not line.startswith("host.instructions")]
    assert found == [
        f"versions.numpy: {receipt.measured['versions']['numpy']} → 1.0",
        f"query {first}: failed, the first of 2: StoreError: there is no LanceDB folder at second.lance",
        f"degraded: dense was skipped (0 → {len(rest)} times)",
        f"query {first}: its ranking differs, the first of 1",
    ]
