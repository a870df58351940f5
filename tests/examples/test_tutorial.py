"""The tutorials are true: all their commands and scripts run, in order, and print what they show."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "tools" / "docs" / "run_tutorials.py"


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
    ran = subprocess.run(
        [sys.executable, RUNNER, RUNNER.parent / name], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_what_may_differ_and_what_may_not(runner: ModuleType) -> None:
    shown = "1 Sick leave  2024-03-11\n  0.5000  dense #1 ━━━━━━ .0164\nstore: 254 kB, default 25d2e1b8 · 107 ms\n"
    assert runner.Step("", shown, shown.replace("━━━━━━ .0164", "━━━╸ .0159").replace("107 ms", "1.2 s"), 0).holds
    assert runner.Step("", shown, shown.replace("25d2e1b8", "3036ce1b").replace("254 kB", "1.3 MB"), 0).holds
    assert not runner.Step("", shown, shown.replace("Sick", "Parental"), 0).holds
    assert not runner.Step("", shown, shown, 1).holds
    assert not runner.Step("", "", "").holds  # it never ran
    assert runner.Step("", "error: no\n", "error: no\n", 3).holds


def test_blocks_are_read_and_written_alike(runner: ModuleType) -> None:
    text = "```console\n$ echo one\none\n$ true\n```\n```python\nprint(2)\n```\n\n```output\n2\n```\n"
    blocks = list(runner._BLOCK.finditer(text + "```text\nmake model\n```\n"))
    found = [runner.steps_of(block) for block in blocks]
    steps = [step for some in found for step in some]
    assert [(step.code, step.shown) for step in steps[:2]] == [("echo one", "one\n"), ("true", "")]
    runner.run(steps)
    assert [step.holds for step in steps] == [True, True, True]
    assert "".join(map(runner.written, blocks, found)) == text
