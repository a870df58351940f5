"""`assay bench grid`: its exit codes, its files, and what it says to people and to pipes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay.bench.receipt import read
from assay.config.load import load
from tests.bench.thirds import write_thirds

Run = Callable[..., Result]

GATE = '[[gate]]\nname = "better"\nmetric = "nDCG@10"\nagainst = "baseline"\nop = ">"\nthreshold = 0.0\nmax_p = 0.05\n'


@pytest.fixture
def grid(run: Run, tmp_path: Path) -> Callable[..., Result]:
    """The command on a dataset whose right documents stand third, from a base that looks one deep."""
    data = write_thirds(tmp_path / "thirds")
    (tmp_path / "base.toml").write_text("[legs.bm25]\nk = 1\n")
    (tmp_path / "rules.toml").write_text(GATE)

    def invoke(*options: object) -> Result:
        fixed = ["--rules", tmp_path / "rules.toml", "--embedder", "none", "--out", tmp_path / "out", "--workers", 1]
        base = [] if "--base" in options else ["--base", tmp_path / "base.toml"]
        return run("bench", "grid", data, *fixed, *base, *options, env={"ASSAY_HOME": str(tmp_path / "home")})

    return invoke


def test_a_winner_is_a_pipeline_to_use(grid: Callable[..., Result], tmp_path: Path) -> None:
    result = grid("--vary", "legs.bm25.k=1,3")
    assert result.exit_code == 0
    assert "Winner: legs.bm25.k = 3: best on dev, passes every gate on test" in result.stdout
    assert "✓ better  nDCG@10 difference +0.5000 is > 0" in result.stdout
    assert result.stderr == ""
    assert load(str(tmp_path / "out" / "winner.toml")).legs[0].k == 3
    assert {"grid.json", "grid.md", "grid.svg"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert not list((tmp_path / "out").rglob("*.part"))


def test_none_passes_and_leaves_no_old_winner(grid: Callable[..., Result], tmp_path: Path) -> None:
    assert grid("--vary", "legs.bm25.k=1,3").exit_code == 0
    result = grid("--vary", "legs.bm25.k=1,2")
    assert result.exit_code == 1
    assert "None passes: no cell is above the base on dev" in result.stdout
    assert not (tmp_path / "out" / "winner.toml").exists()


def test_what_was_not_measured(grid: Callable[..., Result]) -> None:
    result = grid("--base", "dense", "--vary", "legs.dense.k=5,10")
    assert result.exit_code == 2
    assert "Not measured: the base was not measured: " in result.stdout


def test_as_json(grid: Callable[..., Result], tmp_path: Path) -> None:
    payload = json.loads(grid("--vary", "legs.bm25.k=1,3", "--json").stdout)
    assert payload["kind"] == "grid"
    assert payload["digest"] == read(tmp_path / "out" / "grid.json").digest


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--vary", "legs.bm52.k=1,2"], "did you mean 'bm25'"),
        (["--vary", "legs.bm25.k"], "names no key or no values"),
        (["--vary", "legs.bm25.k=1,2", "--pick", "nDGC@10"], "did you mean 'nDCG'"),
        (["--vary", "legs.bm25.k=1,2", "--test", "dev"], "share 12 queries"),
        (["--vary", "legs.bm25.k=1,2", "--base", "rff"], "did you mean 'rrf'"),
        (["--vary", "legs.bm25.k=0,2"], "is no pipeline"),
        ([], "Missing option"),
    ],
    ids=["key", "axis", "metric", "splits", "base", "value", "nothing"],
)
def test_errors_come_with_a_cure(grid: Callable[..., Result], tmp_path: Path, options: list[str], said: str) -> None:
    result = grid(*options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "cure: " in result.stderr
    assert not (tmp_path / "out").exists()
