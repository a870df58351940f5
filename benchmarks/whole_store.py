"""Compares whole stores over the same chunks: a folder, PostgreSQL, and PostgreSQL with its index in Qdrant.

Building and searching, with texts, words, vectors, versions; encoding of queries is excluded. All servers run on this
machine and wait for their disks as in production; the round trips of a network are not included. The answers are
compared, ids and order.

    python -m benchmarks.whole_store --size 30000
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from assay.backend.addresses import create_backend
from assay.backend.contract import StoreBackend
from assay.backend.local.backend import LocalBackend
from assay.config.load import load
from assay.store.sqlite import SqliteStore
from assay.testing.postgres import PostgresServer
from assay.testing.qdrant import QdrantNodes, fetch_binary, find_binary
from assay.text.analyser import Analyser
from assay.types import Query
from benchmarks.data import chunks, questions
from benchmarks.measure import time_filling, time_in_turns, write_receipt

DIM, MODEL = 384, "bench"
SETTINGS = {"embedder": "minilm", "model": MODEL, "dim": DIM, "language": "english", "profile": "default"}
PIPELINES = ("default", "dense", "bm25")
EXACT_FOLDER, FOLDER, POSTGRES = "folder, exact vectors", "folder", "PostgreSQL"
ONE_NODE, THREE_NODES = "PostgreSQL + Qdrant", "PostgreSQL + 3 Qdrant nodes"
_K = 10


def fill_store(backend: StoreBackend, size: int) -> dict[str, float]:
    put_s, index_s = time_filling(backend, lambda: chunks(size))
    return {"put_s": round(put_s, 1), "index_s": round(index_s, 1)}


def compare_answers(found: Mapping[str, list[list[tuple[str, float]]]]) -> dict[str, dict[str, float]]:
    """For every store the share of questions with the ids and order of a folder that compares every vector, also with
    the same scores, or with the same ids in any order. (From 10,000 chunks on, a folder as it is usually made, and
    PostgreSQL alone, search an index of vectors.)"""
    expected = found[EXACT_FOLDER]
    return {
        name: {
            "same_ids_in_order": _share(mine, expected, lambda hits: [chunk for chunk, _ in hits]),
            "same_scores": _share(mine, expected, lambda hits: hits),
            "same_ids": _share(mine, expected, lambda hits: {chunk for chunk, _ in hits}),
        }
        for name, mine in found.items()
        if name != EXACT_FOLDER
    }


def _share(mine: list[Any], expected: list[Any], read: Callable[[Any], Any]) -> float:
    return round(sum(bool(read(a) == read(b)) for a, b in zip(mine, expected, strict=True)) / len(expected), 4)


def measure(stores: Mapping[str, StoreBackend], count: int, rounds: int) -> dict[str, Any]:
    """Times of every pipeline on every store in turns, and how their answers agree."""
    texts, vectors = questions()
    queries = [Query(text, vector=vector) for text, vector in zip(texts, vectors, strict=True)][:count]
    views = {name: backend.snapshot() for name, backend in stores.items()}
    results: dict[str, Any] = {}
    for preset in PIPELINES:
        pipeline = load(preset)
        answers = {
            name: [[(hit.chunk.id, hit.score) for hit in pipeline.run(query, view, k=_K).hits] for query in queries]
            for name, view in views.items()
        }
        contenders: dict[str, Callable[[int], Any]] = {
            name: lambda i, v=view, p=pipeline: p.run(queries[i], v, k=_K)  # type: ignore[misc]
            for name, view in views.items()
        }
        results[preset] = {
            "times": time_in_turns(contenders, len(queries), rounds=rounds),
            "answers": compare_answers(answers),
        }
    return results


def run(size: int, count: int, rounds: int) -> dict[str, Any]:
    if find_binary() is None:
        fetch_binary()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(PostgresServer.start())
        one, three = (stack.enter_context(QdrantNodes.start(nodes)) for nodes in (1, 3))
        exact = SqliteStore.create(folder / "exact", SETTINGS)
        stores: dict[str, StoreBackend] = {
            EXACT_FOLDER: LocalBackend(exact, Analyser(), MODEL, DIM, ivf_from=sys.maxsize)
        }
        addresses = {
            FOLDER: str(folder / "kb"),
            POSTGRES: server.address("plain"),
            ONE_NODE: f"{server.address('one')}&index={one.address}",
            THREE_NODES: f"{server.address('three')}&index={three.address}&index_shards=3&index_replicas=2",
        }
        stores |= {name: create_backend(address, SETTINGS) for name, address in addresses.items()}
        built = {}
        for name, backend in stores.items():
            stack.callback(backend.close)
            built[name] = fill_store(backend, size)
            print(name, built[name], flush=True)
        load_before = os.getloadavg()[0]
        searched = measure(stores, count, rounds)
    return {
        "chunks": size,
        "questions": count,
        "rounds": rounds,
        "k": _K,
        "load": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "built": built,
        "searched": searched,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=30_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3, help="the fastest round of each query counts")
    parser.add_argument("--receipt", default="whole_store")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped, too
    measured = run(options.size, options.questions, options.rounds)
    print(measured)
    print(write_receipt(options.receipt, measured))


if __name__ == "__main__":
    main()
