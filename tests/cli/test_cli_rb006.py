"""`assay bench rb006`: a world as a dataset, and a sample to read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.datasets import load
from assay.bench.rb006 import frozen_suite
from assay.bench.rb006.runner import run
from assay.bench.rb006.runner.plan import RunSettings
from assay.cli.bench.rb006 import SCALES
from assay.cli.main import cli
from assay.errors import ConfigError


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
    assert "feasible 180, impossible 120" in result.stdout
    assert "adversarial 60, anchored 180, handwritten 60" in result.stdout
    assert "the frozen suite, digest 7bd9a1064f0b, checked" in result.stdout
    queries = [json.loads(line) for line in (out / "queries.jsonl").read_text().splitlines()]
    assert sum(query["metadata"]["source"] == "handwritten" for query in queries) == 60
    assert sorted(path.name for path in (out / "qrels").iterdir()) == ["test.tsv"]


@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize(
    ("given", "folder"), [(["--seed", "7"], "frozen-10k-seed7"), (["--queries", "500"], "frozen-10k-500-queries")]
)
def test_a_suite_that_is_not_the_frozen_one_says_so_and_has_its_own_folder(
    given: list[str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["bench", "rb006", "build", "--world", "frozen", *given])
    assert result.exit_code == 0, result.output
    assert [path.name for path in tmp_path.iterdir()] == [folder]
    assert "not the frozen suite (seed 2026, 300 queries): no hand-written queries, no digest" in result.stdout
    assert "handwritten" not in result.stdout


@pytest.mark.parametrize(
    ("given", "largest", "systems"),
    [
        (["--quick"], 1_500, ("main", "ablations", "seeds")),
        (["--quick", "--scale", "10k", "--systems", "bm25"], 500, ("bm25",)),
        ([], 50_000, ("main",)),
    ],
)
def test_a_quick_run_measures_everything_unless_told_less(
    given: list[str], largest: int, systems: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the command asks the runner for; the runs themselves are tested in tests/bench/rb006/runner."""
    asked: list[tuple[RunSettings, bool]] = []

    def refuse(settings: RunSettings, _: Path, *, go_on: bool, **__: object) -> None:
        asked.append((settings, go_on))
        raise ConfigError("enough", "seen")

    monkeypatch.setattr(run, "run_benchmark", refuse)
    assert CliRunner().invoke(cli, ["bench", "rb006", "run", *given]).exit_code == 2
    ((settings, go_on),) = asked
    assert (settings.largest, settings.systems, go_on) == (largest, systems, "--quick" in given)


def test_a_verdict_needs_a_note_on_every_frozen_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = frozen_suite.read_suite("frozen")
    monkeypatch.setattr(frozen_suite, "read_suite", lambda name: None if name == "dev" else stored)
    for world in ("frozen", "autumn"):
        result = CliRunner().invoke(cli, ["bench", "rb006", "run", "--world", world])
        assert result.exit_code == 2
        assert "is a verdict" in result.output
