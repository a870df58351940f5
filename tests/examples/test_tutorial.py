"""The tutorials are true: all their commands and scripts run, in order, and print what they show."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assay.bench.collection import from_folder
from assay.bench.dataset_writer import write_folder
from assay.bench.datasets import load
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import load_system
from assay.bench.workspace import prepare

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs"
RUNNER = ROOT / "tools" / "docs" / "run_tutorials.py"
GRADES = {
    "how do I rotate the signing key?": {"support/key-change.eml": 2, "security/signing-key.md": 0},
    "vacation days": {"people/vacation-2023.md": 1, "people/vacation-2025.md": 1},
}
"""The judgements that the keys in no_labels.md make: low medians of two judges."""
NEAR_TIE = 0.02
"""Processors compute slightly different vectors; a smaller difference of scores may change its sign."""


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_tutorials", RUNNER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_tutorials"] = module  # where its dataclass looks for its own types
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("name", ["tutorial.md", "lab.md", "no_labels.md", "memory_service.md"])
def test_a_tutorial_shows_what_happens(name: str) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tools.docs.run_tutorials", PAGES / name],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stdout + process.stderr


def test_what_may_differ_and_what_may_not(runner: ModuleType) -> None:
    shown = "1 Sick leave  2024-03-11\n  0.5000  dense #1 ━━━━━━ .0164\nstore: 254 kB, default 25d2e1b8 · 107 ms\n"
    assert runner.Step("", shown, shown.replace("━━━━━━ .0164", "━━━╸ .0159").replace("107 ms", "1.2 s"), 0).matches
    assert runner.Step("", shown, shown.replace("25d2e1b8", "3036ce1b").replace("254 kB", "1.3 MB"), 0).matches
    assert not runner.Step("", shown, shown.replace("Sick", "Parental"), 0).matches
    assert not runner.Step("", shown, shown, 1).matches
    assert not runner.Step("", "", "").matches  # it never ran
    assert runner.Step("", "error: no\n", "error: no\n", 3).matches


def test_blocks_are_read_and_written_alike(runner: ModuleType) -> None:
    text = "```console\n$ echo one\none\n$ true\n```\n```python\nprint(2)\n```\n\n```output\n2\n```\n"
    blocks = list(runner._BLOCK.finditer(text + "```text\nmake model\n```\n"))
    steps_of_blocks = [runner.steps_of(block) for block in blocks]
    steps = [step for block_steps in steps_of_blocks for step in block_steps]
    assert [(step.code, step.shown) for step in steps[:2]] == [("echo one", "one\n"), ("true", "")]
    runner.run(steps)
    assert [step.matches for step in steps] == [True, True, True]
    assert "".join(map(runner.write_block, blocks, steps_of_blocks)) == text


@pytest.mark.slow
@pytest.mark.usefixtures("model")
def test_the_judged_documents_have_no_near_tie(tmp_path: Path) -> None:
    """The table of no_labels.md is sorted by score, so it must not depend on the processor's kernels."""
    rows = [(query, f"handbook/{name}", grade) for query, grades in GRADES.items() for name, grade in grades.items()]
    write_folder(
        tmp_path / "judged",
        documents=[document.record() for document in from_folder(ROOT / "examples" / "handbook").documents],
        queries=[{"_id": query, "text": query} for query in GRADES],
        splits={"test": rows},
        evidence=[],
        meta={},
    )
    dataset = load(str(tmp_path / "judged"), "all")
    with prepare(dataset, cache=tmp_path / "cache") as workspace:
        results = Bench(dataset, workspace, RunPlan(("nDCG@10",))).run(load_system("dense"))
    for result in results:
        scores = dict(zip(result.documents, result.scores, strict=True))
        grades = dataset.judgements[result.topic]
        for document, grade in grades.items():
            others = [score for name, score in scores.items() if grades.get(name, 0) != grade]
            assert min(abs(scores[document] - score) for score in others) > NEAR_TIE, (result.topic, document)
