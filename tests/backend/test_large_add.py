"""Much added at once is indexed before the next search: a tail in memory stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.backend.local import backend as local
from assay.backend.local.backend import LocalBackend
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}


def chunks(first: int, end: int) -> list[tuple[Chunk, None]]:
    return [
        (Chunk(f"c{n:03d}", f"d{n}", f"word{n}", 1, meta={"title": "", "section": ""}), None) for n in range(first, end)
    ]


def test_a_large_addition_does_not_become_a_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MOST_TAIL", 10)
    monkeypatch.setattr(local, "MAX_TAIL_ROWS", 30)
    backend = LocalBackend(SqliteStore.create(tmp_path / "kb", SETTINGS), Analyser())
    backend.put(chunks(0, 10))
    assert (backend.generation, backend.pending) == (None, 10)
    backend.put(chunks(10, 20))
    assert backend.generation is not None
    assert (backend.generation.size, backend.pending) == (20, 0)
    backend.put(chunks(20, 45))
    assert (backend.generation.size, backend.pending) == (20, 25)  # a generation is there, so a longer tail will do
    backend.put(chunks(45, 60))
    assert backend.generation is not None
    assert (backend.generation.size, backend.pending) == (60, 0)
    assert backend.snapshot().size == 60
    backend.close()
