"""`assay watch` keeps a folder and its store in step until Ctrl-C."""

from __future__ import annotations

import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay import kb

pytest.importorskip("watchfiles", reason="the extra watch is not installed")


class Watching:
    def __init__(self, folder: Path, store: Path) -> None:
        command = [
            sys.executable,
            "-u",
            "-m",
            "assay.cli",
            "watch",
            str(folder),
            "--store",
            str(store),
            "--embedder",
            "none",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip())

    def hear(self, part: str) -> str:
        """The next line that holds this."""
        while True:
            line = self._lines.get(timeout=60)
            if part in line:
                return line


@pytest.fixture
def watching(handbook: Path, tmp_path: Path) -> Iterator[Watching]:
    made = Watching(handbook, tmp_path / "kb")
    yield made
    made.process.kill()
    made.process.wait()
    assert made.process.stdout is not None
    made.process.stdout.close()


def test_a_folder_in_step(watching: Watching, handbook: Path, tmp_path: Path) -> None:
    assert "added 4 files" in watching.hear("v1")
    watching.hear("watching")
    (handbook / "new.md").write_text("# New\nA new note about lanterns.")
    assert "+1 −0 chunks" in watching.hear("added new.md")
    with kb.open(tmp_path / "kb") as base:
        assert [hit.title for hit in base.search("lanterns")] == ["New"]
    (handbook / "food.md").write_text("# Kitchen\nClosed.")
    assert "+1 −1 chunks" in watching.hear("changed food.md")
    (handbook / ".hidden.md").write_text("nobody sees this")
    (handbook / "new.md").unlink()
    watching.hear("removed new.md")
    deep = handbook / "de\u0301pot"  # two characters to the file system, one in the store
    deep.mkdir()
    (deep / "a.md").write_text("first")
    (deep / "b.md").write_text("second")
    watching.hear("added")
    with kb.open(tmp_path / "kb") as base:
        while {o for o in base.store.files() if "pot" in o} != {"handbook/dépot/a.md", "handbook/dépot/b.md"}:
            watching.hear("added")
    shutil.move(deep, tmp_path / "elsewhere")
    watching.hear("removed")
    watching.process.send_signal(signal.SIGINT)
    watching.hear("stopped")
    assert watching.process.wait(30) == 0
    with kb.open(tmp_path / "kb") as base:
        assert set(base.store.files()) == {
            "handbook/evil.txt", "handbook/food.md", "handbook/keys.md", "handbook/people.jsonl",
        }  # fmt: skip
