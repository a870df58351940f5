"""Every record of truth says the same of the same transactions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.backend.addresses import resolve_factory
from assay.store.contract import ChunkStore
from assay.testing.backends import DIM
from assay.testing.stores import check_store


def records(address: Path, dim: int) -> Callable[[], ChunkStore]:
    place, rest = resolve_factory(str(address))
    model = "m" * 64 if dim else ""
    settings = {"embedder": "test", "model": model, "dim": dim, "language": "english", "profile": "default"}
    return lambda: (place.open(rest) if place.exists(rest) else place.create(rest, settings)).store


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("name", "dim"), [("kb", DIM), ("notes.sqlite", 0), ("kb.lance", DIM), ("kb.lance", 0)])
def test_contract(tmp_path: Path, name: str, dim: int, seed: int) -> None:
    if name.endswith(".lance"):
        pytest.importorskip("lancedb", reason="the extra `lance` is not installed")
    check_store(records(tmp_path / name, dim), tmp_path / "oracle", seed, rounds=8 if "lance" in name else 25)
