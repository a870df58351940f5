"""The public API: what `assay` and `assay.plugins` export, what importing them costs, and how values print."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay import plugins
from assay.config.load import load
from assay.testing.sample import sample_snapshot
from assay.types import Query

PACKAGE = Path(assay.__file__).parent


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh process has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_dir_shows_the_public_names_and_each_resolves() -> None:
    assert dir(assay) == sorted(assay.__all__)
    assert all(getattr(assay, name) is not None for name in assay.__all__)
    assert {"open", "KnowledgeBase", "Answer", "Hit", "Pipeline", "AssayError", "__version__"} <= set(assay.__all__)
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = assay.opne


def test_plugins_exports_what_it_lists() -> None:
    assert all(hasattr(plugins, name) for name in plugins.__all__)
    assert {"Leg", "Fuser", "Stage", "Selector", "Trigger", "Ranking", "arrange", "unite"} <= set(plugins.__all__)


def test_importing_assay_loads_nothing_else() -> None:
    loaded = loaded_by("import assay")
    assert "numpy" not in loaded
    assert {name for name in loaded if name.startswith("assay")} == {"assay"}


def test_the_engine_loads_neither_index_nor_text_nor_a_backend() -> None:
    loaded = {name.split(".")[1] for name in loaded_by("import assay.engine.pipeline") if name.startswith("assay.")}
    assert loaded <= {"engine", "util", "types", "protocols", "errors", "where"}


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return named | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


def test_nothing_above_the_backends_imports_a_concrete_one() -> None:
    below = {"backend", "store", "index", "testing"}  # the contract suites compare with the embedded store
    concrete = tuple(f"assay.backend.{name}" for name in ("local", "sqlite", "lance", "postgres"))
    wrong = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in below
        for name in imports(path)
        if name.startswith(concrete)
    ]
    assert wrong == []


def test_views_read_answers_never_snapshots() -> None:
    wrong = [
        f"{path.name}: {word}"
        for path in (PACKAGE / "cli" / "views").glob("*.py")
        for word in ("base_snapshot", "store_snapshot", "answer.snapshot")
        if word in path.read_text("utf-8")
    ]
    assert wrong == []


def test_a_class_name_occurs_once() -> None:
    names = [
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_an_answer_prints_on_a_few_lines() -> None:
    answer = load("bm25").run(Query("signing key"), sample_snapshot(), k=2)
    lines = repr(answer).splitlines()
    assert lines[0].startswith("Answer('signing key': answered, 2 of ")
    assert len(lines) == 3
    assert all(hit.id in line and f"{hit.score:.4f}" in line for hit, line in zip(answer, lines[1:], strict=True))
    assert repr(answer[0]).startswith(f"Hit(rank=1, score={answer[0].score:.4f}, id='{answer[0].id}'")
    assert len(repr(load("bm25").run(Query("key " * 400), sample_snapshot())).splitlines()[0]) < 140


def test_a_notebook_shows_an_answer_as_a_table_and_escapes_it() -> None:
    answer = load("bm25").run(Query("<script> signing key"), sample_snapshot(), k=1)
    page = answer._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert page.count("<tr>") == 2, "a heading and one hit"


def test_a_knowledge_base_says_where_it_is_and_hides_a_password(tmp_path: Path) -> None:
    with assay.open(tmp_path / "kb", embedder="none") as kb:
        kb.add([{"id": "a", "text": "the signing key is in the safe"}])
        assert repr(kb) == f"KnowledgeBase('{tmp_path / 'kb'}', v{kb.store.version()}, embedder='none')"
        page = kb.search("signing key")._repr_html_()
        assert "<mark>signing</mark> <mark>key</mark>" in page
