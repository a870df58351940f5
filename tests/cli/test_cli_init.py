"""`assay init`: three answers, a file that reads, and commands that run as they are printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay.config.load import load

Run = Callable[..., Result]


@pytest.mark.parametrize(("answers", "legs"), [("docs here\nkb\nn\n", ["bm25"]), ("\n\n\n", ["bm25", "dense"])])
def test_three_questions(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: str, legs: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("init", input=answers)
    assert done.exit_code == 0, done.output
    assert [plan.name for plan in load("assay.toml").legs] == legs
    assert "assay add" in done.output
    assert "#   assay add" in Path("assay.toml").read_text("utf-8")


def test_the_printed_commands_run(run: Run, handbook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(handbook.parent)
    shown = run("init", "--documents", "./handbook", "--store", "my kb", "--embedder", "none").stdout
    add, search, serve = [shlex.split(line) for line in shown.splitlines() if line.startswith("  assay")]
    assert run(*add[1:]).exit_code == 0
    found = run(*search[1:2], "signing key", *search[3:])
    assert found.exit_code == 0
    assert "handbook/keys.md" in found.stdout
    assert serve == ["assay", "serve", "--store", "my kb"]


def test_a_file_that_is_there_stays(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("assay.toml").write_text("mine")
    refused = run("init")  # before any question
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert "Which folder" not in refused.output
    assert Path("assay.toml").read_text() == "mine"
    assert run("init", "--force", input="\n\n\n").exit_code == 0


def test_a_folder_that_is_not_there_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    missing = run("init", "--documents", "./nowhere", "--store", "kb", "--embedder", "none")
    assert missing.exit_code == 0
    assert "there is no folder ./nowhere yet" in missing.output
    assert Path("assay.toml").exists()
    Path("docs").mkdir()
    assert "yet" not in run("init", "--force", "--documents", "docs", "--store", "kb", "--embedder", "none").output


@pytest.mark.parametrize("value", ["a\nb = 1", "\x1b[31m", "  "])
def test_hostile_answers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("init", "--documents", value, "--store", "kb", "--embedder", "none")
    assert refused.exit_code != 0
    assert not Path("assay.toml").exists()
