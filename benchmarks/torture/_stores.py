"""Stores under attack: one of each kind, and the texts that campaigns write into them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.addresses import create_backend
from assay.backend.contract import StoreBackend
from assay.testing.postgres import PostgresServer, find_binaries
from assay.types import Chunk, Vector

KINDS = ("folder", "one file", "lance", "postgres")
_TEXT = (
    "heron nest lake river signing key rotate deploy window friday release budget invoice ledger audit turbine valve "
    "pressure gauge night shift roster orchard harvest frost irrigation queue broker retry timeout cache shard replica"
)
_WORDS = tuple(_TEXT.split())
SETTINGS: dict[str, Any] = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
DIM = 8
PRELOADED = ("assay.backend.local.backend", "assay.backend.postgres.backend", "lance_namespace")
"""What children of a fork server need not import again: most of what opening a store imports. Lance itself and pyarrow
start threads when they are imported, which do not survive a fork."""


def make_text(seed: int, words: int = 12) -> str:
    drawn = random.Random(seed)
    return " ".join(drawn.choice(_WORDS) for _ in range(words)) + f" ticket-{seed:05d}"


def make_chunk(name: str, seed: int, scope: str = "user:a") -> Chunk:
    text = make_text(seed)
    created = 1.7e9 + seed
    return Chunk(name, f"doc/{name}", text, len(text.split()), created, 0.5, {"scope": scope, "lang": "en", "n": seed})


def make_vector(seed: int) -> Vector:
    vector = np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


def has_vectors(kind: str) -> bool:
    return kind != "one file"


def create_store(kind: str, address: str, **settings: Any) -> StoreBackend:
    """A new store of a kind; with vectors of eight numbers where it can hold them."""
    vectors = {"embedder": "hash", "model": "test-model", "dim": DIM} if has_vectors(kind) else {}
    return create_backend(address, {**SETTINGS, **vectors, **settings})


@contextlib.contextmanager
def addresses(folder: Path, kinds: tuple[str, ...] = KINDS) -> Iterator[dict[str, str]]:
    """Kind → where a store of it can be made. A PostgreSQL server runs meanwhile, where its binaries are installed."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {"folder": str(folder / "kb"), "one file": str(folder / "notes.sqlite"), "lance": str(folder / "kb.lance")}
    places = {kind: place for kind, place in places.items() if kind in kinds}
    with contextlib.ExitStack() as stack:
        if "postgres" in kinds and find_binaries() is not None:
            server = stack.enter_context(PostgresServer.start())
            places["postgres"] = server.address("torture")
        yield places
