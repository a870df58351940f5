"""Measures what checksums cost: opening with the first search, and searches, with and without them, in turns.

The store without them is a copy whose manifests have none. Chunks and vectors are random. Openings are measured apart:

- after a restart: nothing of the store is in memory, and no record of verified files counts (it names the start of the
  machine). Files are dropped from the page cache one by one; `mb_read` says what then came from the disk.
- without a record: the files are in memory, as just after an index was built.
- with a record: every later process.

    python -m benchmarks.checksums [--chunks 25000]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.addresses import create_backend, open_backend
from assay.index import verified_files
from assay.types import Chunk, Query
from assay.util.file_checksum import XXH3
from benchmarks.measure import percentiles, time_in_turns, write_receipt

DIM, QUERIES, OPENS = 64, 150, 60
SETTINGS = {"embedder": "hash", "model": "random", "dim": DIM, "language": "english", "profile": "default"}


def build_store(folder: Path, chunks: int) -> None:
    drawn = np.random.default_rng(7)
    words = [f"word{number}" for number in range(5_000)]
    picks = np.minimum(drawn.zipf(1.2, (chunks, 60)), len(words)) - 1
    vectors = drawn.standard_normal((chunks, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    backend = create_backend(folder, SETTINGS)
    backend.put(
        (Chunk(f"c{n:06d}", f"d{n // 4}", " ".join(words[p] for p in picks[n]), 60, meta={"n": n}), vectors[n])
        for n in range(chunks)
    )
    backend.compact(force=True)
    backend.close()


def strip_checksums(folder: Path) -> None:
    for path in (folder / "generations").glob("*/manifest.json"):
        manifest = json.loads(path.read_text())
        del manifest[XXH3.name], manifest[f"own_{XXH3.name}"]
        path.write_text(json.dumps(manifest))


def ask(backend: Any, number: int) -> None:
    drawn = np.random.default_rng(number)
    vector = drawn.standard_normal(DIM).astype(np.float32)
    text = " ".join(f"word{w}" for w in np.minimum(drawn.zipf(1.2, 5), 5_000) - 1)
    view = backend.snapshot()
    query = Query(text, vector=vector / np.linalg.norm(vector))
    view.chunks(view.lexical(query, 10).rows)
    view.chunks(view.nearest(query, 10).rows)


def time_opening(folder: Path) -> tuple[float, int]:
    """Seconds until a store is open and has answered a first search, and the bytes fetched from the disk until then."""
    before, start = read_from_disk(), time.perf_counter()
    backend = open_backend(folder)
    ask(backend, 1)
    seconds, fetched = time.perf_counter() - start, read_from_disk() - before
    backend.close()
    return seconds, fetched


def forget_records(folder: Path) -> None:
    for record in folder.rglob(verified_files.NAME):
        record.unlink()


def drop_from_memory(folder: Path) -> None:
    """Drop the store's files from the page cache; only clean pages that nothing maps can be dropped."""
    gc.collect()
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def read_from_disk() -> int:
    """Bytes that this process had fetched from the disk so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def measure_openings(folders: dict[str, Path]) -> dict[str, dict[str, dict[str, float]]]:
    """State of the files → store → times. Stores alternate, and so does which of them is first."""
    states = ("after a restart", "without a record", "with a record")
    seconds: dict[str, dict[str, list[float]]] = {state: {name: [] for name in folders} for state in states}
    fetched = dict.fromkeys(folders, 0)
    for folder in folders.values():
        time_opening(folder)
    for state in states:
        for turn in range(OPENS):
            for name in list(folders) if turn % 2 else reversed(folders):
                if state != "with a record":
                    forget_records(folders[name])
                if state == "after a restart":
                    drop_from_memory(folders[name])
                taken, came = time_opening(folders[name])
                seconds[state][name].append(taken)
                fetched[name] += came if state == "after a restart" else 0
    found = {state: {name: percentiles(times) for name, times in each.items()} for state, each in seconds.items()}
    for name, total in fetched.items():
        found["after a restart"][name]["mb_read"] = round(total / OPENS / 1e6, 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=25_000)
    parser.add_argument("--folder", type=Path, help="where the stores are made; a disk, not memory")
    parser.add_argument("--name", default="checksums", help="of the receipt")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        checked, unchecked = Path(scratch) / "checked", Path(scratch) / "unchecked"
        build_store(checked, options.chunks)
        shutil.copytree(checked, unchecked)
        strip_checksums(unchecked)
        folders = {"with checksums": checked, "without": unchecked}
        time.sleep(3.0)  # files that were just written are not recorded as verified
        opening = measure_openings(folders)
        backends = {name: open_backend(folder) for name, folder in folders.items()}
        contenders: dict[str, Callable[[int], Any]] = {name: partial(ask, each) for name, each in backends.items()}
        times = time_in_turns(contenders, QUERIES, rounds=5)
        for backend in backends.values():
            backend.close()
    ratios = {
        f"open and first search, {state}, p50": each["with checksums"]["p50_ms"] / each["without"]["p50_ms"]
        for state, each in opening.items()
    }
    for percentile in ("p50", "p95"):
        pair = [times[name][f"{percentile}_ms"] for name in folders]
        ratios[f"search, {percentile}"] = pair[0] / pair[1]
    rounded = {name: round(value, 3) for name, value in ratios.items()}
    measured = {"chunks": options.chunks, "dim": DIM, "open": opening, "search": times, "ratios": rounded}
    print(json.dumps(measured, indent=1))
    print(write_receipt(options.name, measured))


if __name__ == "__main__":
    main()
