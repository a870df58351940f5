"""Files that a list names: the same names, order and reasons as walking the folder gives, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.errors import AssayError
from assay.ingest.discovery import FoundFile, SkippedFile, discover
from assay.ingest.listing import discover_listed, read_listing

FILES = ("a.md", "b/c.md", "b/d.txt", "b.md", "Ä/e.md", ".hidden/f.md", "node_modules/g.md", "drafts/h.md", "i.bin")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for number, name in enumerate(FILES):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Page number {number} is about subject{number}.\n")
    (root / ".assayignore").write_text("drafts/\n")
    return root


def _listed(root: Path, *names: str) -> list[FoundFile | SkippedFile]:
    return list(discover_listed(root, names, (), lambda _: True))


def test_every_file_listed_is_what_a_walk_finds(folder: Path) -> None:
    walked = [found for found in discover(folder) if isinstance(found, FoundFile)]
    listed = [found for found in _listed(folder, *reversed(FILES), "./a.md", "b//c.md") if isinstance(found, FoundFile)]
    assert listed == walked
    assert [found.name for found in listed] == ["docs/a.md", "docs/b/c.md", "docs/b/d.txt", "docs/b.md", "docs/Ä/e.md"]


def test_what_a_walk_passes_over_is_passed_over_for_the_same_reason(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "b")
    reasons = {
        found.name: found.reason for found in _listed(folder, *FILES, "link/c.md") if isinstance(found, SkippedFile)
    }
    assert reasons == {
        "docs/.hidden/f.md": "hidden",
        "docs/drafts/h.md": "named in .assayignore",
        "docs/i.bin": "nothing here reads files ending in .bin",
        "docs/link/c.md": "behind a link to a folder; add the folder itself",
        "docs/node_modules/g.md": "always passed over (node_modules)",
    }
    excluded = discover_listed(folder, ["b/c.md"], ["b/"], lambda _: True)
    assert [found.reason for found in excluded if isinstance(found, SkippedFile)] == ["excluded"]


@pytest.mark.parametrize("name", ["../secret.md", "/etc/passwd", "b/../../secret.md", "b", "gone.md", "a.md/b.md"])
def test_a_name_that_is_no_file_inside_is_a_problem(folder: Path, name: str) -> None:
    (folder.parent / "secret.md").write_text("outside")
    (found,) = _listed(folder, name)
    assert isinstance(found, SkippedFile)
    assert found.unreadable


@pytest.mark.parametrize(
    "content", [b"a.md\nb/c.md\n", b"a.md\r\n\r\nb/c.md", b"a.md\0b/c.md\0", b"\n  \na.md\nb/c.md\n"]
)
def test_a_listing_is_read_line_by_line_or_by_nul(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "listing"
    path.write_bytes(content)
    assert list(read_listing(path)) == ["a.md", "b/c.md"]


def test_a_listing_that_is_no_listing(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="cannot be read"):
        list(read_listing(tmp_path / "nowhere"))
    (tmp_path / "long").write_bytes(b"x" * 100_000)
    with pytest.raises(AssayError, match="longer than a path"):
        list(read_listing(tmp_path / "long"))
    with pytest.raises(AssayError, match="is no folder"):
        list(discover_listed(tmp_path / "long", ["a"], (), lambda _: True))


def test_parts_of_a_listing_are_the_folder_and_nothing_is_removed(folder: Path, tmp_path: Path) -> None:
    with assay.open(tmp_path / "whole", embedder="none") as whole, assay.open(tmp_path / "kb", embedder="none") as kb:
        whole.add(folder)
        added = [kb.add(folder, part=f"{number}/3", listed=FILES).added for number in (2, 1, 3)]
        assert (sum(added), len([size for size in added if size]) > 1) == (5, True)
        assert {chunk.id for chunk in kb.chunks()} == {chunk.id for chunk in whole.chunks()}
        (folder / "a.md").unlink()
        (folder / "b.md").write_text("Page rewritten.\n")
        report = kb.add(folder, listed=["a.md", "b.md"])
        assert (report.removed, report.changed, [name for name, _ in report.problems]) == (0, 1, ["docs/a.md"])
        assert kb.search("subject0", pipeline="bm25").hits


def test_the_command_reads_standard_input(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay.cli", "add", str(folder), "--store", str(tmp_path / "kb"), "--no-index"]
    done = subprocess.run(
        [*command, "--embedder", "none", "--listing", "-"],
        input=b"a.md\nb/c.md\n",
        capture_output=True,
        check=True,
    )
    assert b"2 files" in done.stdout + done.stderr
    missing = subprocess.run([*command, "--listing", "nowhere.txt"], capture_output=True, check=False)
    assert missing.returncode != 0
    assert b"there is no listing nowhere.txt" in missing.stderr
