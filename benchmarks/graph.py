"""Compares building the graph with building the word index, and a walk with BM25.

Real texts without vectors, so that only words and the graph are measured. Questions are real; the walk starts from
their names and from the BM25 results. Then chunks are added and deleted, and the same questions run again.

    python -m benchmarks.graph --sizes 20000 200000
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.local.backend import LocalBackend
from assay.config.load import loads
from assay.engine.order import stamp_ranks, top
from assay.legs.graph import Graph
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Query
from benchmarks.data import QUESTIONS, data_folder, text_of
from benchmarks.measure import private_mb, time_call, time_in_turns, write_receipt

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
ASKED = 200
CHANGED = 1_000
BM25 = loads("[legs.bm25]\nk = 100\n", "bm25")
BOTH = loads(
    '[legs.bm25]\nk = 100\n[legs.graph]\nk = 100\nafter = ["bm25"]\n[fuse]\nuse = "rrf"\nweights = { graph = 0.35 }\n',
    "both",
)


def chunk(number: int) -> Chunk:
    title, _, body = text_of(number).partition("\n")
    return Chunk(f"{number:016x}", f"d{number // 8}", body, len(body) // 4, meta={"title": title, "section": ""})


def queries() -> list[Query]:
    texts: list[str] = []
    rng = np.random.default_rng(2)
    for name in QUESTIONS:
        lines = (data_folder() / name / "queries.jsonl").read_text("utf-8").splitlines()
        texts += [json.loads(lines[i])["text"] for i in rng.permutation(len(lines))[: ASKED // len(QUESTIONS)]]
    return [Query(text) for text in texts]


def build(folder: Path, size: int) -> tuple[LocalBackend, dict[str, Any]]:
    backend = LocalBackend(SqliteStore.create(folder, SETTINGS), Analyser())

    def fill() -> None:
        for start in range(0, size, 5_000):
            backend.put([(chunk(i), None) for i in range(start, min(start + 5_000, size))])

    for number in range(size):
        text_of(number)  # load and split before timing starts
    loading, _ = time_call(fill)
    indexing, _ = time_call(lambda: backend.compact(force=True))
    before = private_mb()
    building, covered = time_call(backend.build_graph)
    generation = backend.generation
    assert generation is not None
    assert covered == size
    return backend, {
        "chunks_added_per_s": round(size / loading),
        "index_s": round(indexing, 1),
        "graph_s": round(building, 1),
        "graph_over_index": round(building / indexing, 2),
        "graph_mb_on_disk": round(sum(p.stat().st_size for p in generation.graph_folder.iterdir()) / 1e6, 1),
        "private_mb_more": round(private_mb() - before, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "peak_mb_of_a_helper": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
    }


def measure_queries(backend: LocalBackend, rounds: int = 3) -> dict[str, Any]:
    """Times BM25, the walk alone, and both legs fused, alternating."""
    snapshot = backend.snapshot()
    all_queries = queries()
    first, _ = time_call(lambda: Graph().find(all_queries[0], snapshot, 100))
    leg = Graph()
    seeds = [stamp_ranks(top(BM25.run(q, snapshot, k=100).chosen, 5), 0) for q in all_queries]
    times = time_in_turns(
        {
            "bm25": lambda i: BM25.run(all_queries[i], snapshot),
            "walk": lambda i: leg.find(all_queries[i], snapshot, 100, seeds[i]),
            "bm25 and graph, fused": lambda i: BOTH.run(all_queries[i], snapshot),
        },
        len(all_queries),
        rounds,
    )
    ratios = {f"walk over bm25, {p}": round(times["walk"][p] / times["bm25"][p], 2) for p in ("p50_ms", "p95_ms")}
    view = snapshot._graph_view
    return {
        "first_question_ms": round(first * 1000, 1),
        "times": times,
        "ratios": ratios,
        "things": int(np.count_nonzero(view.weights)),
        "candidates": view.things,
        "questions_that_name_a_thing": sum(bool(view.query_things(q.text)) for q in all_queries),
    }


def run(size: int, folder: Path) -> dict[str, Any]:
    backend, build_facts = build(folder / f"kb-{size}", size)
    compacted = measure_queries(backend)
    backend.put([(chunk(size + i), None) for i in range(CHANGED)])
    backend.remove(f"{number * 7:016x}" for number in range(CHANGED))
    changed = measure_queries(backend, rounds=1)
    backend.close()
    return {"chunks": size, **build_facts, "compacted": compacted, f"after {CHANGED} adds and deletes": changed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[20_000, 200_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for size in options.sizes:
            results.append(run(size, Path(folder)))
            print(json.dumps(results[-1], indent=1), flush=True)
    print(write_receipt("graph", {"sizes": results}))


if __name__ == "__main__":
    main()
