"""The lance backend against brute force."""

from pathlib import Path

import pytest

pytest.importorskip("lancedb", reason="the extra `lance` is not installed")

from assay.backend.lance.backend import LanceBackend
from assay.backend.lance.store import LanceStore
from assay.backend.lance.tables import translate_lance_errors
from assay.errors import StoreError
from assay.testing.backends import DIM, check_backend
from assay.text.analyser import Analyser

SETTINGS = {"embedder": "test", "model": "m", "dim": DIM, "language": "english", "profile": "default"}


def backend(folder: Path, **options: int) -> LanceBackend:
    said = {**SETTINGS, "analyser": Analyser().digest}
    store = LanceStore.open(folder) if LanceStore.exists(folder) else LanceStore.create(folder, said)
    return LanceBackend(store, **options)


def test_segments_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.backend.lance.cache._MOST_SEGMENTS", 2)
    check_backend(lambda: backend(tmp_path / "kb.lance"), 10, rounds=5)


@pytest.mark.parametrize("seed", range(2))
def test_contract(tmp_path: Path, seed: int) -> None:
    check_backend(lambda: backend(tmp_path / "kb.lance"), seed, rounds=5)


@pytest.mark.parametrize("seed", range(2, 4))
def test_lances_indexes_propose(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every short cut switched off, its proposals must still lead to the very same answers."""
    monkeypatch.setattr("assay.backend.lance.snapshot.GATHER", 0)
    check_backend(lambda: backend(tmp_path / "kb.lance", fts_from=0, max_vector_bytes=0), seed, rounds=5)


class RustPanic(Exception):
    """As the bindings raise it in asynchronous calls; elsewhere it is a PanicException."""


class PanicException(BaseException):
    """No ordinary exception."""


def raise_inside(error: BaseException, folder: Path) -> None:
    with translate_lance_errors(folder):
        raise error


@pytest.mark.parametrize("kind", [RustPanic, PanicException])
def test_a_panic_over_a_damaged_file_is_an_error_with_a_cure(tmp_path: Path, kind: type[BaseException]) -> None:
    with pytest.raises(StoreError, match="is damaged: range end index 9 out of range") as caught:
        raise_inside(kind("range end index 9 out of range\nstack backtrace"), tmp_path)
    assert "restore" in caught.value.cure
    with pytest.raises(KeyboardInterrupt):
        raise_inside(KeyboardInterrupt(), tmp_path)
