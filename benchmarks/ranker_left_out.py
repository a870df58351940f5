"""Judges the learned ranker by leaving one set out at a time, beside fusions that need no training.

    python -m benchmarks.ranker_left_out --cache pools/ --sets cranfield,squad2_mini [--encoders minilm,gte-small]
        [--train FOLDER] [--pairs minilm]

Every question of a sample is searched once, with the legs and the completion of `default-0.1`; then every contender
orders the same candidates. `default-0.1`, against which gains are measured, is run as a preset, with its bonus for
codes. `learned` has the shipped weights, which come from the dev splits of most of these sets; `equal` has 1 for words
and cosine and 0 elsewhere, so nothing of it is fitted; `default` has the weights of the preset, which come from the
candidates of minilm, so only with another encoder are they unseen. The rows named `elsewhere` are of an unseen set: the
fusion or the weights come from the dev samples of the other sets, `with public pairs` from those and from the public
training pairs (`ranker_sources.py`), whose sources are also left out in turn and judged as unseen sets, `five features`
with those of `FIVE` alone, `seven features` with the interactions too, `all features` with everything. Sets of one
family hold the same texts and are left out together. Reported are the test samples, the differences over sets, and for
every set the paired difference to its better leg. Receipts hold the weights that come from everything together.

With several encoders every contender of a later one is also compared with `default-0.1` on the store of the first
(`between`): what somebody gains who moves a store and takes the ranker.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache as memoise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.bench.datasets import load_splits
from assay.bench.stats import compare_pair
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings, Workspace, prepare
from assay.config.load import load as load_preset
from assay.config.load import to_config
from assay.engine.pipeline import Pipeline
from assay.fuse.convex import Convex
from assay.fuse.dbsf import Dbsf
from assay.rerank.features import FEATURES, INTERACTIONS, NAMES, compute_standard_features
from assay.rerank.learned import build_pool, load_shipped_weights
from assay.types import Floats, Part, Ranking
from benchmarks.encoders import CUT, DISCOUNT, JudgedPool, fusions
from benchmarks.encoders import build_pool as build_judged_pool
from benchmarks.listwise import fit_listwise
from benchmarks.measure import write_receipt
from benchmarks.ranker_sources import write_sources
from benchmarks.train_ranker import Questions, Start, pad_questions

SPLITS = ("dev~150", "test~300")
LEGS = ("bm25", "dense")
BASE = "default-0.1"
PRESETS = (BASE,)
FAMILIES = {"locomo_sessions": "locomo"}
"""Sets that hold the texts and questions of another one."""
PENALTY = 0.3
"""Chosen among .01, .03, .1, .3 and 1 by leaving one of seven sets out, so it has seen their test samples."""
SOURCES_WEIGHT = 0.5
"""What a source of public pairs counts against a set judged by people."""
FIVE = ("new_words", "cosine", "near", "near_words", "near_cosine")
"""The features of `default`."""
ELSEWHERE, PAIRS = "learned elsewhere", ", with public pairs"
SEVEN = (*FIVE, *INTERACTIONS)
_FEATURES_OF = {
    ELSEWHERE: NAMES,
    "five features elsewhere": FIVE,
    "seven features elsewhere": SEVEN,
    "all features elsewhere": FEATURES,
}
FITTED = {row + more: features for row, features in _FEATURES_OF.items() for more in ("", PAIRS)}
"""Rows whose weights are fitted on other sets, and their features; those with `PAIRS` also learn from public pairs."""


class Pool(NamedTuple):
    """The candidates of a question with their standardised features, and nDCG@10 of the presets."""

    judged: JudgedPool
    features: Floats
    presets: Mapping[str, float]


def read_pools(encoder: str, source: str, splits: Sequence[str], cache: Path) -> dict[str, Any]:
    """The pools of the splits, and the digests; from `cache` where they are there."""
    path = cache / f"{encoder}.{Path(source).name}.pickle"
    if path.exists():
        content: dict[str, Any] = pickle.loads(path.read_bytes())
        return content
    datasets = load_splits(source, splits)
    with prepare(datasets[0], IndexSettings(encoder)) as workspace:
        content = {
            split: {
                "digest": dataset.digest,
                "pools": [read_pool(workspace, dataset, topic) for topic in dataset.scored],
            }
            for split, dataset in zip(splits, datasets, strict=True)
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content))
    return content


def read_pool(workspace: Workspace, dataset: Dataset, topic: str) -> Pool:
    """Search a question, compute the features of its candidates, and run the presets."""
    judged = build_judged_pool(workspace, dataset, topic)
    query, snapshot = workspace.query(dataset.topics[topic]), workspace.snapshot
    scores = {name: run_pipeline(pipeline, workspace, dataset, topic) for name, pipeline in _presets().items()}
    if not len(judged.ids):
        return Pool(judged, np.zeros((0, len(FEATURES))), scores)
    ranking = Ranking.of(judged.ids, [Part("found", "add", np.ones(len(judged.ids)))], "unit")
    return Pool(judged, compute_standard_features(build_pool(query, ranking, snapshot)), scores)


@memoise
def _presets() -> dict[str, Pipeline]:
    return {name: load_preset(name) for name in PRESETS}


def run_pipeline(pipeline: Pipeline, workspace: Workspace, dataset: Dataset, topic: str) -> float:
    """nDCG@10 of a pipeline; a document takes the rank of its best chunk."""
    query, judged = workspace.query(dataset.topics[topic]), dataset.judgements[topic]
    ids = pipeline.run(query, workspace.snapshot, k=6 * CUT).chosen.ids
    chunks = workspace.snapshot.chunks(workspace.snapshot.rows(ids)) if len(ids) else []
    found = list(dict.fromkeys(chunk.doc_id for chunk in chunks))[:CUT]
    best = np.sort([grade for grade in judged.values() if grade > 0])[::-1][:CUT]
    gains = np.array([max(judged.get(name, 0), 0) for name in found], np.float64)
    return float((gains * DISCOUNT[: len(gains)]).sum() / (best * DISCOUNT[: len(best)]).sum())


def to_questions(pools: Sequence[Pool]) -> Questions:
    """Pools as the trainers take them."""
    rows = []
    for judged, features, _ in pools:
        start = sum(weight * features[:, FEATURES.index(name)] for name, weight in Start.items())
        documents = [str(number) for number in judged.document.tolist()]
        rows.append((features, np.asarray(start), documents, judged.grade.tolist(), judged.ideal))
    return pad_questions(rows, len(rows))


def contenders(encoder: str) -> dict[str, Any]:
    """The fusions of `benchmarks.encoders` and the published forms of two more."""
    found = {("dbsf-6" if name == "default" else name): fuser for name, fuser in fusions(encoder).items()}
    found["dbsf"] = Dbsf()
    return found | {f"tm2c2-{a:g}": Convex(norm="tm2c2", weights={"bm25": 1.0 - a, "dense": a}) for a in (0.5, 0.7)}


class Judged(NamedTuple):
    """What a receipt says of an encoder, and nDCG@10 of every contender on every question of every set."""

    summary: dict[str, Any]
    scores: Mapping[str, Mapping[str, Floats]]


def judge(encoder: str, sets: Sequence[str], cache: Path, train: Path | None) -> Judged:
    """Means of every contender on every test sample, the choices made elsewhere, and their differences."""
    read = {name: read_pools(encoder, name, SPLITS, cache) for name in sets}
    dev, test = ([to_questions(read[name][split]["pools"]) for name in sets] for split in SPLITS)
    pairs = _read_public(encoder, train, cache) if train else {}
    public = {name: to_questions(pools) for name, pools in pairs.items()}
    scores: dict[str, dict[str, list[Floats]]] = {
        name: {split: [_order(read[one][split]["pools"], fuser) for one in sets] for split in SPLITS}
        for name, fuser in contenders(encoder).items()
    }
    fused = [name for name in scores if name not in LEGS]
    for name in PRESETS:
        scores[name] = {
            split: [np.array([pool.presets[name] for pool in read[one][split]["pools"]]) for one in sets]
            for split in SPLITS
        }
    for name, weights in _fixed_weights().items():
        values = tuple(weights.get(feature, 0.0) for feature in FEATURES)
        scores[name] = {
            split: [one.ndcg(values) for one in found] for split, found in zip(SPLITS, (dev, test), strict=True)
        }
    chosen: dict[str, str] = {}
    fitted: dict[str, dict[str, Any]] = {}
    rows: dict[str, list[Floats]] = {"fusions elsewhere": []}
    rows |= {row: [] for row in FITTED if public or not row.endswith(PAIRS)}
    for place, name in enumerate(sets):
        family = FAMILIES.get(name, name)
        others = [i for i, other in enumerate(sets) if FAMILIES.get(other, other) != family]
        chosen[name] = max(fused, key=lambda one: float(np.mean([scores[one][SPLITS[0]][i].mean() for i in others])))
        rows["fusions elsewhere"].append(scores[chosen[name]][SPLITS[1]][place])
        fitted[name] = {}
        for row in list(rows)[1:]:
            more = list(public.values()) if row.endswith(PAIRS) else []
            weights = _fit([dev[i] for i in others], more, FITTED[row])
            fitted[name][row] = dict(zip(FEATURES, weights, strict=True))
            rows[row].append(test[place].ndcg(weights))
        print(f"{encoder} {name}: {chosen[name]}, {[round(float(r[-1].mean()), 4) for r in rows.values()]}", flush=True)
    table = {name: found[SPLITS[1]] for name, found in scores.items()} | rows
    summary = {
        "sets": {
            name: {"questions": len(read[name][SPLITS[1]]["pools"]), "digest": read[name][SPLITS[1]]["digest"]}
            for name in sets
        },
        "public": {name: len(one.ideal) for name, one in public.items()},
        **_summarise(sets, table),
        "chosen": chosen,
        "weights": fitted,
        **(_judge_public(pairs, public, dev) if public else {}),
    }
    return Judged(summary, {name: dict(zip(sets, found, strict=True)) for name, found in table.items()})


def compare_with_first(first: Judged, other: Judged) -> dict[str, Any]:
    """Every contender of another encoder against the base on the first: over sets, over questions (drawn in two
    levels, sets and their questions), and within every set. Only sets that both have count."""
    base = first.scores[BASE]
    sets = [name for name in base if name in other.scores[BASE]]
    for name in sets:
        if first.summary["sets"][name] != other.summary["sets"][name]:
            raise SystemExit(f"the questions of {name} differ between the encoders; delete the cached candidates")
    groups = np.repeat(sets, [len(base[name]) for name in sets])
    before = np.concatenate([base[name] for name in sets])
    found = {}
    for system, scores in other.scores.items():
        means = [np.array([float(one[name].mean()) for name in sets]) for one in (base, scores)]
        after = np.concatenate([scores[name] for name in sets])
        found[system] = {
            "over sets": compare_pair(*means).to_dict(),
            "over questions": compare_pair(before, after, groups=groups).to_dict(),
            "within sets": {name: _difference(base[name], scores[name]) for name in sets},
        }
    return found


def _read_public(encoder: str, train: Path, cache: Path) -> dict[str, list[Pool]]:
    folders = write_sources(train, cache / "sources")
    return {folder.name: read_pools(encoder, str(folder), ("all",), cache)["all"]["pools"] for folder in folders}


def _judge_public(
    pairs: Mapping[str, Sequence[Pool]], public: Mapping[str, Questions], dev: Sequence[Questions]
) -> dict[str, Any]:
    """The sources of public pairs as unseen sets: weights from the open sets alone, and with the other sources too.

    Also the weights that come from everything: of the nine features of `learned`, of those of `default`, of those with
    the interactions, and of all.
    """
    table: dict[str, list[float]] = {
        name: [float(np.mean([pool.presets[name] for pool in pools])) for pools in pairs.values()] for name in PRESETS
    }
    for name, weights in _fixed_weights().items():
        values = tuple(weights.get(feature, 0.0) for feature in FEATURES)
        table[name] = [float(one.ndcg(values).mean()) for one in public.values()]
    for row, features in FITTED.items():
        table[row] = []
        for name, one in public.items():
            more = [other for key, other in public.items() if key != name] if row.endswith(PAIRS) else []
            table[row].append(float(one.ndcg(_fit(dev, more, features)).mean()))
    base = np.array(table[BASE])

    def weigh(features: Sequence[str]) -> dict[str, float]:
        found = _fit(dev, list(public.values()), features)
        return {name: weight for name, weight in zip(FEATURES, found, strict=True) if name in features}

    return {
        "public test": {name: dict(zip(public, np.round(row, 4).tolist(), strict=True)) for name, row in table.items()},
        f"public over {BASE}": {
            name: compare_pair(base, np.array(row)).to_dict() for name, row in table.items() if name != BASE
        },
        "weights of all": weigh(NAMES),
        "weights of default": weigh(FIVE),
        "weights of seven": weigh(SEVEN),
        "weights of all features": weigh(FEATURES),
    }


def _fixed_weights() -> dict[str, Mapping[str, float]]:
    """Weights that are not fitted here."""
    steps = to_config(load_preset("default"))["step"]
    shipped = next(step["weights"] for step in steps if step["use"] == "learned")
    return {"equal": Start, "learned": load_shipped_weights(), "default": shipped}


def _fit(sets: Sequence[Questions], public: Sequence[Questions], features: Sequence[str]) -> tuple[float, ...]:
    """The weights of `FEATURES`; 0 for what is not among `features`."""
    start = np.array([Start.get(name, 0.0) for name in FEATURES])
    counted = np.isin(FEATURES, features)
    found = [replace(one, features=one.features * counted) for one in (*sets, *public)]
    set_weights = [1.0] * len(sets) + [SOURCES_WEIGHT] * len(public)
    return tuple((fit_listwise(found, set_weights, start, PENALTY) * counted).round(3).tolist())


def _summarise(sets: Sequence[str], table: Mapping[str, Sequence[Floats]]) -> dict[str, Any]:
    """Means by set, differences to the base over sets, and to the better leg within every set."""
    means = {name: np.array([float(one.mean()) for one in found]) for name, found in table.items()}
    better = [max(LEGS, key=lambda leg: means[leg][place]) for place in range(len(sets))]
    compared = [name for name in table if name not in (BASE, *LEGS)]
    return {
        "test": {name: dict(zip(sets, found.round(4).tolist(), strict=True)) for name, found in means.items()},
        "mean": {name: round(float(found.mean()), 4) for name, found in means.items()},
        f"over {BASE}": {name: compare_pair(means[BASE], means[name]).to_dict() for name in compared},
        "over the better leg": {
            name: {
                one: {"leg": better[place], **_difference(table[better[place]][place], table[name][place])}
                for place, one in enumerate(sets)
            }
            for name in (BASE, *compared)
        },
    }


def _difference(base: Floats, system: Floats) -> dict[str, float]:
    found = compare_pair(base, system).to_dict()
    return {key: found[key] for key in ("difference", "ci_low", "ci_high")}


def _order(pools: Sequence[Pool], fuser: Any) -> Floats:
    return np.array([one.judged.ndcg(one.judged.order(fuser)) if len(one.judged.grade) else 0.0 for one in pools])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", required=True, help="names, with commas")
    parser.add_argument("--more", default="", help="further sets, for the first encoder alone")
    parser.add_argument("--encoders", default="minilm,gte-small")
    parser.add_argument("--train", type=Path, help="the folder of the public pairs")
    parser.add_argument("--pairs", default="", help="only these encoders learn from them; by default all")
    parser.add_argument("--cache", type=Path, required=True, help="the candidates are kept here; a run continues")
    parser.add_argument("--receipt", default="ranker_transfer", help="its name under receipts/")
    arguments = parser.parse_args()
    sets, more = arguments.sets.split(","), [name for name in arguments.more.split(",") if name]
    found: dict[str, Judged] = {}
    for encoder in arguments.encoders.split(","):
        own = [*sets, *(() if found else more)]
        learns = encoder in (arguments.pairs or arguments.encoders).split(",")
        found[encoder] = judge(encoder, own, arguments.cache, arguments.train if learns else None)
    measured: dict[str, Any] = {"splits": SPLITS, **{encoder: judged.summary for encoder, judged in found.items()}}
    first, *others = found
    if others:
        measured["between"] = {name: compare_with_first(found[first], found[name]) for name in others}
    write_receipt(arguments.receipt, measured)


if __name__ == "__main__":
    main()
