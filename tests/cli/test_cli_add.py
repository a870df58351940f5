"""`assay add`: what it reports is what it did."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay import kb
from assay.errors import StoreError

Run = Callable[..., Result]


def test_the_life_of_a_folder(run: Run, handbook: Path, tmp_path: Path) -> None:
    kb_path = tmp_path / "kb"
    first = run("add", handbook, "--store", kb_path, "--embedder", "none")
    assert first.exit_code == 0, first.stderr
    assert "4 files: 4 added" in first.stdout
    assert "words only" in first.stdout
    again = run("add", handbook, "--store", kb_path)
    assert "4 files: 4 unchanged\nchunks: no change" in again.stdout
    (handbook / "food.md").write_text("# Kitchen\nThe kitchen closes at seven.\n")
    (handbook / "evil.txt").unlink()
    (handbook / "new.txt").write_text("A new note.")
    changed = run("add", handbook, "--store", kb_path)
    assert "5 files: 1 added, 1 changed, 1 removed, 2 unchanged\nchunks: +2 −2" in changed.stdout
    with kb.open(kb_path) as base:
        assert {chunk.doc_id for chunk in base.chunks()} == {
            "handbook/keys.md",
            "handbook/food.md",
            "handbook/new.txt",
            "handbook/people.jsonl#ada",
            "handbook/people.jsonl#bob",
        }


def test_a_bad_file_is_listed_with_its_cure_and_the_rest_is_in(run: Run, handbook: Path, tmp_path: Path) -> None:
    (handbook / "bad.docx").write_bytes(b"not a zip \x1b[31m")
    (handbook / "picture.png").write_bytes(b"\x89PNG")
    result = run("add", handbook, "--store", tmp_path / "kb", "--embedder", "none")
    assert result.exit_code == 1
    assert "4 added" in result.stdout
    assert "1 problem; left out, and what the store had of them before stays:\n  handbook/bad.docx  " in result.stdout
    assert "    cure: " in result.stdout
    assert "passed over 1 file: nothing here reads files ending in .png (1)" in result.stdout
    payload = json.loads(run("add", handbook, "--store", tmp_path / "kb", "--json").stdout)
    assert (payload["unchanged"], payload["added"]) == (4, 0)
    assert [problem["file"] for problem in payload["problems"]] == ["handbook/bad.docx"]


def test_a_file_that_went_bad_keeps_its_place_and_nobody_says_otherwise(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Walrus\nIt sleeps.")
    run("add", notes, "--store", tmp_path / "kb", "--embedder", "none")
    (notes / "a.md").write_bytes(b"\0\0")
    result = run("add", notes, "--store", tmp_path / "kb")
    assert result.exit_code == 1
    assert "0 files: none could be read" in result.stdout
    assert "what the store had of them before stays:\n  notes/a.md  contains NUL bytes" in result.stdout
    assert "Walrus" in run("search", "walrus", "-q", "--store", tmp_path / "kb").stdout


def test_nothing_is_made_for_a_path_that_is_not_there(run: Run, handbook: Path, tmp_path: Path) -> None:
    result = run("add", handbook, tmp_path / "nope", "--store", tmp_path / "kb")
    assert result.exit_code == 3
    assert "nope does not exist" in result.stderr
    assert not (tmp_path / "kb").exists()


def test_names_and_moves(run: Run, handbook: Path, tmp_path: Path) -> None:
    kb_path = tmp_path / "kb"
    assert run("add", handbook, "--as", "rules", "--store", kb_path, "--embedder", "none").exit_code == 0
    moved = handbook.rename(tmp_path / "elsewhere")
    refused = run("add", moved, "--as", "rules", "--store", kb_path)
    assert refused.exit_code == 3
    assert "--moved" in refused.stderr
    kept = run("add", moved, "--as", "rules", "--moved", "--store", kb_path)
    assert "4 unchanged" in kept.stdout
    two = run("add", moved, moved / "food.md", "--as", "x", "--store", kb_path)
    assert two.exit_code == 2
    assert "--as names one" in two.stderr


def test_the_index_is_built_unless_told_not_to(run: Run, handbook: Path, tmp_path: Path) -> None:
    run("add", handbook, "--store", tmp_path / "a", "--embedder", "none", "--no-index")
    run("add", handbook, "--store", tmp_path / "b", "--embedder", "none")
    assert not list((tmp_path / "a").glob("generations/*"))
    assert list((tmp_path / "b").glob("generations/*"))
    found = [run("search", "kitchen", "-q", "--pipeline", "bm25", "--store", tmp_path / name).stdout for name in "ab"]
    assert found[0] == found[1] != ""


def index_state(store: Path) -> tuple[int, dict[str, object] | None]:
    """Changes that are not in the index, and what the index says of itself, without its times and paths."""
    with kb.open(store, create=False) as base:
        index = base.backend.index()
        facts = None if index is None else {key: index[key] for key in ("name", "chunks", "version")}
        return base.backend.pending, facts


def test_the_library_and_the_command_build_the_same_index(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    states = []
    for first, last in ((0, 40), (40, 41), (41, 44)):  # a new store, less than a twentieth, more than a twentieth
        for number in range(first, last):
            (notes / f"{number}.txt").write_text(f"note {number} about lanterns")
        assert run("add", notes, "--store", tmp_path / "command", "--embedder", "none").exit_code == 0
        with kb.open(tmp_path / "library", embedder="none") as base:
            base.add(notes)
        states.append(index_state(tmp_path / "library"))
        assert states[-1] == index_state(tmp_path / "command")
    assert [pending for pending, _ in states] == [0, 1, 0]
    with kb.open(tmp_path / "library") as base:
        (notes / "44.txt").write_text("one more")
        base.add(notes, compact=False)
        assert base.backend.pending == 1
        base.add(notes, compact=True)
        assert base.backend.pending == 0
        base.add([{"text": "a record"}])
        assert base.backend.pending == 1, "records are indexed in the background, once there are many"


def test_settings_of_a_store_are_not_changed_by_accident(run: Run, store: Path, handbook: Path) -> None:
    for option, value in (("--profile", "fine"), ("--language", "german"), ("--embedder", "minilm")):
        result = run("add", handbook, "--store", store, option, value)
        assert result.exit_code == 3, result.output
        assert "this store was made with" in result.stderr
    unknown = run("add", handbook, "--store", store.parent / "new", "--profile", "fin", "--embedder", "none")
    assert unknown.exit_code == 2
    assert "did you mean 'fine'" in unknown.stderr


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not list open files")
def test_a_store_that_is_refused_is_closed(store: Path) -> None:
    with pytest.raises(StoreError) as caught:
        kb.open(store, profile="fine")
    held = [os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir()]
    assert not [path for path in held if path.startswith(str(store))]
    assert "made with profile" in caught.value.message
