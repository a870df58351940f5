"""`assay memory …` as a person and as a script would use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import Result

from assay import kb
from assay.cli.memory.transfer import FORMATS
from assay.cli.memory.write import WAYS
from assay.memory.importers import IMPORTERS
from assay.memory.types import OnDuplicate

Run = Callable[..., Result]


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store without a model, and no model in reach."""
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    kb.open(tmp_path / "m", embedder="none").close()
    return tmp_path / "m"


def data(run: Run, *args: object) -> Any:
    found = run("memory", *args, "--json")
    assert found.exception is None or isinstance(found.exception, SystemExit), found.output
    return json.loads(found.stdout)


def test_the_choices_are_those_of_the_service() -> None:
    assert get_args(OnDuplicate) == WAYS
    assert tuple(IMPORTERS) == FORMATS


def test_from_store_to_forgotten(run: Run, base: Path) -> None:
    stored = run("memory", "store", "The vault is in room 12.", "--tag", "place", "--store", base)
    assert stored.exit_code == 0
    assert stored.stdout.startswith("stored ")
    name = stored.stdout.split()[1]
    recalled = run("memory", "recall", "where is the vault?", "--store", base)
    assert recalled.exit_code == 0
    for payload in ("The vault is in room 12.", name, "bm25 #1", "dense skipped", "degraded · 1 memory"):
        assert payload in recalled.stdout
    updated = run("memory", "update", name[:6], "--text", "The vault is in room 14.", "--no-tags", "--store", base)
    assert "room 14" in updated.stdout
    assert "place" not in updated.stdout
    history = run("memory", "history", name, "--store", base).stdout
    assert history.index("room 12") < history.index("room 14")
    explained = run("memory", "explain", "where is the vault?", "--id", name, "--store", base)
    assert "Rank 1, score" in explained.stdout
    forgotten = run("memory", "forget", name, "--store", base)
    assert forgotten.exit_code == 0
    assert "forgotten: 1 memory" in forgotten.stdout
    silent = run("memory", "recall", "where is the vault?", "--store", base).stdout
    assert "Nothing is known here in the scope global (for another: --scope NAME)." in silent
    assert "nothing is remembered here" in run("memory", "list", "--store", base).stdout
    assert "1 forgotten and not purged" in run("memory", "stats", "--store", base).stdout


def test_nothing_stored_is_exit_code_1(run: Run, base: Path) -> None:
    noise = run("memory", "store", "ok, thanks!", "--store", base)
    assert (noise.exit_code, noise.stdout.split()[0]) == (1, "refused")
    run("memory", "store", "The vault is in room 12.", "--store", base)
    known = run("memory", "store", "the vault is in room 12", "--store", base)
    assert (known.exit_code, known.stdout.split()[0]) == (1, "skipped")
    assert "the same" in known.stdout
    forced = data(run, "store", "the vault is in room 12", "--on-duplicate", "force", "--store", base)
    assert forced["action"] == "stored"


def test_storing_makes_a_store_and_reading_does_not(run: Run, base: Path, tmp_path: Path) -> None:
    assert run("memory", "recall", "vault?", "--store", tmp_path / "none").exit_code == 3
    assert not (tmp_path / "none").exists()
    made = run("memory", "store", "-", "--store", tmp_path / "new", input="The vault is in room 12.")
    assert made.exit_code == 0
    assert data(run, "list", "--store", tmp_path / "new")[0]["text"] == "The vault is in room 12."


def test_scopes_keep_apart(run: Run, base: Path) -> None:
    name = data(run, "store", "The vault is in room 12.", "--scope", "user:ada", "--store", base)["id"]
    assert data(run, "list", "--store", base) == []
    assert data(run, "recall", "where is the vault?", "--store", base)["hits"] == []
    assert data(run, "stats", "--store", base)["memories"] == 0
    for command in (["forget", name], ["update", name, "--text", "Gone."], ["history", name]):
        refused = run("memory", *command, "--store", base)
        assert refused.exit_code == 3
        assert "no memory here" in refused.stderr
    both = ["--scope", "global", "--scope", "user:ada", "--store", base]
    assert [hit["memory"]["id"] for hit in data(run, "recall", "where is the vault?", *both)["hits"]] == [name]
    assert run("memory", "list", "--scope", "agent:*", "--store", base).exit_code == 2


def test_a_query_is_confirmed_by_token_or_yes(run: Run, base: Path) -> None:
    run("memory", "store", "The vault is in room 12.", "--store", base)
    questions = run("memory", "forget", "--query", "vault room", "--store", base)
    assert questions.exit_code == 1
    assert "nothing was forgotten" in questions.stdout
    token = questions.stdout.split("--confirm ")[1].strip()
    wrong = run("memory", "forget", "--query", "vault room", "--confirm", "000000000000", "--store", base)
    assert wrong.exit_code == 2
    done = data(run, "forget", "--query", "vault room", "--confirm", token, "--store", base)
    assert (done["done"], len(done["memories"])) == (True, 1)
    empty = run("memory", "forget", "--query", "vault room", "--yes", "--store", base)
    assert (empty.exit_code, "nothing to forget" in empty.stdout) == (1, True)


def test_a_person_is_asked(run: Run, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.cli.memory.forget.is_interactive", lambda: True)
    name = data(run, "store", "The vault is in room 12.", "--store", base)["id"]
    no = run("memory", "forget", name, "--purge", "--store", base, input="n\n")
    assert no.exit_code == 1
    assert "Purge 1 memory?" in no.stderr
    assert len(data(run, "list", "--store", base)) == 1
    yes = run("memory", "forget", name, "--purge", "--store", base, input="y\n")
    assert yes.exit_code == 0
    for payload in ("purged: 1 memory", "removed from", "assay.sqlite: 1 row", "not reached"):
        assert payload in yes.stdout


def test_a_purge_that_nobody_confirmed_does_nothing(run: Run, base: Path) -> None:
    name = data(run, "store", "The vault is in room 12.", "--store", base)["id"]
    assert run("memory", "forget", name, "--purge", "--store", base).exit_code == 1
    assert len(data(run, "list", "--store", base)) == 1
    done = data(run, "forget", name, "--purge", "--yes", "--store", base)
    assert done["purged"]
    assert done["erased"]


def test_a_message_that_needs_no_memory(run: Run, base: Path) -> None:
    run("memory", "store", "Thanks are given on Fridays.", "--store", base)
    skipped = run("memory", "recall", "thanks!", "--store", base)
    assert (skipped.exit_code, skipped.stdout.startswith("not looked up: ")) == (0, True)
    assert run("memory", "recall", "thanks!", "--fail-empty", "--store", base).exit_code == 1
    assert "Fridays" in run("memory", "recall", "thanks!", "--always", "--store", base).stdout


def test_export_and_import(run: Run, base: Path, tmp_path: Path) -> None:
    run("memory", "store", "The vault is in room 12.", "--store", base)
    lines = run("memory", "export", "--store", base).stdout
    (tmp_path / "out.jsonl").write_text(lines + '{"text": "Not mine.", "scope": "user:eve"}\n', "utf-8")
    new = tmp_path / "new"
    kb.open(new, embedder="none").close()
    done = run("memory", "import", tmp_path / "out.jsonl", "--store", new)
    assert done.exit_code == 1
    assert "1 memory stored, 0 known already, 0 noise" in done.stdout
    assert "line 2: its scope 'user:eve'" in done.stdout
    assert run("memory", "export", "--store", new).stdout == lines
    moved = data(run, "import", tmp_path / "out.jsonl", "--into", "agent:a", "--store", new)
    assert (moved["stored"], moved["problems"]) == (2, [])


def test_a_memory_cannot_move_the_cursor(run: Run, base: Path) -> None:
    evil = "The vault \x1b[31mis red\x1b]0;owned\x07 and \u202edlrow."
    run("memory", "store", evil, "--store", base)
    questions = ["recall", "where is the vault?"]
    for command in (["list"], questions, [*questions, "--json"], ["export"]):
        payload = run("memory", *command, "--store", base).stdout
        assert "\x1b" not in payload
        assert "\u202e" not in payload
        assert "vault" in payload


def test_an_unknown_command_names_the_nearest(run: Run) -> None:
    found = run("memory", "recal")
    assert found.exit_code == 2
    assert "recall" in found.stderr


OLD = "The vault is in room 12."
"""A year old: max(bm25, 0.5) = 0.5 or more, times 0.91, times 0.5 + 0.5 · exp(−365/60) = 0.5011 is below 0.35."""


def test_the_configuration_of_the_memory_pipeline_recalls_and_forgets(run: Run, base: Path, tmp_path: Path) -> None:
    run("memory", "store", OLD, "--created", "2025-01-01", "--store", base)
    questions = ("where is the vault?", "--at", "2026-01-01", "--store", base)
    spec = ("--pipeline", "memory")
    assert OLD in run("memory", "recall", *questions).stdout  # the default hides nothing for its age
    assert OLD not in run("memory", "recall", *questions, *spec).stdout
    (tmp_path / "mine.json").write_text('{"timeDecayHalfLifeDays": 0, "vectorWeight": 0.6}', "utf-8")
    own = ("--pipeline", tmp_path / "mine.json")
    recalled = run("memory", "recall", *questions, *own)
    assert OLD in recalled.stdout
    assert "decay" not in recalled.stdout
    assert (
        recalled.stderr == "note: vectorWeight has no effect under confirm_boost; weighted_merge reads such weights\n"
    )
    name = data(run, "recall", *questions, *own)["hits"][0]["memory"]["id"]
    assert data(run, "explain", "where is the vault?", "--id", name, *questions[1:], *own)["rank"] == 1
    shown = ("forget", "--query", "where is the vault?", "--store", base)
    assert data(run, *shown, *spec)["memories"] == []  # what is not recalled is not forgotten either
    assert [memory["id"] for memory in data(run, *shown, *own)["memories"]] == [name]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"recencyHalfLife": 14}', "did you mean 'recencyHalfLifeDays'?"),
        ('{"minScore": NaN}', "minScore = nan is out of range"),
        ('{"minScore": 0.3', "is not JSON"),
        ('["minScore"]', "holds no table of keys"),
        ("\xff", "is not JSON"),
        (None, "No such file"),
    ],
)
def test_a_configuration_that_is_none_is_refused_with_the_cure(
    run: Run, base: Path, tmp_path: Path, written: str | None, said: str
) -> None:
    if written is not None:
        (tmp_path / "mine.json").write_text(written, "latin-1")
    done = run("memory", "recall", "where is the vault?", "--store", base, "--pipeline", tmp_path / "mine.json")
    assert done.exit_code == 2
    assert said in done.stderr
    assert "cure: " in done.stderr


def test_one_word_that_is_not_looked_up_has_a_cure(run: Run, base: Path) -> None:
    run("memory", "store", OLD, "--store", base)
    assert "cure: to look all the same: --always" in run("memory", "recall", "vault", "--store", base).stdout
    assert OLD in run("memory", "recall", "vault", "--always", "--store", base).stdout


def test_options_that_contradict_each_other_are_refused(run: Run, base: Path) -> None:
    name = run("memory", "store", OLD, "--tag", "place", "--store", base).stdout.split()[1]
    for options, payload in (
        (("update", name, "--tag", "x", "--no-tags"), "contradict"),
        (("forget", name, "--backup", "one.bak"), "by a purge only"),
    ):
        done = run("memory", *options, "--store", base)
        assert (done.exit_code, payload in done.stderr) == (2, True)
    assert data(run, "list", "--store", base)[0]["tags"] == ["place"]
