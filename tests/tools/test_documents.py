"""The generated API page, the decision records and the layout measurements."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import assay
import assay.plugins
from tools import measure_layout
from tools.docs import api_reference
from tools.docs.check import broken_links, merge_markers

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs" / "decisions"
RECORDS = sorted(DECISIONS.glob("0*.md"))


def test_the_api_page_lists_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    for name in {*assay.__all__, *assay.plugins.__all__}:
        assert re.search(rf"^\| `{re.escape(name)}[`(]", page, re.MULTILINE), name


def test_a_stale_api_page_is_reported_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "api.md"
    page.write_text("old", "utf-8")
    assert api_reference.main([str(page), "--check"]) == 1
    assert capsys.readouterr().out.endswith("api.md is out of date; cure: make docs\n")
    assert api_reference.main([str(page)]) == 0
    assert api_reference.main([str(page), "--check"]) == 0


def test_a_public_name_without_a_docstring_is_an_error() -> None:
    with pytest.raises(SystemExit, match="nameless is public and has no docstring"):
        api_reference._summary("nameless", type("nameless", (), {}))


def test_decision_numbers_have_no_holes() -> None:
    assert [record.name[:4] for record in RECORDS] == [f"{number:04}" for number in range(1, len(RECORDS) + 1)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name[:4])
def test_a_decision_has_a_date_a_status_and_its_sections(record: Path) -> None:
    title, _, status, *_ = record.read_text("utf-8").splitlines()
    assert title.startswith(f"# {record.name[:4]} ")
    assert re.match(r"\*\*Date\*\* \d{4}-\d\d-\d\d · \*\*Status\*\* (accepted|superseded by)", status)
    sections = re.findall(r"^## (.+)$", record.read_text("utf-8"), re.MULTILINE)
    assert sections == ["Context", "Decision", "Consequences"]


def test_the_index_of_decisions_lists_all_of_them() -> None:
    assert re.findall(r"\]\((0[^)]+\.md)\)", (DECISIONS / "README.md").read_text("utf-8")) == [r.name for r in RECORDS]


def test_the_index_of_the_documentation_links_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    pages = [p for p in (ROOT / "docs").rglob("*.md") if p.parent != DECISIONS and p.name != "index.md"]
    assert [page.name for page in pages if f"({page.relative_to(ROOT / 'docs').as_posix()})" not in index] == []


def test_a_marker_of_a_merge_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tools.docs.check.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("one\n" + "<" * 7 + " HEAD\ntwo\n=======\n" + ">" * 7 + " theirs\n")
    assert merge_markers(page) == [f"page.md:{line}: a marker of an unfinished merge" for line in (2, 5)]


def test_a_link_without_a_target_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tools.docs.check.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("[a](page.md) [b](missing.md#part) [c](https://example.org)\n```\n[d](code.md)\n```\n", "utf-8")
    assert broken_links(page) == ["page.md: the link missing.md#part has no target"]


def test_repeated_names_and_classes_are_counted(tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("class A:\n    class B: ...\n", "utf-8")
    second.write_text("class A: ...\n", "utf-8")
    assert sorted(measure_layout.class_names([first, second])) == ["A", "A", "B"]
    assert measure_layout.count_repeated(["a", "b", "a", "a"]) == 1


def test_no_more_than_eight_modules_lie_outside_of_folders() -> None:
    modules = [path for path in (ROOT / "assay").glob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    assert len(modules) <= 8
