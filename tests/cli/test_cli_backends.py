"""Every command on every backend: what a folder store can do, the others do or refuse in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def place(any_store: str) -> str:
    return any_store


def test_a_store_goes_through_every_command(run: Run, place: str, handbook: Path) -> None:
    at = ("--store", place)
    added = run("add", handbook, *at, "--embedder", "none")
    assert added.exit_code == 0, added.output
    assert "+6" in added.stdout
    assert run("add", handbook, *at).stdout.startswith("4 files: 4 unchanged")
    found = json.loads(run("search", "rotate the signing key", *at, "--json").stdout)
    best = found["results"][0]["id"] if "results" in found else found["hits"][0]["id"]
    assert "Rotation" in run("explain", "rotate the signing key", "--id", best, *at).stdout
    assert run("search", 'a "quote AND (', *at).exit_code == 0
    assert "Ada keeps" in run("search", "vault", "--scope", "team", *at).stdout
    assert run("ls", *at).stdout.splitlines()[-1] == "4 files, 5 documents, 6 chunks"
    payload = json.loads(run("stats", "--json", *at).stdout)
    assert (payload["chunks"], payload["documents"], payload["dead"]) == (6, 5, 0)
    assert len(run("export", *at).stdout.splitlines()) == 6
    assert run("tag", "before", *at).exit_code == 0
    assert run("rm", "handbook/keys.md", "--yes", *at).exit_code == 0
    assert "Rotation" not in run("search", "rotate the signing key", *at).stdout
    assert "Rotation" in run("search", "rotate the signing key", "--snapshot", "before", *at).stdout
    assert run("optimize", "--force", *at).exit_code == 0
    assert run("doctor", "--deep", *at).exit_code == 0
    newest = f"v{_version(run, place)}"
    assert "forgot 2 dead chunks" in run("optimize", "--forget-before", newest, *at).stdout
    gone = run("search", "x", "--snapshot", "before", *at).stderr
    assert "no snapshot 'before'" in gone
    assert f"versions {newest} to v" in gone
    assert "tags: none" in gone
    assert run("search", "kitchen", *at).exit_code == 0


def _version(run: Run, place: str) -> int:
    return int(json.loads(run("stats", "--json", "--store", place).stdout)["newest"])


def test_a_memory_lives_there(run: Run, place: str) -> None:
    at = ("--store", place)
    stored = run("memory", "store", "The vault code is kept by Ada in the office.", *at)
    assert stored.exit_code == 0, stored.output
    assert "kept by Ada" in run("memory", "recall", "who keeps the vault code", *at).stdout
    assert "kept by Ada" in run("memory", "list", *at).stdout
    assert "1 memory in global" in run("memory", "stats", *at).stdout


def test_an_unknown_scheme_and_a_missing_store_say_what_to_do(run: Run, place: str) -> None:
    questions = run("search", "x", "--store", "sqlit:notes")
    assert questions.exit_code == 2
    assert "did you mean 'sqlite'?" in questions.stderr
    missing = run("search", "x", "--store", place)
    assert missing.exit_code == 3
    assert "make one: assay add" in missing.stderr
    assert not Path(place).exists()
