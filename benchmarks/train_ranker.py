"""Trains the weights of the stage `learned` from judged questions, and checks them on sets that were left out.

    python -m benchmarks.train_ranker            trains, writes assay/rerank/data/learned.json
    python -m benchmarks.train_ranker --check    writes nothing; scores every set with weights trained on the others

Training questions are the dev split of every set (200 of it where it is long) and, where there is one, 200 of the
train split; test splits are never read. Every set has the same weight, whatever its size. The objective is mean
nDCG@10 (a document takes its best chunk). Hill climbing: starting from words and cosine at 1 and all else at 0, the
best change of one weight by ±0.1 is applied while the mean grows. One climb fits noise, so the weights are the mean
over climbs on bootstrap samples of the sets and of their questions.

The check leaves one set out at a time.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.datasets import load
from assay.bench.types import Dataset
from assay.bench.workspace import Workspace, prepare
from assay.config.load import loads
from assay.engine.pipeline import Pipeline
from assay.rerank.features import NAMES, compute_standard_features
from assay.rerank.learned import build_pool
from assay.types import Floats

SOURCES = {
    "scifact": ("dev~200", "train~200"),
    "nfcorpus": ("dev~200", "train~200"),
    **dict.fromkeys(("cranfield", "squad2_mini"), ("dev",)),
    **dict.fromkeys(("hotpotqa", "multihoprag_facts", "locomo", "locomo_sessions", "chunking_eval"), ("dev~200",)),
}
POOL = """
k = 10
[legs.bm25]
k = 100
norm = "ideal"
[legs.dense]
k = 100
norm = "clamp"
[fuse]
use = "weighted_merge"
weights = { bm25 = 0.6, dense = 0.4 }
"""
SEED, BAGS, CHECK_BAGS, MOVES, STEP = 0, 24, 12, 8, 0.1
CANDIDATES = 40
"""Candidates per question used for climbing, the best by the starting weights: no other reaches the top ten."""
DEPTH = 24
DISCOUNT = 1.0 / np.log2(np.arange(2, 12))
TARGET = Path(__file__).parents[1] / "assay/rerank/data/learned.json"

Start = {"new_words": 1.0, "cosine": 1.0}
Weights = tuple[float, ...]
Row = tuple[Floats, Floats, Sequence[str], Sequence[int], float]
"""A question: the features of its candidates, their starting scores, documents and grades, and the ideal DCG."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Judged questions of one set, padded to CANDIDATES each.

    features [q, candidate, f] · document [q, candidate], below 0 where padded · grade [q, candidate] · ideal DCG [q];
    the first `dev` questions are the dev split.
    """

    features: NDArray[np.float32]
    document: NDArray[np.int64]
    grade: Floats
    ideal: Floats
    dev: int

    def ndcg(self, weights: Weights) -> Floats:
        """nDCG@10 of every question; a document takes the rank of its best chunk."""
        score = np.einsum("qkf,f->qk", self.features, np.array(weights, np.float32))
        score[self.document < 0] = -np.inf
        order = np.argsort(-score, axis=1, kind="stable")[:, :DEPTH]
        document = np.take_along_axis(self.document, order, axis=1)
        again = np.tril(document[:, :, None] == document[:, None, :], -1).any(axis=2) | (document < 0)
        rank = np.cumsum(~again, axis=1) - 1
        grade = np.take_along_axis(self.grade, order, axis=1)
        gain = np.where(~again & (rank < 10), grade * DISCOUNT[np.clip(rank, 0, 9)], 0.0)
        return np.asarray(gain.sum(axis=1) / self.ideal)


def read(name: str) -> tuple[Questions, dict[str, str]]:
    """The questions of a set with the features of their candidates, and the digests of the datasets."""
    splits = [load(name, split) for split in SOURCES[name]]
    rows: list[Row] = []
    counts = []
    with prepare(splits[0]) as workspace:
        for dataset in splits:
            rows += [_question(workspace, dataset, topic) for topic in dataset.scored]
            counts.append(len(dataset.scored))
    digests = {f"{d.name} {d.split}": d.digest for d in splits}
    return pad_questions(rows, counts[0]), digests


@cache
def _pipeline() -> Pipeline:
    return loads(POOL, "pool")


def _question(workspace: Workspace, dataset: Dataset, topic: str) -> Row:
    query = workspace.query(dataset.topics[topic])
    ranking = _pipeline().run(query, workspace.snapshot, k=400).chosen
    judged = dataset.judgements[topic]
    best = np.sort([grade for grade in judged.values() if grade > 0])[::-1][:10]
    ideal = float((best * DISCOUNT[: len(best)]).sum())
    if not len(ranking):
        return np.zeros((0, len(NAMES))), np.zeros(0), [], [], ideal
    features = compute_standard_features(build_pool(query, ranking, workspace.snapshot), NAMES)
    assert ranking.rows is not None
    documents = [chunk.doc_id for chunk in workspace.snapshot.chunks(ranking.rows)]
    start = np.asarray(sum(weight * features[:, NAMES.index(feature)] for feature, weight in Start.items()))
    return features, start, documents, [max(judged.get(d, 0), 0) for d in documents], ideal


def pad_questions(rows: Sequence[Row], dev: int) -> Questions:
    """The best CANDIDATES of every question by the starting weights; the first `dev` questions are the dev split."""
    size = len(rows)
    features = np.zeros((size, CANDIDATES, rows[0][0].shape[1] if size else 0), np.float32)
    document, grade = np.full((size, CANDIDATES), -1, np.int64), np.zeros((size, CANDIDATES))
    for place, (values, start, documents, grades, _) in enumerate(rows):
        selected = np.argsort(-start, kind="stable")[:CANDIDATES].tolist()
        numbers: dict[str, int] = {}
        features[place, : len(selected)] = values[selected]
        document[place, : len(selected)] = [numbers.setdefault(documents[i], len(numbers)) for i in selected]
        grade[place, : len(selected)] = [grades[i] for i in selected]
    return Questions(features, document, grade, np.array([ideal for *_, ideal in rows]), dev)


class Trainer:
    """Hill climbing over all sets; the scores of a weighting are computed once."""

    def __init__(self, sets: Sequence[Questions]) -> None:
        self.sets = sets
        self.scores = cache(self._scores)

    def _scores(self, weights: Weights) -> tuple[Floats, ...]:
        return tuple(questions.ndcg(weights) for questions in self.sets)

    def bagged(self, chosen: Sequence[int], bags: int) -> Weights:
        """The mean weights of `bags` climbs, each on a bootstrap sample of the chosen sets and their questions."""
        rng = np.random.default_rng(SEED)
        climbed = []
        for _ in range(bags):
            shares = {place: np.zeros(len(self.sets[place].ideal)) for place in chosen}
            for place in rng.choice(np.array(chosen), len(chosen)).tolist():
                size = len(shares[place])
                shares[place] += np.bincount(rng.integers(0, size, size), minlength=size) / size
            climbed.append(self._climb(shares))
        return tuple(round(sum(column) / bags, 2) for column in zip(*climbed, strict=True))

    def _climb(self, shares: dict[int, Floats]) -> Weights:
        weights = tuple(Start.get(name, 0.0) for name in NAMES)
        best = self._goal(weights, shares)
        for _ in range(MOVES):
            moves = [_moved(weights, i, step) for i in range(1, len(NAMES)) for step in (-STEP, STEP)]
            goals = [self._goal(move, shares) for move in moves]
            place = int(np.argmax(goals))
            if goals[place] <= best:
                break
            weights, best = moves[place], goals[place]
        return weights

    def _goal(self, weights: Weights, shares: dict[int, Floats]) -> float:
        scores = self.scores(weights)
        return float(sum((share * scores[place]).sum() for place, share in shares.items()))

    def dev(self, place: int, weights: Weights) -> float:
        return float(self.scores(weights)[place][: self.sets[place].dev].mean())


def _moved(weights: Weights, place: int, step: float) -> Weights:
    return tuple(round(w + step, 2) if i == place else w for i, w in enumerate(weights))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="leave one set out at a time; write nothing")
    only_check = parser.parse_args().check
    names = list(SOURCES)
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        rows = list(workers.map(read, names))
    trainer = Trainer([questions for questions, _ in rows])
    print({name: len(questions.ideal) for name, (questions, _) in zip(names, rows, strict=True)}, flush=True)
    if only_check:
        check(trainer, names)
        return
    weights = trainer.bagged(range(len(names)), BAGS)
    manifest: dict[str, Any] = {
        "weights": dict(zip(NAMES, weights, strict=True)),
        "trained": {"seed": SEED, "bags": BAGS, "moves": MOVES, "step": STEP, "pool": POOL.strip().splitlines()},
        "sets": {split: digest for _, digests in rows for split, digest in digests.items()},
    }
    print(manifest["weights"])
    TARGET.write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


def check(trainer: Trainer, names: Sequence[str]) -> None:
    """The dev score of every set under the starting weights, and under weights learned from the others."""
    start = tuple(Start.get(name, 0.0) for name in NAMES)
    rows = []
    for place, name in enumerate(names):
        weights = trainer.bagged([other for other in range(len(names)) if other != place], CHECK_BAGS)
        rows.append((trainer.dev(place, start), trainer.dev(place, weights)))
        print(f"{name:20} start {rows[-1][0]:.4f} learned elsewhere {rows[-1][1]:.4f}", flush=True)
    print("mean", np.mean(rows, axis=0).round(4).tolist())


if __name__ == "__main__":
    main()
