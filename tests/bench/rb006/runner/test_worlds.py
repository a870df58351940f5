"""Worlds in the cache: written once, and written again after an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bench.rb006.runner import worlds
from assay.bench.rb006.runner.plan import RunSettings
from assay.bench.rb006.runner.worlds import build_worlds, make_world

SETTINGS = RunSettings(quick=True, largest=500)


def test_an_interrupted_world_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = make_world(SETTINGS, SETTINGS.largest)  # once; what is written from it is tested
    monkeypatch.setattr(worlds, "make_world", lambda *_: simulated)

    def interrupt(task: str, done: int, total: int) -> None:
        if task == "writing chunks":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_worlds(SETTINGS, tmp_path, interrupt)
    (unfinished,) = [path for path in (tmp_path / "worlds").iterdir() if path.is_dir()]
    assert not (unfinished / "meta.json").exists()
    built = build_worlds(SETTINGS, tmp_path)
    assert built.subjects[500].dataset.document_count == 500
    tasks: list[str] = []
    again = build_worlds(SETTINGS, tmp_path, lambda task, *_: tasks.append(task))
    assert "writing chunks" not in tasks
    assert again.subjects[500].dataset.digest == built.subjects[500].dataset.digest
