"""Results name their files; questions need no quotes; files can be left out, and what was passed over is listed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay import kb
from assay.upkeep.origin_paths import Origin, find_origin

Run = Callable[..., Result]


def test_paths_are_printed_once_and_alone(run: Run, made_store: Path) -> None:
    shown = run("search", "signing", "key", "--store", made_store, "--paths")
    handbook = made_store.parent / "handbook"
    assert shown.stdout.splitlines() == [str(handbook / "keys.md"), str(handbook / "evil.txt")]


def test_paths_are_relative_where_that_is_shorter(run: Run, made_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made_store.parent)
    shown = run("search", "who keeps the vault?", "--store", made_store, "--paths")
    assert shown.stdout.splitlines() == [os.path.join("handbook", "people.jsonl")]


def test_paths_refuse_another_form(run: Run, made_store: Path) -> None:
    refused = run("search", "key", "--store", made_store, "--paths", "--json")
    assert refused.exit_code == 2
    assert "leave out --json" in refused.stderr


@pytest.mark.parametrize("command", [("search",), ("explain", "--id", "d33snci6")])
def test_unquoted_words_are_one_question(run: Run, made_store: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    apart = run(name, "rotate", "the", "signing", "key", *options, "--store", made_store, "--json")
    together = run(name, "rotate the signing key", *options, "--store", made_store, "--json")
    assert apart.exit_code == 0
    assert '"text": "rotate the signing key"' in apart.stdout
    assert apart.stdout.count('"digests"') == together.stdout.count('"digests"') == 1


def test_a_row_of_a_file_is_named(run: Run, made_store: Path) -> None:
    shown = run("search", "vault", "--store", made_store, "--pipeline", "bm25", "--plain").stdout
    assert "handbook/people.jsonl, ada" in shown


def test_a_record_names_itself(run: Run, tmp_path: Path) -> None:
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add({"id": "t-17", "title": "Pump", "text": "The pump leaks."})
        assert [chunk.text for chunk in base.chunks()] == ["The pump leaks."]
        assert base.origin(next(base.chunks())) == Origin("t-17")
    assert run("search", "pump", "--store", tmp_path / "kb", "--paths").stdout == "t-17\n"


@pytest.mark.parametrize(
    ("doc_id", "expected"),
    [
        ("docs/a.md", Origin("docs/a.md", Path("/d/a.md"))),
        ("docs/a.md#part-2", Origin("docs/a.md", Path("/d/a.md"), "part-2")),
        ("docs/c#/notes.md", Origin("docs/c#/notes.md", Path("/d/c#/notes.md"))),
        ("docs/c#/b.mbox#<1#2@x>", Origin("docs/c#/b.mbox", Path("/d/c#/b.mbox"), "<1#2@x>")),
        ("docs2/a.md", Origin("docs2/a.md", Path("/e/a.md"))),
        ("one.jsonl#7", Origin("one.jsonl", Path("/f/one.jsonl"), "7")),
        ("one.jsonl", Origin("one.jsonl", Path("/f/one.jsonl"))),
        ("records/x", Origin("records/x")),
        ("docsy", Origin("docsy")),
    ],
)
def test_the_origin_of_a_document(doc_id: str, expected: Origin) -> None:
    folders = {"docs": "/d", "docs2": "/e", "one.jsonl": "/f/one.jsonl", "records": ""}
    assert find_origin(doc_id, folders) == expected


def test_excluded_files_are_listed_on_request(run: Run, handbook: Path, tmp_path: Path) -> None:
    (handbook / ".assayignore").write_text("*.txt\n# not people\n")
    (handbook / "photo.png").write_bytes(b"\x89PNG")
    (handbook / ".secret.md").write_text("hidden")
    options = ("--store", tmp_path / "kb", "--embedder", "none", "--exclude", "people*")
    shown = run("add", handbook, *options, "--passed-over").stdout
    assert "2 added" in shown
    for line in (
        "  handbook/.secret.md  hidden",
        "  handbook/evil.txt  named in .assayignore",
        "  handbook/people.jsonl  excluded",
        "  handbook/photo.png  nothing here reads files ending in .png",
    ):
        assert line in shown.splitlines()
    again = run("add", handbook, "--store", tmp_path / "kb").stdout
    assert "1 added" in again  # a pattern of a call counts for that call
    assert "list them: --passed-over" in again


def test_bad_front_matter_is_a_warning(run: Run, handbook: Path, tmp_path: Path) -> None:
    (handbook / "plan.md").write_text("---\ntitle: Plan: next\n---\nThe plan stands.\n")
    added = run("add", handbook, "--store", tmp_path / "kb", "--embedder", "none")
    assert added.exit_code == 0
    assert "1 warning; the files are in the store:" in added.stdout
    assert "  handbook/plan.md  front matter is not YAML, line 2" in added.stdout
    assert "The plan stands." in run("search", "plan stands", "--store", tmp_path / "kb").stdout
    again = run("add", handbook, "--store", tmp_path / "kb").stdout
    assert "warning" not in again  # unchanged files are not read again
