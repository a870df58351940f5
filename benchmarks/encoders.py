"""Measures the shipped encoders against each other: quality on the open sets, the spread of the fusion, and speed.

Quality: nDCG@10 on samples of the dev and test splits, for the legs alone, plain fusions, and `fixed_spread` under
several spreads. Every question is searched once per encoder, with the legs and the completion of the presets; then
every fuser orders the same candidates. For every encoder a fusion is chosen by leaving one set out
(`assay.bench.left_out`): on the dev splits of the other sets, reported on the test split of this one. The bonus for
codes is left out, so the presets stand here without their last step. Speed: texts of one set in batches, the encoders
in turns, so that a busy machine slows both; only the ratio is a result.

    python -m benchmarks.encoders --sets cranfield,nfcorpus,scifact --cache candidates/
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import embed
from assay.bench.datasets import load, load_splits
from assay.bench.left_out import leave_one_set_out
from assay.bench.receipt import Receipt
from assay.bench.stats import compare_pair
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings, Workspace, prepare
from assay.engine.complete import complete_scores
from assay.engine.order import stamp_ranks
from assay.fuse.convex import Convex
from assay.fuse.dbsf import Dbsf
from assay.fuse.fixed_spread import FixedSpread
from assay.fuse.rrf import Rrf
from assay.legs.bm25 import Bm25
from assay.legs.dense import Dense
from assay.protocols import Fuser
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import Floats, Ids, Part, Query, Ranking
from benchmarks.measure import write_receipt

SETS = (
    "squad2_mini",
    "multihoprag_facts",
    "cranfield",
    "covidqa_long",
    "nfcorpus",
    "scifact",
    "locomo",
    "locomo_sessions",
    "hotpotqa",
    "qed",
)
"""Judged by people. Beam, chunking_eval (written by a model) and sets with weak or automatic labels stay out."""
SPREADS = {"minilm": (0.06, 0.07, 0.08, 0.09, 0.1, 0.12), "gte-small": (0.013, 0.0155, 0.018, 0.021, 0.026)}
BASELINE = "default"
"""The fusion of `default-0.1`, called so in the receipt."""
SPLITS = ("dev~120", "test~180")
METRIC = "nDCG@10"
DEPTH, CUT = 100, 10
LEGS = {"bm25": Bm25(), "dense": Dense()}
DISCOUNT = 1.0 / np.log2(np.arange(2, CUT + 2))
BATCHES, BATCH = 12, 16


@dataclass(frozen=True, eq=False)
class JudgedPool:
    """The candidates of a question: their ids, scores, which leg found them, documents, grades; and the ideal DCG."""

    ids: Sequence[str]
    scores: Mapping[str, Floats]
    found: Mapping[str, NDArray[np.bool_]]
    document: NDArray[np.intp]
    grade: NDArray[np.int64]
    ideal: float

    def ndcg(self, order: NDArray[np.intp]) -> float:
        """nDCG@10 of an order of the candidates; a document takes the rank of its best chunk."""
        _, first = np.unique(self.document[order], return_index=True)
        grades = self.grade[order[np.sort(first)[:CUT]]]
        return float((grades * DISCOUNT[: len(grades)]).sum() / self.ideal)

    def order(self, fuser: Fuser | str) -> NDArray[np.intp]:
        """The candidates as a fuser, or a leg alone, orders them. Reciprocal ranks see what each leg found."""
        if isinstance(fuser, str):
            return np.argsort(-self.scores[fuser], kind="stable")
        rankings = {}
        for leg, score in self.scores.items():
            kept = np.flatnonzero(self.found[leg]) if isinstance(fuser, Rrf) else np.arange(len(score))
            kept = kept[np.argsort(-score[kept], kind="stable")]
            part = Part("score", "add", score[kept])
            rankings[leg] = stamp_ranks(Ranking.of(_names(kept), [part], LEGS[leg].gives().scale), 0)
        fused = fuser.fuse(Query(""), rankings, MemorySnapshot([]))
        return np.array([int(name) for name in fused.ids.tolist()], np.intp)


def _names(places: NDArray[np.intp]) -> Ids:
    return np.array([f"{place:04d}" for place in places.tolist()], np.str_)


def build_pool(workspace: Workspace, dataset: Dataset, topic: str) -> JudgedPool:
    """Search one question with both legs and give every candidate both scores."""
    query, snapshot, judged = workspace.query(dataset.topics[topic]), workspace.snapshot, dataset.judgements[topic]
    rankings = {name: stamp_ranks(leg.find(query, snapshot, DEPTH), 0) for name, leg in LEGS.items()}
    complete, _ = complete_scores(query, rankings, LEGS, snapshot)
    ids = sorted({name for ranking in complete.values() for name in ranking.ids.tolist()})
    place = {name: number for number, name in enumerate(ids)}
    scores, found = {}, {}
    for leg in LEGS:
        scores[leg], found[leg] = np.zeros(len(ids)), np.zeros(len(ids), np.bool_)
        scores[leg][[place[name] for name in complete[leg].ids.tolist()]] = complete[leg].score
        found[leg][[place[name] for name in rankings[leg].ids.tolist()]] = True
    documents = [chunk.doc_id for chunk in snapshot.chunks(snapshot.rows(np.array(ids, np.str_)))] if ids else []
    numbers = {name: number for number, name in enumerate(dict.fromkeys(documents))}
    best = np.sort([grade for grade in judged.values() if grade > 0])[::-1][:CUT]
    return JudgedPool(
        ids,
        scores,
        found,
        np.array([numbers[name] for name in documents], np.intp),
        np.array([max(judged.get(name, 0), 0) for name in documents], np.int64),
        float((best * DISCOUNT[: len(best)]).sum()),
    )


def read_pools(encoder: str, source: str, cache: Path | None) -> dict[str, Any]:
    """The pools of both splits of a set, and the digests of the datasets; from `cache` where they are there."""
    path = cache / f"{encoder}.{source}.pickle" if cache else None
    if path is not None and path.exists():
        content: dict[str, Any] = pickle.loads(path.read_bytes())
        return content
    datasets = load_splits(source, SPLITS)
    with prepare(datasets[0], IndexSettings(encoder)) as workspace:
        content = {
            split: {
                "digest": dataset.digest,
                "topics": list(dataset.scored),
                "pools": [build_pool(workspace, dataset, topic) for topic in dataset.scored],
            }
            for split, dataset in zip(SPLITS, datasets, strict=True)
        }
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(content))
    return content


def fusions(encoder: str) -> dict[str, Fuser | str]:
    """Legs alone, plain fusions, the fusion of `default-0.1`, other weights for it, and fixed spreads."""
    found: dict[str, Fuser | str] = {"bm25": "bm25", "dense": "dense", "rrf": Rrf()}
    found |= {f"convex-{a:g}": Convex(weights={"bm25": 1.0 - a, "dense": a}) for a in (0.4, 0.5, 0.6)}
    found[BASELINE] = Dbsf(deviations=6.0)
    found |= {f"dbsf-dense-{w:g}": Dbsf(weights={"dense": w}, deviations=6.0) for w in (0.7, 1.5, 2.0)}
    return found | {f"spread-{spread:g}": FixedSpread(spreads={"dense": spread}) for spread in SPREADS[encoder]}


def measure_quality(encoder: str, sets: Sequence[str], cache: Path | None) -> dict[str, Any]:
    """The leave-one-set-out result of an encoder; its legs stand beside the fusions and are not chosen from."""
    receipts, chosen = [], fusions(encoder)
    legs: dict[str, dict[str, list[float]]] = {leg: {split: [] for split in SPLITS} for leg in LEGS}
    for source in sorted(sets):
        content = read_pools(encoder, source, cache)
        for split in SPLITS:
            pools: Sequence[JudgedPool] = content[split]["pools"]
            for name, fuser in chosen.items():
                scores = [round(pool.ndcg(pool.order(fuser)), 10) if len(pool.grade) else 0.0 for pool in pools]
                canonical = {
                    "system": {"name": name, "digest": f"{encoder} {name}"},
                    "dataset": {"name": source, "split": split, "digest": content[split]["digest"]},
                    "status": "measured",
                    "queries": content[split]["topics"],
                    "scores": {METRIC: scores},
                    "strata": {},
                }
                receipts.append(Receipt("run", canonical, {}))
                if name in legs:
                    legs[name][split].append(float(np.mean(scores)))
        print(f"{encoder} {source}", flush=True)
    family = [name for name in chosen if name not in LEGS]
    canonical = dict(leave_one_set_out(receipts, family, BASELINE, METRIC, SPLITS).canonical)
    alone = {
        leg: {key: _summarise(found[split]) for key, split in zip(("dev", "test"), SPLITS, strict=True)}
        for leg, found in legs.items()
    }
    return {**canonical, "systems": {**alone, **canonical["systems"]}}


def _summarise(means: Sequence[float]) -> dict[str, Any]:
    return {"mean": round(float(np.mean(means)), 10), "sets": [round(mean, 10) for mean in means]}


def measure_speed(source: str) -> dict[str, Any]:
    """Texts per second of both encoders on the same batches, in turns; the first batch of each warms it up."""
    texts = [str(record["text"]) for record, _ in zip(load(source).documents, range(BATCHES * BATCH), strict=False)]
    models = {name: embed.load(name) for name in SPREADS}
    rates: dict[str, list[float]] = {name: [] for name in models}
    for number in range(BATCHES):
        batch = texts[number * BATCH : (number + 1) * BATCH]
        for name, model in models.items():
            assert model is not None
            start = time.perf_counter()
            model.encode(batch)
            rates[name].append(len(batch) / (time.perf_counter() - start))
    ratios = [small / large for large, small in zip(rates["gte-small"][1:], rates["minilm"][1:], strict=True)]
    return {
        "texts": f"{source}, {BATCHES - 1} batches of {BATCH}, in turns",
        "texts_per_s": {name: round(float(np.median(found[1:])), 1) for name, found in rates.items()},
        "minilm / gte-small, median": round(float(np.median(ratios)), 2),
        "minilm / gte-small, quartiles": [round(float(q), 2) for q in np.quantile(ratios, [0.25, 0.75])],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS), help="names, with commas, for both encoders")
    parser.add_argument("--more", default="", help="further sets, for minilm alone")
    parser.add_argument("--cache", type=Path, help="keep the candidates here; an interrupted run continues")
    arguments = parser.parse_args()
    both, more = arguments.sets.split(","), [name for name in arguments.more.split(",") if name]
    found = {encoder: measure_quality(encoder, both, arguments.cache) for encoder in SPREADS}
    measured: dict[str, Any] = {"splits": SPLITS, "sets": sorted(both)}
    measured |= {encoder: _summary(canonical) for encoder, canonical in found.items()}
    measured["between"] = compare_encoders(found)
    if more:
        canonical = measure_quality("minilm", [*both, *more], arguments.cache)
        measured["minilm, all sets"] = {"sets": sorted([*both, *more]), **_summary(canonical)}
    measured["speed"] = measure_speed("nfcorpus")
    write_receipt("encoders", measured)


def _summary(canonical: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "systems": canonical["systems"],
        "left_out": canonical["left_out"],
        "by_set": {
            one["name"]: {key: one[key] for key in ("chosen", "difference", "ci_low", "ci_high", "p")}
            for one in canonical["sets"]
        },
        "chosen_on_all": canonical["chosen_on_all"],
    }


def compare_encoders(found: Mapping[str, Any]) -> dict[str, Any]:
    """gte-small against minilm, one value per set, test splits: dense leg, the same fusion, and each with its own."""
    own = {encoder: canonical["chosen_on_all"] for encoder, canonical in found.items()}
    pairs = {
        "dense": ("dense", "dense"),
        "default": (BASELINE, BASELINE),
        "own fusion": (own["minilm"], own["gte-small"]),
        "own fusion of gte-small over default of minilm": (BASELINE, own["gte-small"]),
    }
    read: Callable[[str, str], Floats] = lambda encoder, system: np.array(  # noqa: E731
        found[encoder]["systems"][system]["test"]["sets"]
    )
    return {
        name: compare_pair(read("minilm", small), read("gte-small", large)).to_dict()
        for name, (small, large) in pairs.items()
    }


if __name__ == "__main__":
    main()
