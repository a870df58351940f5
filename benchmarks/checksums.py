"""Measures what checksums cost: opening with the first search, and searches, with and without them, in turns.

The store without them is a copy whose manifest has none, as an older release wrote it. Chunks and vectors are random.
The first process after a start of the machine verifies what it reads; later ones find its record (measured apart).

    python -m benchmarks.checksums
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.addresses import create_backend, open_backend
from assay.index import verified_files
from assay.types import Chunk, Query
from benchmarks.measure import percentiles, time_in_turns, write_receipt

CHUNKS, DIM, QUERIES, OPENS = 25_000, 64, 150, 60
SETTINGS = {"embedder": "hash", "model": "random", "dim": DIM, "language": "english", "profile": "default"}


def build_store(folder: Path) -> None:
    drawn = np.random.default_rng(7)
    words = [f"word{number}" for number in range(5_000)]
    picks = np.minimum(drawn.zipf(1.2, (CHUNKS, 60)), len(words)) - 1
    vectors = drawn.standard_normal((CHUNKS, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    backend = create_backend(folder, SETTINGS)
    backend.put(
        (Chunk(f"c{n:06d}", f"d{n // 4}", " ".join(words[p] for p in picks[n]), 60, meta={"n": n}), vectors[n])
        for n in range(CHUNKS)
    )
    backend.compact(force=True)
    backend.close()


def strip_checksums(folder: Path) -> None:
    for path in (folder / "generations").glob("*/manifest.json"):
        manifest = json.loads(path.read_text())
        del manifest["crc32"], manifest["own_crc32"]
        path.write_text(json.dumps(manifest))


def ask(backend: Any, number: int) -> None:
    drawn = np.random.default_rng(number)
    vector = drawn.standard_normal(DIM).astype(np.float32)
    text = " ".join(f"word{w}" for w in np.minimum(drawn.zipf(1.2, 5), 5_000) - 1)
    view = backend.snapshot()
    query = Query(text, vector=vector / np.linalg.norm(vector))
    view.chunks(view.lexical(query, 10).rows)
    view.chunks(view.nearest(query, 10).rows)


def time_opening(folder: Path) -> float:
    """Seconds until a store is open and has answered a first search."""
    start = time.perf_counter()
    backend = open_backend(folder)
    ask(backend, 1)
    seconds = time.perf_counter() - start
    backend.close()
    return seconds


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        checked, unchecked = Path(scratch) / "checked", Path(scratch) / "unchecked"
        build_store(checked)
        shutil.copytree(checked, unchecked)
        strip_checksums(unchecked)
        folders = {"with checksums": checked, "without": unchecked}
        time.sleep(3.0)  # files that were just written are not recorded as verified
        opened: dict[str, list[float]] = {name: [] for name in (*folders, "with checksums, first")}
        for folder in folders.values():
            time_opening(folder)
        for turn in range(OPENS):
            for name in list(folders) if turn % 2 else reversed(folders):
                opened[name].append(time_opening(folders[name]))
        for _ in range(OPENS // 3):
            for record in checked.rglob(verified_files.NAME):
                record.unlink()
            opened["with checksums, first"].append(time_opening(checked))
        backends = {name: open_backend(folder) for name, folder in folders.items()}
        contenders = {name: lambda n, b=backend: ask(b, n) for name, backend in backends.items()}
        times = time_in_turns(contenders, QUERIES, rounds=5)
        for backend in backends.values():
            backend.close()
    opening = {name: percentiles(seconds) for name, seconds in opened.items()}
    ratios = {
        "open and first search, p50": opening["with checksums"]["p50_ms"] / opening["without"]["p50_ms"],
        "open and first search, no record yet, p50": opening["with checksums, first"]["p50_ms"]
        / opening["without"]["p50_ms"],
        "search, p50": times["with checksums"]["p50_ms"] / times["without"]["p50_ms"],
        "search, p95": times["with checksums"]["p95_ms"] / times["without"]["p95_ms"],
    }
    rounded = {name: round(value, 3) for name, value in ratios.items()}
    measured = {"chunks": CHUNKS, "dim": DIM, "open": opening, "search": times, "ratios": rounded}
    print(json.dumps(measured, indent=1))
    print(write_receipt("checksums", measured))


if __name__ == "__main__":
    main()
