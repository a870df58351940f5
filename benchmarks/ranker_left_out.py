"""Judges the learned ranker by leaving one set out at a time, beside fusions that need no training.

    python -m benchmarks.ranker_left_out --cache pools/ --sets cranfield,squad2_mini [--encoders minilm,gte-small]

Every question of a sample is searched once, with the legs and the completion of `default`; then every contender orders
the same candidates. `learned` has the shipped weights, which come from the dev splits of most of these sets;
`learned elsewhere` has weights trained on the dev samples of the other sets, so its figure is of an unseen set. The
fusion that a user would choose on the other sets is in `fusions elsewhere`. All are reported on the test samples,
against the fusion of `default-0.1` and `default`, and against the better leg. The bonus for codes is left out.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load_splits
from assay.bench.stats import compare_pair
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings, Workspace, prepare
from assay.rerank.features import NAMES, compute_features
from assay.rerank.learned import build_pool, load_shipped_weights, standardise
from assay.types import Floats, Part, Ranking
from benchmarks.encoders import BASELINE, JudgedPool, fusions
from benchmarks.encoders import build_pool as build_judged_pool
from benchmarks.measure import write_receipt
from benchmarks.train_ranker import CHECK_BAGS, Questions, Start, Trainer, pad_questions

SPLITS = ("dev~150", "test~200")
LEGS = ("bm25", "dense")
Pool = tuple[JudgedPool, Floats]


def read_pools(encoder: str, source: str, cache: Path) -> dict[str, Any]:
    """The pools of both splits with their features, and the digests; from `cache` where they are there."""
    path = cache / f"{encoder}.{source}.pickle"
    if path.exists():
        content: dict[str, Any] = pickle.loads(path.read_bytes())
        return content
    datasets = load_splits(source, SPLITS)
    with prepare(datasets[0], IndexSettings(encoder)) as workspace:
        content = {
            split: {
                "digest": dataset.digest,
                "pools": [read_pool(workspace, dataset, topic) for topic in dataset.scored],
            }
            for split, dataset in zip(SPLITS, datasets, strict=True)
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content))
    return content


def read_pool(workspace: Workspace, dataset: Dataset, topic: str) -> Pool:
    """The candidates of a question with their standardised features."""
    judged = build_judged_pool(workspace, dataset, topic)
    query, snapshot = workspace.query(dataset.topics[topic]), workspace.snapshot
    if not len(judged.ids):
        return judged, np.zeros((0, len(NAMES)))
    ranking = Ranking.of(judged.ids, [Part("found", "add", np.ones(len(judged.ids)))], "unit")
    return judged, standardise(compute_features(build_pool(query, ranking, snapshot)))


def to_questions(pools: Sequence[Pool]) -> Questions:
    """Pools as the trainer takes them."""
    rows = []
    for judged, features in pools:
        start = sum(weight * features[:, NAMES.index(name)] for name, weight in Start.items())
        documents = [str(number) for number in judged.document.tolist()]
        rows.append((features, np.asarray(start), documents, judged.grade.tolist(), judged.ideal))
    return pad_questions(rows, len(rows))


def judge(encoder: str, sets: Sequence[str], cache: Path) -> dict[str, Any]:
    """Means of every contender on every test sample, the choices made elsewhere, and their differences."""
    read = {name: read_pools(encoder, name, cache) for name in sets}
    dev, test = ([to_questions(read[name][split]["pools"]) for name in sets] for split in SPLITS)
    shipped = tuple(load_shipped_weights()[name] for name in NAMES)
    contenders = fusions(encoder)
    means: dict[str, dict[str, list[float]]] = {
        system: {split: [_mean(read[name][split]["pools"], fuser) for name in sets] for split in SPLITS}
        for system, fuser in contenders.items()
    }
    means["learned"] = {
        split: [float(one.ndcg(shipped).mean()) for one in found]
        for split, found in zip(SPLITS, (dev, test), strict=True)
    }
    trainer, fused = Trainer(dev), [name for name in contenders if name not in LEGS]
    weights, chosen, elsewhere, plain = [], [], [], []
    for place, name in enumerate(sets):
        others = [other for other in range(len(sets)) if other != place]
        weights.append(trainer.bagged(others, CHECK_BAGS))
        elsewhere.append(float(test[place].ndcg(weights[-1]).mean()))
        best = max(fused, key=lambda system: float(np.mean([means[system][SPLITS[0]][i] for i in others])))
        chosen.append(best)
        plain.append(means[best][SPLITS[1]][place])
        print(f"{encoder} {name}: {best}, learned elsewhere {elsewhere[-1]:.4f}", flush=True)
    table = {system: found[SPLITS[1]] for system, found in means.items()}
    table |= {"fusions elsewhere": plain, "learned elsewhere": elsewhere}
    better_leg = np.maximum(table["bm25"], table["dense"])
    return {
        "sets": {
            name: {split: {"questions": len(read[name][split]["pools"]), "digest": read[name][split]["digest"]}}
            for name in sets
            for split in SPLITS[1:]
        },
        "test": {system: dict(zip(sets, _rounded(row), strict=True)) for system, row in table.items()},
        "mean": {system: round(float(np.mean(row)), 4) for system, row in table.items()},
        "chosen": dict(zip(sets, chosen, strict=True)),
        "weights": {name: dict(zip(NAMES, one, strict=True)) for name, one in zip(sets, weights, strict=True)},
        f"over {BASELINE}": {
            system: compare_pair(np.array(table[BASELINE]), np.array(row)).to_dict()
            for system, row in table.items()
            if system not in (BASELINE, *LEGS)
        },
        "below_the_better_leg": {
            system: round(float((np.array(row) - better_leg).min()), 4) for system, row in table.items()
        },
    }


def _mean(pools: Sequence[Pool], fuser: Any) -> float:
    return float(np.mean([one.ndcg(one.order(fuser)) if len(one.grade) else 0.0 for one, _ in pools]))


def _rounded(row: Sequence[float]) -> list[float]:
    return [round(float(value), 4) for value in row]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", required=True, help="names, with commas")
    parser.add_argument("--more", default="", help="further sets, for the first encoder alone")
    parser.add_argument("--encoders", default="minilm,gte-small")
    parser.add_argument("--cache", type=Path, required=True, help="the candidates are kept here; a run continues")
    arguments = parser.parse_args()
    sets, more = arguments.sets.split(","), [name for name in arguments.more.split(",") if name]
    measured: Mapping[str, Any] = {
        encoder: judge(encoder, [*sets, *(() if number else more)], arguments.cache)
        for number, encoder in enumerate(arguments.encoders.split(","))
    }
    write_receipt("ranker_left_out", {"splits": SPLITS, **measured})


if __name__ == "__main__":
    main()
