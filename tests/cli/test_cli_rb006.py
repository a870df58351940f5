"""`assay bench rb006`: a world as a dataset, and a sample to read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.datasets import load
from assay.cli.bench.rb006 import SCALES
from assay.cli.main import cli


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> int:
    """The smallest scale as a fifth of it: the same departments and queries, fewer chunks to write."""
    monkeypatch.setitem(SCALES, "10k", 2_000)
    return 2_000


def test_build_writes_a_dataset_that_loads(tmp_path: Path, small_scale: int) -> None:
    out = tmp_path / "world"
    result = CliRunner().invoke(cli, ["bench", "rb006", "build", "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["in_scope"] == 68
    assert load(str(out), "dev").document_count == small_scale
    again = CliRunner().invoke(cli, ["bench", "rb006", "build", "--world", "nobody"])
    assert again.exit_code != 0
    assert "dev" in again.output


def test_sample_prints_queries_with_gold() -> None:
    result = CliRunner().invoke(cli, ["bench", "rb006", "sample", "--queries", "4"])
    assert result.exit_code == 0, result.output
    assert result.stdout.count("answerable") + result.stdout.count("impossible") == 4
    assert "hop 1" in result.stdout


@pytest.mark.parametrize("given", [["--scale", "3k"], ["--seed", "x"]])
def test_bad_options_are_refused(given: list[str]) -> None:
    assert CliRunner().invoke(cli, ["bench", "rb006", "build", *given]).exit_code == 2


@pytest.mark.usefixtures("small_scale")
def test_the_frozen_world_comes_with_its_suite(tmp_path: Path) -> None:
    out = tmp_path / "frozen"
    result = CliRunner().invoke(cli, ["bench", "rb006", "build", "--world", "frozen", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "--split test" in result.stdout
    queries = [json.loads(line) for line in (out / "queries.jsonl").read_text().splitlines()]
    assert sum(query["metadata"]["source"] == "handwritten" for query in queries) == 60
    assert sorted(path.name for path in (out / "qrels").iterdir()) == ["test.tsv"]
