"""Judges rerankers blended with first-stage scores: nDCG@10 of a preset alone and with each reranker, by weight.

    blended = z(score) + weight · z(logit)      z over the first POOL candidates of a question; the others follow

The weight is chosen on the dev splits and confirmed on the test splits. Dev samples are small, so the smallest weight
within one standard error of the best is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.rerank.standard_blend import blend
from benchmarks.reranker.candidates import POOL

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)
DISCOUNT = 1.0 / np.log2(np.arange(2, 12))

Logits = Mapping[str, Mapping[str, float]]  # question → chunk → logit
Ranked = Sequence[tuple[str, str, float]]  # (chunk, document, score), best first


def rerank(ranked: Ranked, logits: Mapping[str, float], weight: float, pool: int = POOL) -> list[str]:
    """The documents in the blended order, each at its best chunk. Equal blends keep their order."""
    head = ranked[:pool]
    if len(head) > 1 and weight:
        score = np.array([score for _, _, score in head])
        likeness = np.array([logits[chunk] for chunk, _, _ in head])
        order = np.argsort(-blend(score, likeness, weight), kind="stable")
        head = [head[place] for place in order]
    return list(dict.fromkeys(document for _, document, _ in (*head, *ranked[pool:])))


def ndcg(documents: Sequence[str], grades: Mapping[str, int]) -> float:
    """nDCG@10 with linear gains, as trec_eval computes it."""
    gains = np.array([grades.get(document, 0) for document in documents[:10]], float)
    ideal = np.sort([*grades.values()])[::-1][:10].astype(float)
    return float(gains @ DISCOUNT[: len(gains)] / (ideal @ DISCOUNT[: len(ideal)]))


def judge_split(candidates: Mapping[str, Any], preset: str, logits: Logits, weight: float) -> np.ndarray:
    """nDCG@10 of every question."""
    return np.array(
        [
            ndcg(rerank(question["rankings"][preset], logits.get(question["id"], {}), weight), question["grades"])
            for question in candidates["questions"]
        ]
    )


def choose_weight(splits: Sequence[Mapping[str, Any]], preset: str, logits: Sequence[Logits]) -> float:
    """The smallest weight whose mean over the sets is within one standard error (of the difference) of the best."""
    rows = {
        w: [judge_split(split, preset, found, w) for split, found in zip(splits, logits, strict=True)] for w in WEIGHTS
    }
    best = max(WEIGHTS, key=lambda w: (mean_over_sets(rows[w]), -w))
    for weight in WEIGHTS:
        behind = [one - other for one, other in zip(rows[best], rows[weight], strict=True)]
        if mean_over_sets(behind) <= standard_error(behind):
            return weight
    return best


def mean_over_sets(row: Sequence[np.ndarray]) -> float:
    return float(np.mean([one.mean() for one in row]))


def standard_error(row: Sequence[np.ndarray]) -> float:
    """Of the mean over the sets; the sets are fixed, their questions are the sample."""
    return float(np.sqrt(sum(one.var() / len(one) for one in row)) / len(row))


def score_candidates(
    splits: Sequence[Mapping[str, Any]], number: Mapping[str, int], score: Callable[[list[tuple[int, int]]], np.ndarray]
) -> dict[str, dict[str, float]]:
    """Logits of all pairs of questions and candidates; `number` gives a text's or question's place in the states."""
    found: dict[str, dict[str, float]] = {}
    for split in splits:
        for question in split["questions"]:
            chunks = sorted({row[0] for ranked in question["rankings"].values() for row in ranked[:POOL]})
            if not chunks:
                continue
            query = number["\0" + question["text"]]
            values = score([(query, number[split["texts"][chunk]]) for chunk in chunks])
            found[question["id"]] = dict(zip(chunks, values.tolist(), strict=True))
    return found
