"""The backends beside the embedded one, in one run: adding, words, words and meaning, filters; ratios to the folder.

Every backend holds the same chunks and is asked the same questions in turns. Query embedding and the reading of texts
are excluded. `first` is a query's first time in a process that has just opened the store; the other rows are later
ones, when what a backend remembers is warm.

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
from benchmarks.measure import in_turns, percentiles, timed, write_receipt

ADDRESSES = {"local": "kb", "sqlite": "notes.sqlite", "lance": "kb.lance"}
DIM = 384
BATCH = 1_000
HALF = "bucket < 500"


def filled(address: str, size: int, dense: bool) -> dict[str, float]:
    """Put the chunks in batches and compact; seconds and rate."""
    model = (
        {"embedder": "minilm", "model": "bench", "dim": DIM} if dense else {"embedder": "none", "model": "", "dim": 0}
    )
    backend = create_backend(address, {**model, "language": "english", "profile": "default"})
    every = [item for part in chunks(size) for item in part]
    items = every if dense else [(chunk, None) for chunk, _ in every]

    def put() -> None:
        for start in range(0, len(items), BATCH):
            backend.put(items[start : start + BATCH])

    putting, _ = timed(put)
    compacting, _ = timed(lambda: backend.compact(force=True))
    one = min(timed(lambda n=n: backend.put([(items[n][0], None)] if not dense else [items[n]]))[0] for n in range(5))
    backend.close()
    return {
        "added_per_s": round(size / putting),
        "compact_s": round(compacting, 2),
        "unchanged_put_ms": round(one * 1e3, 2),
        "mb": round(_weight(Path(address)) / 1e6, 1),
    }


def _weight(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def first_times(backend: StoreBackend, queries: list[Query]) -> dict[str, float]:
    """Each question once, to a store that was just opened; the very first one is not counted."""
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
    asked, vectors = questions()
    pairs = list(zip(asked, vectors, strict=True))[: options.questions]
    words, hybrid = load("bm25"), load("default")
    with tempfile.TemporaryDirectory() as folder:
        places = {name: str(Path(folder) / place) for name, place in ADDRESSES.items()}
        made = {name: filled(place, options.size, name != "sqlite") for name, place in places.items()}
        open_ = {name: open_backend(place) for name, place in places.items()}
        plain = [Query(text, vector=vector) for text, vector in pairs]
        half = [Query(text, vector=vector, where=parse(HALF)) for text, vector in pairs]
        times: dict[str, dict[str, Any]] = {"words, first": {n: first_times(b, plain) for n, b in open_.items()}}
        for what, pipeline, queries in (
            ("words", words, plain),
            ("words, filter 50 %", words, half),
            ("words and meaning", hybrid, plain),
        ):
            contenders: dict[str, Callable[[int], Any]] = {}
            for name, backend in open_.items():
                view = backend.snapshot()
                if pipeline is words or "dense" in view.capabilities:
                    contenders[name] = lambda i, v=view, p=pipeline, q=queries: p.run(q[i], v)  # type: ignore[misc]
            times[what] = in_turns(contenders, len(queries), rounds=2)
        same = agreement(open_, plain)
        for backend in open_.values():
            backend.close()
    ratios = {
        f"{what}: {name} / local, {p}": round(found[name][p] / found["local"][p], 2)
        for what, found in times.items()
        for name in found
        for p in ("p50_ms", "p95_ms")
        if name != "local"
    }
    for name in ("sqlite", "lance"):
        ratios[f"added per s: {name} / local"] = round(made[name]["added_per_s"] / made["local"]["added_per_s"], 2)
    load_average = round(os.getloadavg()[0], 1)
    measured = {
        "chunks": options.size,
        "load average at the end": load_average,
        "made": made,
        "times": times,
        "ratios": ratios,
        "agreement": same,
    }
    print(measured)
    print(write_receipt(options.receipt, measured))


def agreement(backends: dict[str, StoreBackend], queries: list[Query]) -> dict[str, float]:
    """Share of questions whose hundred best by words are those of the embedded store, scores and all."""
    views = {name: backend.snapshot() for name, backend in backends.items()}
    found: dict[str, list[bool]] = {name: [] for name in views if name != "local"}
    for query in queries:
        expected = _found(views["local"], query)
        for name, same in found.items():
            same.append(_found(views[name], query) == expected)
    return {name: round(sum(same) / len(same), 4) for name, same in found.items()}


def _found(view: Any, query: Query) -> list[Any]:
    found = view.lexical(query, 100)
    return [view.ids(found.rows).tolist(), *(part.column.tolist() for part in found.parts)]


if __name__ == "__main__":
    main()
