"""`assay pipeline`: the TOML, the digest, preflight."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay.cli.toml import resolved_toml
from assay.config.load import load, loads, preset_names

Run = Callable[..., Result]

EVERYTHING = """
name = "all \\"quotes\\" and ümlaut"
k = 7
[legs.words]
use = "bm25"
norm = "ideal"
priority = 2
[legs."odd name"]
use = "exact"
k = 5
after = ["words"]
when = { use = "fewer_than", count = 2 }
[fuse]
use = "rrf"
c = 1
weights = { "odd name" = 0.5, words = 2 }
[[step]]
use = "field_boost"
where = 'kind = "policy" and title ~ "a\\\\b"'
[[step]]
use = "recency"
half_life_days = 30
[[step]]
use = "min_score"
threshold = 0.001
[[step]]
use = "top_k"
name = "cut"
"""


@pytest.mark.parametrize("text", [*(f"preset:{name}" for name in preset_names()), EVERYTHING])
def test_a_resolved_pipeline_reads_back_to_the_same_digest(text: str) -> None:
    found = load(text.removeprefix("preset:")) if text.startswith("preset:") else loads(text)
    again = loads(resolved_toml(found))
    assert again.digest == found.digest
    assert again.name == found.name
    assert [plan.name for plan in again.steps] == [plan.name for plan in found.steps]


def test_show_prints_toml_that_works(run: Run, tmp_path: Path) -> None:
    for options in ([], ["--resolved"]):
        shown = run("pipeline", "show", "weighted", *options).stdout
        (tmp_path / "mine.toml").write_text(shown)
        assert load(str(tmp_path / "mine.toml")).digest == load("weighted").digest
        assert f"# digest {load('weighted').digest}" in shown
    assert run("pipeline", "show").stdout == run("pipeline", "show", "default").stdout


def test_presets_are_listed(run: Run) -> None:
    shown = run("pipeline", "presets").stdout
    assert all(f"{name}" in shown and load(name).digest[:12] in shown for name in preset_names())


def test_check(run: Run, tmp_path: Path) -> None:
    good = run("pipeline", "check", "default")
    assert good.exit_code == 0
    assert "gives unit scores from 0 to 1" in good.stdout
    file = tmp_path / "p.toml"
    file.write_text('[legs.bm25]\nnorm = "ideal"\n[[step]]\nuse = "min_score"\nthreshold = 1.5\n')
    bad = run("pipeline", "check", file)
    assert bad.exit_code == 2
    payload = bad.output
    assert "1.5" in payload
    doubtful = '[legs.bm25]\n[legs.dense]\n[fuse]\nuse = "rrf"\n[[step]]\nuse = "min_score"\nthreshold = 0.8\n'
    file.write_text(doubtful)
    warned = run("pipeline", "check", file)
    assert warned.exit_code == 0
    assert "warning min_score: when dense is skipped the best fused score is 0.5" in warned.stdout
    findings = json.loads(run("pipeline", "check", file, "--json").stdout)["findings"]
    assert {finding["level"] for finding in findings} == {"warning"}


def test_preflight_errors_exit_with_2(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        '[legs.bm25]\nnorm = "ideal"\n[[step]]\nuse = "importance"\n[[step]]\nuse = "min_score"\nthreshold = 1.0\n'
    )
    assert run("pipeline", "check", file).exit_code == 0
    file.write_text('[legs.bm25]\nnorm = "ideal"\n[[step]]\nuse = "min_score"\nthresold = 0.5\n')
    typo = run("pipeline", "check", file)
    assert typo.exit_code == 2
    assert "did you mean 'threshold'" in typo.stderr
    file.write_text("[legs.bm25\n")
    assert "not valid TOML" in run("search", "x", "--pipeline", file).stderr + run("pipeline", "check", file).stderr


def test_what_a_leg_that_cannot_enter_can_do_instead(run: Run) -> None:
    filler, light = run("pipeline", "check", "router"), run("pipeline", "check", "weighted")
    assert (filler.exit_code, light.exit_code) == (0, 0)
    assert "this fuser moves nothing either: the leg fills what the others leave open" in filler.stdout
    assert "cure: from a weight of 0.94 on it can" in light.stdout
    assert "moves nothing" not in light.stdout
