"""Compares the backends with the embedded one: adding, BM25, BM25 and vectors, filters.

Every backend holds the same chunks and answers the same questions, alternating. Query embedding and the reading of
texts are excluded. `first` is the first time of a query in a process that has just opened the store; the other
rows are warm.

    python -m benchmarks.backends --size 10000
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.backend.addresses import create_backend, open_backend
from assay.backend.contract import StoreBackend
from assay.config.load import load
from assay.types import Query
from assay.where import parse
from benchmarks.data import chunks, questions
from benchmarks.measure import percentiles, time_call, time_in_turns, write_receipt

ADDRESSES = {"local": "kb", "sqlite": "notes.sqlite", "lance": "kb.lance"}
DIM = 384
BATCH = 1_000
HALF = "bucket < 500"


def fill_store(address: str, size: int, dense: bool) -> dict[str, float]:
    """Adds the chunks in batches and compacts; returns seconds, rate and size."""
    model = (
        {"embedder": "minilm", "model": "bench", "dim": DIM} if dense else {"embedder": "none", "model": "", "dim": 0}
    )
    backend = create_backend(address, {**model, "language": "english", "profile": "default"})
    all_items = [item for part in chunks(size) for item in part]
    items = all_items if dense else [(chunk, None) for chunk, _ in all_items]

    def put() -> None:
        for start in range(0, len(items), BATCH):
            backend.put(items[start : start + BATCH])

    putting, _ = time_call(put)
    compacting, _ = time_call(lambda: backend.compact(force=True))
    unchanged = min(
        time_call(lambda n=n: backend.put([(items[n][0], None)] if not dense else [items[n]]))[0] for n in range(5)
    )
    backend.close()
    return {
        "added_per_s": round(size / putting),
        "compact_s": round(compacting, 2),
        "unchanged_put_ms": round(unchanged * 1e3, 2),
        "mb": round(_disk_bytes(Path(address)) / 1e6, 1),
    }


def _disk_bytes(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def time_first_queries(backend: StoreBackend, queries: list[Query]) -> dict[str, float]:
    """Times each question once on a newly opened store; the very first one does not count."""
    pipeline = load("bm25")
    view = backend.snapshot()
    pipeline.run(queries[0], view)
    seconds = []
    for query in queries[1:]:
        start = time.perf_counter()
        pipeline.run(query, view)
        seconds.append(time.perf_counter() - start)
    return percentiles(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--receipt", default="backends")
    options = parser.parse_args()
    texts, vectors = questions()
    pairs = list(zip(texts, vectors, strict=True))[: options.questions]
    words, hybrid, older = load("bm25"), load("default"), load("default-0.1")
    with tempfile.TemporaryDirectory() as folder:
        addresses = {name: str(Path(folder) / address) for name, address in ADDRESSES.items()}
        built = {name: fill_store(address, options.size, name != "sqlite") for name, address in addresses.items()}
        backends = {name: open_backend(address) for name, address in addresses.items()}
        plain = [Query(text, vector=vector) for text, vector in pairs]
        half = [Query(text, vector=vector, where=parse(HALF)) for text, vector in pairs]
        times: dict[str, dict[str, Any]] = {
            "words, first": {n: time_first_queries(b, plain) for n, b in backends.items()}
        }
        for case, pipeline, queries in (
            ("words", words, plain),
            ("words, filter 50 %", words, half),
            ("words and meaning", hybrid, plain),
            ("words and meaning, default-0.1", older, plain),
        ):
            contenders: dict[str, Callable[[int], Any]] = {}
            for name, backend in backends.items():
                view = backend.snapshot()
                if pipeline is words or "dense" in view.capabilities:
                    contenders[name] = lambda i, v=view, p=pipeline, q=queries: p.run(q[i], v)  # type: ignore[misc]
            times[case] = time_in_turns(contenders, len(queries), rounds=2)
        matching = measure_agreement(backends, plain)
        for backend in backends.values():
            backend.close()
    ratios = {
        f"{case}: {name} / local, {p}": round(found[name][p] / found["local"][p], 2)
        for case, found in times.items()
        for name in found
        for p in ("p50_ms", "p95_ms")
        if name != "local"
    }
    for name in ("sqlite", "lance"):
        ratios[f"added per s: {name} / local"] = round(built[name]["added_per_s"] / built["local"]["added_per_s"], 2)
    load_average = round(os.getloadavg()[0], 1)
    measured = {
        "chunks": options.size,
        "load average at the end": load_average,
        "made": built,
        "times": times,
        "ratios": ratios,
        "agreement": matching,
    }
    print(measured)
    print(write_receipt(options.receipt, measured))


def measure_agreement(backends: dict[str, StoreBackend], queries: list[Query]) -> dict[str, float]:
    """Share of questions whose hundred best BM25 results equal those of the embedded store, scores included."""
    views = {name: backend.snapshot() for name, backend in backends.items()}
    found: dict[str, list[bool]] = {name: [] for name in views if name != "local"}
    for query in queries:
        expected = _lexical_result(views["local"], query)
        for name, matching in found.items():
            matching.append(_lexical_result(views[name], query) == expected)
    return {name: round(sum(matching) / len(matching), 4) for name, matching in found.items()}


def _lexical_result(view: Any, query: Query) -> list[Any]:
    found = view.lexical(query, 100)
    return [view.ids(found.rows).tolist(), *(part.column.tolist() for part in found.parts)]


if __name__ == "__main__":
    main()
