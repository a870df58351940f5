"""Measures search at 10k, 100k and 1M chunks: Assay, its two raw engine calls, filters, and LanceDB's hybrid search.

Query embedding and the reading of texts are excluded. "assay" is the preset `rrf`: both legs, fusion, laws and trace,
comparable with LanceDB's RRF. The preset `default` does more (every candidate gets both scores, codes are looked up)
and is measured separately.

    python -m benchmarks.search --sizes 10000 100000 1000000 --lance
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.local.backend import LocalBackend
from assay.config.load import load
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Query
from assay.where import parse
from benchmarks.data import chunks, questions
from benchmarks.measure import private_mb, resident_mb, time_call, time_in_turns, write_receipt

DIM = 384
POOL = 100
SELECTIVITY = {"0.5 %": "bucket < 5", "10 %": "bucket < 100", "50 %": "bucket < 500"}


def build(folder: Path, size: int, model: str = "bench") -> dict[str, Any]:
    settings = {"embedder": "minilm", "model": model, "dim": DIM, "language": "english", "profile": "default"}
    backend = LocalBackend(SqliteStore.create(folder, settings), Analyser(), model, DIM)

    def fill() -> None:
        for part in chunks(size):
            backend.put(part)

    loading, _ = time_call(fill)
    indexing, _ = time_call(lambda: backend.compact(force=True))
    backend.close()
    return {"load_s": round(loading, 1), "index_s": round(indexing, 1)}


def open_or_build(folder: Path, size: int) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a store, built unless it is there, and what building it took."""
    store_folder, facts_file = folder / f"kb-{size}", folder / f"kb-{size}.json"
    if not facts_file.is_file():
        facts_file.write_text(json.dumps(build(store_folder, size)))
    facts: dict[str, Any] = json.loads(facts_file.read_text())
    return store_folder, facts


def run(size: int, folder: Path, lance: bool) -> dict[str, Any]:
    store_folder, build_facts = open_or_build(folder, size)

    def reopen() -> LocalBackend:
        fresh = LocalBackend(SqliteStore.open(store_folder), Analyser(), "bench", DIM)
        fresh.snapshot()
        return fresh

    opening, backend = time_call(reopen)
    snapshot = backend.snapshot()
    generation = backend.generation
    assert generation is not None
    assert generation.vectors is not None
    texts, vectors = questions()
    pipeline, default = load("rrf"), load("default")
    queries = [Query(text, vector=vector) for text, vector in zip(texts, vectors, strict=True)]
    terms = [Analyser().query_terms(text) for text in texts]
    index, words = generation.vectors, generation.words

    def raw(i: int) -> None:
        """The two engine calls alone, at the same depth."""
        if words.proposes:
            words.propose(terms[i], np.ones(len(terms[i])), POOL)
        if index.probes:
            index.inverted.search(vectors[i][None, :], POOL, params=index.search_params(index.probes))
        else:
            scores = index.matrix @ vectors[i]
            np.argpartition(scores, len(scores) - POOL)

    contenders = {
        "assay": lambda i: pipeline.run(queries[i], snapshot),
        "raw engines": raw,
        "assay, default": lambda i: default.run(queries[i], snapshot),
    }
    for name, expression in SELECTIVITY.items():
        where = parse(expression)
        filtered = [Query(q.text, vector=q.vector, where=where) for q in queries]
        contenders[f"assay, filter {name}"] = lambda i, f=filtered: pipeline.run(f[i], snapshot)  # type: ignore[misc]
    recall = {"assay": dense_recall(snapshot, index.matrix, vectors)}
    times = time_in_turns(contenders, len(queries))
    if lance:
        from benchmarks.lance import LanceHybrid

        other = LanceHybrid(folder / f"lance-{size}", size)
        probes, recall["lancedb"] = other.tune(vectors, index.matrix, recall["assay"])
        build_facts["lancedb_nprobes"] = probes
        # Query by query and in blocks of 50: a search after LanceDB finds the caches filled and its threads busy.
        pair = {"assay, in turns with lancedb": contenders["assay"]}
        pair["lancedb hybrid rrf"] = lambda i: other.search(texts[i], vectors[i])
        times |= time_in_turns(pair, len(queries))
        blocks = {
            "assay, 50 at once": contenders["assay"],
            "lancedb hybrid rrf, 50 at once": pair["lancedb hybrid rrf"],
        }
        times |= time_in_turns(blocks, len(queries), at_once=50)
    short = {
        name: sum(len(pipeline.run(Query(q.text, vector=q.vector, where=parse(e)), snapshot)) < 10 for q in queries)
        for name, e in SELECTIVITY.items()
    }
    backend.close()
    return {
        "chunks": size,
        **build_facts,
        "open_ms": round(opening * 1000, 2),
        "vectors": generation.manifest["vectors"],
        "dense_recall_at_100": recall,
        "times": times,
        "short_lists": short,
        "resident_mb": resident_mb(),
        "private_mb": private_mb(),
    }


def dense_recall(snapshot: Any, matrix: Any, vectors: Any) -> float:
    """Share of the true nearest hundred that the dense leg finds, over the real questions."""
    shares = []
    for vector in vectors:
        truth = np.argsort(-(matrix @ vector), kind="stable")[:POOL]
        rows = snapshot.nearest(Query("", vector=vector), POOL).rows
        shares.append(np.isin(truth, rows).mean())
    return round(float(np.mean(shares)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--lance", action="store_true", help="compare with LanceDB's own hybrid (up to 100k)")
    parser.add_argument("--receipt", default="search")
    parser.add_argument("--folder", type=Path, help="keep the stores here, and use those that are there")
    parser.add_argument("--build", action="store_true", help="only build the stores in the folder")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in options.sizes:
            if options.build:
                open_or_build(folder, size)
                continue
            results.append(run(size, folder, options.lance and size <= 100_000))
            print(results[-1], flush=True)
    if options.build:
        return
    by_size = {r["chunks"]: r["times"] for r in results}
    ratios: dict[str, float] = {}
    for size, times in by_size.items():
        for p in ("p50_ms", "p95_ms"):
            ratios[f"{size}: assay / raw engines, {p}"] = round(times["assay"][p] / times["raw engines"][p], 2)
            difference = times["assay"][p] - times["raw engines"][p]
            ratios[f"{size}: assay over raw engines, ms, {p}"] = round(difference, 2)
            ratios[f"{size}: assay, default / assay, {p}"] = round(times["assay, default"][p] / times["assay"][p], 2)
            if "lancedb hybrid rrf" in times:
                assay_ms = times["assay, in turns with lancedb"][p]
                ratios[f"{size}: lancedb / assay, query by query, {p}"] = round(
                    times["lancedb hybrid rrf"][p] / assay_ms, 2
                )
                ratio_50 = times["lancedb hybrid rrf, 50 at once"][p] / times["assay, 50 at once"][p]
                ratios[f"{size}: lancedb / assay, 50 at once, {p}"] = round(ratio_50, 2)
    if {100_000, 1_000_000} <= by_size.keys():
        ratios["p95 from 100k to 1M"] = round(
            by_size[1_000_000]["assay"]["p95_ms"] / by_size[100_000]["assay"]["p95_ms"], 2
        )
    print(ratios)
    print(write_receipt(options.receipt, {"ratios": ratios, "sizes": results}))


if __name__ == "__main__":
    main()
