"""Parts of a folder: together they are the folder, and adding them at once from several processes doubles nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import ConfigError
from assay.ingest.folder_part import FolderPart


@given(st.text(), st.integers(1, 40))
def test_a_file_is_in_exactly_one_part(name: str, count: int) -> None:
    assert sum(FolderPart(number, count).holds(name) for number in range(1, count + 1)) == 1


def test_parts_are_the_same_on_every_machine() -> None:
    """sha256("docs/a.md") begins with 5231f8a11b65145a, which is 2 modulo 4: part 3."""
    assert [FolderPart(number, 4).holds("docs/a.md") for number in range(1, 5)] == [False, False, True, False]


@pytest.mark.parametrize("text", ["", "3", "0/8", "9/8", "3/0", "-1/4", "1/4/2", "a/b", "1/99999", "１/４x"])
def test_what_is_no_part(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no part of a folder"):
        FolderPart.parse(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "inner").mkdir(parents=True)
    for number in range(24):
        place = docs / "inner" if number % 3 else docs
        (place / f"note{number}.md").write_text(f"# Note {number}\n\nThe {number}th note is about topic{number}.\n")
    return docs


def _ids(address: str) -> list[str]:
    with assay.open(address) as kb:
        view = kb.snapshot()
        return sorted(view.ids(view.live_rows(None)).tolist())


def test_parts_one_after_the_other_are_the_folder(folder: Path, tmp_path: Path) -> None:
    with assay.open(tmp_path / "whole", embedder="none") as kb:
        kb.add(folder)
    with assay.open(tmp_path / "parts", embedder="none") as kb:
        sizes = [kb.add(folder, part=f"{number}/3").added for number in (2, 1, 3)]
        assert sum(sizes) == 24
        assert all(sizes)
    assert _ids(str(tmp_path / "parts")) == _ids(str(tmp_path / "whole"))


def test_a_vanished_file_leaves_with_its_own_part_only(folder: Path, tmp_path: Path) -> None:
    with assay.open(tmp_path / "kb", embedder="none") as kb:
        kb.add(folder)
        gone = next(path for path in sorted(folder.glob("*.md")) if FolderPart(1, 2).holds(f"docs/{path.name}"))
        gone.unlink()
        assert kb.add(folder, part="2/2").removed == 0
        assert kb.add(folder, part="1/2").removed == 1


def test_several_processes_add_one_folder(folder: Path, database: str, tmp_path: Path) -> None:
    """Four processes at once into one PostgreSQL store: nothing lost, nothing doubled."""
    assay.open(database, embedder="none").close()
    command = [sys.executable, "-m", "assay.cli", "add", str(folder), "--store", database, "--no-index", "--part"]
    running = [
        subprocess.Popen([*command, f"{number}/4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for number in range(1, 5)
    ]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    with assay.open(tmp_path / "whole", embedder="none") as kb:
        kb.add(folder)
    assert _ids(database) == _ids(str(tmp_path / "whole"))
