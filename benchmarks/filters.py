"""Measures filtered vector search: the plan by cost against the plan before it, at several shares of eligible rows.

Both plans, and the shares, take turns query by query in one run, so that load of the machine affects all alike; the
receipt has ratios. Recall is against exact search over the eligible rows, for filters that are random and for filters
that keep whole neighbourhoods, on real questions. Only the vector index is measured; texts are not searched.

    python -m benchmarks.filters --sizes 100000            # a million needs 3 GB of memory and some minutes
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.vectors import FILTERS_FILE, VectorIndex
from assay.index.vectors_builder import build_vectors
from benchmarks.data import questions, vectors
from benchmarks.measure import time_call, time_in_turns, write_receipt

DIM, POOL = 384, 100
SHARES = {"0.5 %": 0.005, "2 %": 0.02, "5 %": 0.05, "10 %": 0.1, "20 %": 0.2, "50 %": 0.5}
QUESTIONS = 100
_PART = 50_000


def build(folder: Path, size: int) -> float:
    matrix = np.memmap(folder / "vectors", np.float32, "w+", shape=(size, DIM))
    for start in range(0, size, _PART):
        matrix[start : start + _PART] = vectors(start, min(_PART, size - start))
    matrix.flush()
    seconds, _ = time_call(lambda: build_vectors(folder, size, DIM, np.ones(size, np.bool_)))
    return round(seconds, 1)


def make_filters(index: VectorIndex) -> dict[str, NDArray[np.bool_]]:
    """Random ones, and at ten per cent one that keeps the rows nearest to a direction."""
    rng = np.random.default_rng(5)
    masks = {name: rng.random(index.size) < share for name, share in SHARES.items()}
    towards = index.matrix @ index.matrix[1]
    masks["10 %, one side"] = towards >= np.partition(towards, -index.size // 10)[-index.size // 10]
    return masks


def measure_recall(index: VectorIndex, queries: Any, mask: NDArray[np.bool_]) -> tuple[float, int]:
    """The share of the true nearest that is found, and how many lists were short."""
    eligible, shares, short = np.flatnonzero(mask), [], 0
    for query in queries:
        truth = eligible[np.argpartition(-(index.matrix[eligible] @ query), POOL - 1)[:POOL]]
        rows, scores = index.nearest(query, POOL, mask)
        shares.append(np.isin(truth, rows[np.argsort(-scores)][:POOL]).mean())
        short += len(rows) < POOL
    return round(float(np.mean(shares)), 4), short


def run(size: int, folder: Path) -> dict[str, Any]:
    seconds = build(folder, size)
    by_cost, before = VectorIndex(folder, size, DIM), VectorIndex(folder, size, DIM)
    before.filter_probes = ()  # as an index without the calibration plans
    queries = np.asarray(questions()[1][:QUESTIONS], np.float32)
    masks = make_filters(by_cost)
    contenders: dict[str, Any] = {"no filter": lambda i: by_cost.nearest(queries[i], POOL, None)}
    for name, mask in masks.items():
        for plan, index in (("by cost", by_cost), ("before", before)):
            contenders[f"{name}, {plan}"] = lambda i, m=mask, x=index: x.nearest(queries[i], POOL, m)
    times = time_in_turns(contenders, len(queries))
    rows = {}
    for name, mask in masks.items():
        recall, short = measure_recall(by_cost, queries, mask)
        new, old = (times[f"{name}, {plan}"] for plan in ("by cost", "before"))
        rows[name] = {
            "eligible": int(mask.sum()),
            "probes": by_cost.plan_probes(POOL, int(mask.sum())),
            "probes_before": before.plan_probes(POOL, int(mask.sum())),
            "recall_at_100": recall,
            "short_lists": short,
            "p50_over_before": round(new["p50_ms"] / old["p50_ms"], 3),
            "p95_over_before": round(new["p95_ms"] / old["p95_ms"], 3),
            **{f"p50_over_{other}": round(new["p50_ms"] / times[f"{other}, by cost"]["p50_ms"], 2)
               for other in ("0.5 %", "50 %")},
        }  # fmt: skip
    return {
        "vectors": size,
        "index_s": seconds,
        "nlist": by_cost.inverted.nlist,
        "nprobe": by_cost.probes,
        "overfetch": by_cost.overfetch,
        "levels": json.loads((folder / FILTERS_FILE).read_text())["levels"],
        "filters": rows,
        "times": times,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000])
    options = parser.parse_args()
    results = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            results.append(run(size, Path(folder)))
        print(json.dumps(results[-1]["filters"], indent=1), flush=True)
        write_receipt("filters", {"sizes": results})


if __name__ == "__main__":
    main()
