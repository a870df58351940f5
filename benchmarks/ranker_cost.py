"""Measures what the rankers cost on a large store: the presets in turns, query by query, and the share of each step.

    python -m benchmarks.ranker_cost --store kb/ --queries dataset/queries.jsonl

Query embedding is excluded. Only ratios are results: on a busy machine every contender is slowed alike, but a p95 of
wall time then measures the other processes. `processor` has the processor time of all threads, which they do not
lengthen.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay.config.load import load
from assay.types import Query
from benchmarks.measure import time_in_turns, write_receipt

BASE = "default-0.1"
PRESETS = (BASE, "default", "learned")
QUERIES, ROUNDS = 60, 3


def measure(store: Path, questions: list[str]) -> dict[str, Any]:
    with assay.open(store, create=False) as kb:
        snapshot, embedder = kb.snapshot(), kb.embedder
        assert embedder is not None
        queries = [Query(text, vector=embedder.encode_query(text)) for text in questions]
        pipelines = {name: load(name) for name in PRESETS}
        contenders = {
            name: (lambda i, pipeline=pipeline: pipeline.run(queries[i], snapshot))
            for name, pipeline in pipelines.items()
        }
        times = time_in_turns(contenders, len(queries), ROUNDS)  # type: ignore[arg-type]
        processor = time_in_turns(contenders, len(queries), ROUNDS, clock=time.process_time)  # type: ignore[arg-type]
        stages: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in pipelines}
        for query in queries:
            for name, pipeline in pipelines.items():
                for span in pipeline.run(query, snapshot, clock=time.perf_counter).trace:
                    stages[name][span.name].append(span.ms)
        return {
            "chunks": snapshot.size,
            "queries": len(queries),
            "rounds": ROUNDS,
            "times": times,
            "processor": processor,
            f"ratio to {BASE}": _ratios(times),
            f"processor, ratio to {BASE}": _ratios(processor),
            "median_ms_by_step": {
                name: {step: round(float(np.median(values)), 3) for step, values in found.items()}
                for name, found in stages.items()
            },
        }


def _ratios(times: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {name: {key: round(found[key] / times[BASE][key], 2) for key in found} for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="a store with vectors")
    parser.add_argument("--queries", type=Path, required=True, help="JSON lines with a text each")
    arguments = parser.parse_args()
    lines = arguments.queries.read_text("utf-8").splitlines()
    questions = [str(json.loads(line)["text"]) for line in lines[:: max(1, len(lines) // QUERIES)]][:QUERIES]
    write_receipt("ranker_cost", measure(arguments.store, questions))


if __name__ == "__main__":
    main()
