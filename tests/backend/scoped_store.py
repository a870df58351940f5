"""A small indexed store of two scopes, for tests that damage its files."""

from __future__ import annotations

from pathlib import Path

from assay import kb
from assay.types import Chunk


def make_scoped_store(path: Path) -> Path:
    """Sixty chunks of `user:a` and `user:b` in turns, without vectors, in one generation."""
    with kb.open(path, embedder="none") as base:
        chunks = [
            Chunk(f"c{n:03d}", f"d{n}", f"heron number{n} at the lake", 5, meta={"scope": f"user:{'ab'[n % 2]}"})
            for n in range(60)
        ]
        base.backend.put((chunk, None) for chunk in chunks)
        base.optimize(force=True)
    return path
