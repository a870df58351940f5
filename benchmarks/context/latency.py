"""Measures the time of packing beside the search it follows."""

from __future__ import annotations

from typing import Any

from assay.bench.evidence_sets import SETS, load_splits
from assay.bench.workspace import IndexSettings, prepare
from assay.config.load import from_dict, load, to_config
from assay.engine.pipeline import read_candidates
from assay.select.context.candidates import make_pool
from assay.select.context.coverage import MOST_SCORED, Coverage
from assay.select.context.scorers import open_embedder
from assay.types import Progress
from benchmarks.measure import percentiles, time_call, time_in_turns

QUERIES = 100
COLD = 25
ROUNDS = 3
BUDGET = 400
PACKERS: dict[str, dict[str, Any]] = {
    "naive": {"use": "naive"},
    "adagres": {"use": "adagres"},
    "coverage, words only": {"use": "coverage", "scorer": "none"},
    "coverage": {"use": "coverage"},
}


def measure_latency(progress: Progress) -> dict[str, Any]:
    """Search alone and with each packer, query by query in turns; and what the first sight of sentences costs."""
    chosen = next(one for one in SETS if one.name == "hotpotqa")
    dataset = load_splits(chosen)["test"]
    with prepare(dataset, IndexSettings(profile="fine"), progress) as workspace:
        queries = [workspace.query(dataset.topics[topic]) for topic in dataset.scored[:QUERIES]]
        config = to_config(load("default"))
        search = from_dict(config)
        packed = {name: from_dict({**config, "context": {**one, "tokens": BUDGET}}) for name, one in PACKERS.items()}
        for query in queries:  # fill the cache of sentence vectors
            packed["coverage"].run(query, workspace.snapshot)
        times = time_in_turns(
            {
                "search": lambda i: search.run(queries[i], workspace.snapshot),
                **{
                    name: lambda i, pipeline=pipeline: pipeline.run(queries[i], workspace.snapshot)
                    for name, pipeline in packed.items()
                },
            },
            len(queries),
        )
        seconds, sentences = [], 0
        for query in queries[:COLD]:
            ranking = search.run(query, workspace.snapshot, k=100).chosen
            pool = make_pool(list(read_candidates(Coverage(tokens=BUDGET), ranking, workspace.snapshot)))
            texts = [sentence.text for sentence in pool.sentences[:MOST_SCORED]]
            model = open_embedder("minilm").inner  # without the cache
            seconds.append(
                min(time_call(lambda model=model, texts=texts: model.encode(texts))[0] for _ in range(ROUNDS))
            )
            sentences += len(texts)
    base = times["search"]["p50_ms"]
    return {
        "queries": len(queries),
        "budget": BUDGET,
        "chunks": workspace.snapshot.size,
        "times": times,
        "ratio_to_search": {name: round(one["p50_ms"] / base, 3) for name, one in times.items()},
        "cold_encoding": {**percentiles(seconds), "sentences_per_query": round(sentences / COLD, 1)},
        "cold_encoding_ratio_to_search": round(percentiles(seconds)["p50_ms"] / base, 2),
    }
