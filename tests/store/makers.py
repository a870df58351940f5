"""Stores for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.store.sqlite import SqliteStore
from assay.types import Chunk, Vector

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}


def made(folder: Path, dim: int = 0) -> SqliteStore:
    return SqliteStore.create(folder, {**SETTINGS, "model": "m" if dim else "", "dim": dim})


def chunk(name: str, text: str = "some text", **more: object) -> Chunk:
    return Chunk(name, f"doc-{name}", text, 2, **more)  # type: ignore[arg-type]


def vector(*numbers: float) -> Vector:
    raw = np.array(numbers, np.float64)
    return (raw / np.linalg.norm(raw)).astype(np.float32)


def put(store: SqliteStore, *chunks: Chunk, origin: str = "") -> int:
    with store.write("put") as writer:
        for one in chunks:
            writer.put(one, None, origin)
    return writer.version


def alive(store: SqliteStore) -> list[str]:
    return [name for name, _ in store.live_at(store.version())]
