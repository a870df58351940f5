"""Patterns that pass files over: gitignore's own rules, nested files, hostile content."""

from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.ingest.discovery import FoundFile, discover
from assay.ingest.ignore_rules import reason_along


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    return root


def found(root: Path, *exclude: str) -> list[str]:
    return [one.name for one in discover(root, exclude) if isinstance(one, FoundFile)]


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ("", ["d/a.md", "d/drafts/a.md", "d/drafts/b.md", "d/x/drafts/c.md"]),
        ("drafts/", ["d/a.md"]),
        ("/drafts/", ["d/a.md", "d/x/drafts/c.md"]),
        ("*.md\n!a.md", ["d/a.md", "d/drafts/a.md"]),
        ("drafts/\n!drafts/a.md", ["d/a.md"]),  # as in git: a file below an ignored folder cannot be brought back
        ("# drafts/\n\n  \n", ["d/a.md", "d/drafts/a.md", "d/drafts/b.md", "d/x/drafts/c.md"]),
        ("**/b.md", ["d/a.md", "d/drafts/a.md", "d/x/drafts/c.md"]),
        ("!\nx/\n\\", ["d/a.md", "d/drafts/a.md", "d/drafts/b.md"]),  # lines that are no patterns count for nothing
        ("*", []),
    ],
)
def test_the_syntax_is_gits(tmp_path, patterns, left):
    root = make(tmp_path / "d", "a.md", "drafts/a.md", "drafts/b.md", "x/drafts/c.md")
    (root / ".assayignore").write_text(patterns)
    assert found(root) == left


def test_an_inner_file_counts_below_and_later(tmp_path):
    root = make(tmp_path / "d", "a.log", "x/a.log", "x/y/a.log", "x/b.md", "b.md")
    (root / ".assayignore").write_text("*.log\n")
    (root / "x" / ".assayignore").write_text("!a.log\n/b.md\n")
    assert found(root) == ["d/b.md", "d/x/a.log", "d/x/y/a.log"]
    assert found(root, "*.log") == ["d/b.md"]


def test_a_pattern_of_a_call_that_is_none(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        found(make(tmp_path / "d", "a.md"), "!")


def test_hostile_ignore_files(tmp_path):
    root = make(tmp_path / "d", "a.md", "café.md")
    (root / ".assayignore").write_bytes("café.md\r\n".encode("cp1252"))
    assert found(root) == ["d/a.md"]
    (root / ".assayignore").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(ConfigError, match="more than 1 MB"):
        found(root)
    (root / ".assayignore").unlink()
    (root / ".assayignore").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        found(root)


def test_one_path_is_judged_like_the_whole_folder(tmp_path):
    root = make(tmp_path / "d", "a.md", "drafts/a.md", "x/drafts/c.md", "x/keep.log")
    (root / ".assayignore").write_text("drafts/\n*.log\n")
    (root / "x" / ".assayignore").write_text("!keep.log\n")
    judged = {
        p.relative_to(tmp_path).as_posix() for p in root.rglob("*.*") if p.is_file() and not reason_along(root, p)
    }
    assert judged - {"d/.assayignore", "d/x/.assayignore"} == set(found(root)) == {"d/a.md", "d/x/keep.log"}
