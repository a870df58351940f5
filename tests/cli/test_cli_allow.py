"""`assay allow`, and what `pipeline check` says of a pipeline that would act."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.cli.main import cli

PIPELINE = """
[legs.bm25]
norm = "ideal"
[legs.notes.source]
use = "qmd"
[fuse]
use = "rrf"
[[step]]
use = "provider_rerank"
"""


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def test_allow_lists_adds_and_removes() -> None:
    assert "nothing is allowed" in run("allow").output
    assert run("allow", "program:qmd", "host:API.jina.ai").output.split() == ["host:api.jina.ai", "program:qmd"]
    assert run("allow", "program:qmd").output.split() == ["host:api.jina.ai", "program:qmd"]
    assert run("allow", "--remove", "program:qmd").output.split() == ["host:api.jina.ai"]
    assert json.loads(run("allow", "--json").output)["allowed"] == ["host:api.jina.ai"]
    assert run("allow", "--remove").exit_code == 2
    wrong = run("allow", "qmd")
    assert wrong.exit_code != 0
    assert "program:NAME" in wrong.output
    assert run("allow").output.split() == ["host:api.jina.ai"]


def test_pipeline_check_lists_what_would_be_done(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(PIPELINE)
    shown = run("pipeline", "check", str(file)).output
    assert "legs.notes needs program:qmd: not allowed" in shown
    assert "needs host:api.jina.ai: not allowed" in shown
    run("allow", "program:qmd")
    effects = json.loads(run("pipeline", "check", str(file), "--json").output)["effects"]
    assert {effect["effect"]: effect["allowed"] for effect in effects} == {
        "program:qmd": True,
        "host:api.jina.ai": False,
        "variable:JINA_API_KEY": False,
    }
    assert json.loads(run("pipeline", "check", "default", "--json").output)["effects"] == []
