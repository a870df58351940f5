"""Prints the digests of answers of a store: `python -m benchmarks.torture._answers KIND ADDRESS THREADS TWICE`."""

from __future__ import annotations

import json
import sys
import threading
import warnings
from pathlib import Path

from assay.backend.addresses import open_backend
from assay.kb import KnowledgeBase
from benchmarks.torture._stores import has_vectors, make_vector

QUERIES = ("heron nest lake", "ticket-00017 rotate the signing key", "turbine valve pressure", "budget AND invoice?")
AT = 1.75e9
"""The moment of every question: what decays must not depend on the clock."""


def pipelines_of(kind: str) -> list[str]:
    return ["bm25", "default", "weighted"] if has_vectors(kind) else ["bm25"]


def answer_all(kb: KnowledgeBase, kind: str) -> dict[str, str]:
    """Pipeline, question and filter → the digest of the answer."""
    digests = {}
    for name in pipelines_of(kind):
        for place, text in enumerate(QUERIES):
            for where in (None, 'scope = "user:a"'):
                vector = make_vector(place) if has_vectors(kind) else None
                found = kb.search(text, k=8, pipeline=name, where=where, at=AT, vector=vector)
                digests[f"{name}: {text} where {where}"] = found.digest
    return digests


def main() -> None:
    warnings.simplefilter("ignore")
    kind, address, threads, twice = sys.argv[1:]
    kb = KnowledgeBase(open_backend(address), Path(address))
    results: list[dict[str, str]] = []

    def work() -> None:
        results.append(answer_all(kb, kind))

    for _ in range(2 if twice == "warm" else 1):
        workers = [threading.Thread(target=work) for _ in range(int(threads))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    kb.close()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
