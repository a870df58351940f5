"""Law 5: the same question to the same state gives the same bytes, whatever the process, hash seed and threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from corpus import write

import assay

ASK = """
import json, sys
import numpy as np
import assay
base = assay.open(sys.argv[1])
dim = base.store.settings["dim"]
digests = []
for number, text in enumerate(["gateway invoice", '"signing key"', "東京", "common", ""]):
    vector = np.random.default_rng(number).normal(size=dim) if dim else None
    for pipeline in ("default", "weighted", "bm25", "dense"):
        for options in ({}, {"where": 'title ~ "Document"', "k": 3}, {"at": 0.0, "budget": 300}, {"snapshot": "v1"}):
            answer = base.search(text, pipeline=pipeline, vector=vector, **options)
            digests.append([answer.digest, [hit.why() for hit in answer], list(answer.status.degraded)])
print(json.dumps(digests))
"""


def asked(store: Path, **environment: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(store)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    said: list[object] = json.loads(done.stdout)
    return said


@pytest.mark.slow
@pytest.mark.parametrize("state", ["tail", "index", "both"])
def test_every_process_says_the_same(tmp_path: Path, state: str) -> None:
    store = tmp_path / "kb"
    with assay.open(store, embedder="none") as base:
        base.add(write(tmp_path / "docs", range(40)))
        if state != "tail":
            base.optimize()
        if state == "both":
            base.add(write(tmp_path / "docs", range(35, 50), revision=1))
    first = asked(store, PYTHONHASHSEED="0", OMP_NUM_THREADS="1")
    assert len(first) == 80
    for environment in (
        {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "2"},
        {"PYTHONHASHSEED": "4242", "OPENBLAS_NUM_THREADS": "1"},
    ):
        assert asked(store, **environment) == first


@pytest.mark.slow
def test_vectors_too(tmp_path: Path) -> None:
    """An inverted index, a tail and tombstones; OpenMP and BLAS with one thread and two."""
    make = """
import sys
import numpy as np
from assay.backend.local.backend import LocalBackend
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk
from pathlib import Path
settings = {"embedder": "none", "model": "m", "dim": 32, "language": "english", "profile": "default"}
backend = LocalBackend(SqliteStore.create(Path(sys.argv[1]), settings), Analyser(), "m", 32, ivf_from=1000)
rng = np.random.default_rng(0)
def some(first, last):
    for i in range(first, last):
        raw = rng.normal(size=32)
        yield Chunk(f"c{i:05d}", f"d{i % 7}", f"gateway invoice {i % 13} common", 4, 0.0, 1.0, {"title": "Document"}), \
            (raw / np.linalg.norm(raw)).astype(np.float32)
backend.put(some(0, 6000))
backend.compact()
backend.put(some(6000, 6300))
backend.remove(f"c{i:05d}" for i in range(0, 6300, 11))
assert backend.generation.manifest["vectors"]["kind"] == "ivf_pq_fastscan"
print(backend.generation.digest)
"""
    made = [
        subprocess.run(
            [sys.executable, "-c", make, str(tmp_path / name)],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "OMP_NUM_THREADS": str(threads)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name, seed, threads in (("one", 1, 1), ("two", 2, 2))
    ]
    assert made[0] == made[1], "the same chunks make another index with another number of threads"
    said = [
        asked(
            tmp_path / name, PYTHONHASHSEED=str(seed), OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads)
        )
        for name, seed, threads in (("one", 1, 1), ("one", 2, 2), ("two", 3, 1))
    ]
    assert said[0] == said[1] == said[2]
    assert len(said[0]) == 80
