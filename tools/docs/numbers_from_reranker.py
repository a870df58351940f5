"""Writes the tables of the trained rerankers in documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.docs.markdown_table import table


def rerank_quality(receipt: dict[str, Any]) -> str:
    """Differences to the pipeline without the step, at the default weight, with their standard errors."""
    rows = []
    for system, mean in receipt["mean difference in nDCG@10"].items():
        if " weight=0.5 " in system:
            entry = [sets["difference"][system] for sets in receipt["sets"].values()]
            rows.append([system.replace(" weight=0.5", ""), *(f"{d:+.4f} ± {e:.4f}" for d, e in entry), f"{mean:+.4f}"])
    return table(["texts, match, pool", *receipt["sets"], "mean"], rows)


def rerank_times(receipt: dict[str, Any]) -> str:
    return table(["", "p50 ms", "p95 ms"], [[n, t["p50_ms"], t["p95_ms"]] for n, t in receipt["times"].items()])


def reranker_quality(receipt: dict[str, Any]) -> str:
    """nDCG@10 on the test samples at the weight that dev chose, and the difference to the preset `learned`."""
    sets = [name.partition(" ")[0] for name in receipt["sets"] if " test" in name]
    rows = []
    for system, result in receipt["results"].items():
        change = f"{result['mean_over_learned']:+.4f} ± {result['se_over_learned']:.4f}" if "passes" in result else ""
        scores = [f"{result['test'][name]:.3f}" for name in (*sets, "mean")]
        rows.append([system, result["weight"] or "", *scores, change])
    return table(["system", "weight", *sets, "mean", "over learned"], rows)


def reranker_weights(receipt: dict[str, Any]) -> str:
    """Mean nDCG@10 over the sets by weight, on dev and on test: what the best weight could have given."""
    rows = [
        [system, split, *(f"{means[split]:.4f}" for means in result["by_weight"].values())]
        for system, result in receipt["results"].items()
        if "by_weight" in result
        for split in ("dev", "test")
    ]
    weights = next(list(result["by_weight"]) for result in receipt["results"].values() if "by_weight" in result)
    return table(["system", "split", *weights], rows)


def reranker_speed(receipt: dict[str, Any]) -> str:
    rows = [
        [name, f"{time['pairs_per_second']:,}", time["ratio"]]
        for name, time in receipt["speed"].items()
        if isinstance(time, dict)
    ]
    return table(["", "pairs per second", "time, as a multiple of the first"], rows)


WRITERS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "rerank_quality": ("rerank", rerank_quality),
    "rerank_times": ("rerank", rerank_times),
    "reranker_quality": ("reranker", reranker_quality),
    "reranker_weights": ("reranker", reranker_weights),
    "reranker_longer": ("reranker_longer", reranker_quality),
    "reranker_longer_weights": ("reranker_longer", reranker_weights),
    "reranker_speed": ("reranker", reranker_speed),
}
