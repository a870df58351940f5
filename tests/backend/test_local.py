"""The embedded backend against brute force, in every mode it can be in."""

from pathlib import Path

import pytest

from assay.backend.local.backend import LocalBackend
from assay.store.sqlite import SqliteStore
from assay.testing.backends import DIM, check_backend
from assay.text.analyser import Analyser
from assay.types import Chunk, Query


def backend(folder: Path, tantivy_from: int = 20_000, ivf_from: int = 10_000) -> LocalBackend:
    settings = {"embedder": "test", "model": "m", "dim": DIM, "language": "english", "profile": "default"}
    store = SqliteStore.open(folder) if SqliteStore.exists(folder) else SqliteStore.create(folder, settings)
    return LocalBackend(store, Analyser(), "m", DIM, tantivy_from=tantivy_from, ivf_from=ivf_from)


@pytest.mark.parametrize("seed", range(6))
def test_exact_structures(tmp_path: Path, seed: int) -> None:
    check_backend(lambda: backend(tmp_path / "kb"), seed)


@pytest.mark.parametrize("seed", range(6, 10))
def test_tantivy_proposes(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every short cut switched off, tantivy's proposals must still lead to the very same answers."""
    monkeypatch.setattr(
        "assay.backend.shared.bm25._HEAVY", 0 if seed % 2 else 10**9
    )  # frequent terms unasked, or asked
    monkeypatch.setattr("assay.backend.shared.bm25._SCAN", 0)
    monkeypatch.setattr("assay.backend.shared.bm25._FEW_ROWS", 0)
    check_backend(lambda: backend(tmp_path / "kb", tantivy_from=0), seed)


def test_what_tantivy_cannot_tell_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tantivy keeps a length in one byte, so 505 and 535 terms are the same to it, and the first rows win: its proposal
    is not proven, and more is looked at until the shorter chunks, which score more, are found."""
    monkeypatch.setattr("assay.backend.shared.bm25._SCAN", 0)
    made = backend(tmp_path / "kb", tantivy_from=0)
    texts = {"a": f"walrus {'x ' * 534}", "b": f"walrus {'x ' * 504}"}
    made.put((Chunk(f"{kind}{n:03}", "d", text, 1), None) for kind, text in texts.items() for n in range(200))
    made.compact(force=True)
    view = made.snapshot()
    found = view.lexical(Query("walrus"), 10)
    assert view.ids(found.rows).tolist() == [f"b{n:03}" for n in range(10)]
    made.close()
