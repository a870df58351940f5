"""Trains the heads of the answerability judge, and checks them on sets and templates that were left out.

    python -m benchmarks.train_answerability WORLD           trains, writes assay/answerability/data/heads.json
    python -m benchmarks.train_answerability WORLD --check   writes nothing; prints leave-one-set-out results

WORLD is a folder of the simulated organisation: assay bench rb006 build --scale 50k --out WORLD. From it only tuning
templates are read, from the real sets only dev splits. Labels come from the metadata of the questions; the features are
those that the judge measures at search time, which never reads metadata.

The regressions are ridge-penalised with weights of at least 0, fitted by coordinate-wise Newton steps from 0: no seed,
the same result every time. In the head `scope` every set and both classes have the same weight. The threshold is the
lowest at which at most FALSE_ALARMS of the answerable training questions are refused, on the mean over the sets.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.answerability.evidence import weigh_terms
from assay.answerability.heads import LogisticHead
from assay.answerability.judge import DEFAULT_BUDGET, EvidenceMeasures, best_cosine, measure
from assay.bench.datasets import load
from assay.bench.workspace import prepare
from assay.config.resolve import resolve
from assay.types import Floats, Query

REAL = ("squad2_mini", "multihoprag_facts", "locomo", "beam")
SCOPE = ("unknown", "identifier", "name", "uncovered", "apart", "speaker", "distance")
WORDS = SCOPE[:-1]
DEMAND = ("cues", "loose", "set", "change", "size")
MUCH = ("listing", "version_diff")
"""Kinds of the world that ask for more than a budget holds, as far as the words of the question tell."""
LONG_TYPES = ("summarization", "event_ordering", "multi_session_reasoning")
"""Types of beam's questions that need many turns: no examples of short answers."""
FALSE_ALARMS = 0.03
RIDGE, SWEEPS = 2.0, 60
TARGET = Path(__file__).parents[1] / "assay/answerability/data/heads.json"

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Example:
    """A question with its measurements. `kind`: none, out_of_scope, listing, version_diff or long_evidence."""

    set: str
    topic: str
    kind: str
    template: str
    type: str
    query: Query
    measured: EvidenceMeasures
    score: float

    @property
    def scope(self) -> Mapping[str, float]:
        return self.measured.scope_values

    @property
    def cosine(self) -> float:
        return best_cosine(self.measured.evidence)


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """The examples of one split of a set, with the digests of what was read."""

    name: str
    split: str
    examples: tuple[Example, ...]
    digest: str
    model: str


def read_examples(name: str, split: str) -> ExampleSet:
    """Ask every question of a split with the default pipeline and measure what the judge measures."""
    dataset = load(name, split)
    pipeline = resolve("default")
    examples = []
    with prepare(dataset) as workspace:
        for topic in sorted({*dataset.scored, *dataset.abstain}):
            answer = pipeline.run(workspace.query(dataset.topics[topic]), workspace.snapshot)
            weights = weigh_terms(answer.query, answer.snapshot)
            measured = measure(answer.query, weights, answer.snapshot, answer.trace, DEFAULT_BUDGET)
            meta = dataset.topics[topic].meta
            kind = meta.get("impossible_kind") or ("out_of_scope" if topic in dataset.abstain else "none")
            examples.append(
                Example(
                    set=dataset.name,
                    topic=topic,
                    kind=str(kind),
                    template=str(meta.get("template", "")),
                    type=str(meta.get("type", "")),
                    query=answer.query,
                    measured=measured,
                    score=float(answer.chosen.score[0]) if len(answer.chosen) else -1.0,
                )
            )
        model = str(workspace.kb.store.settings["model"])
    return ExampleSet(dataset.name, dataset.split, tuple(examples), dataset.digest, model)


def fit_head(names: Sequence[str], rows: Sequence[Mapping[str, float]], labels: Mask, weights: Floats) -> LogisticHead:
    """A ridge-penalised logistic regression with weights of at least 0; its threshold is still ½."""
    values = np.array([[row[name] for name in names] for row in rows], np.float64)
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    scaled = (values - mean) / spread
    slopes, intercept = np.zeros(len(names)), 0.0
    logits = np.zeros(len(rows))
    for _ in range(SWEEPS):  # one Newton step per coordinate, held at 0
        for place in range(-1, len(names)):
            column = 1.0 if place < 0 else scaled[:, place]
            chance = 1.0 / (1.0 + np.exp(-logits))
            ridge = 0.0 if place < 0 else RIDGE
            value = intercept if place < 0 else float(slopes[place])
            slope = float((weights * (chance - labels) * column).sum()) + ridge * value
            curve = float((weights * chance * (1.0 - chance) * column**2).sum()) + ridge + 1e-9
            step = -slope / curve if place < 0 else max(-slope / curve, -value)
            logits += step * column
            if place < 0:
                intercept += step
            else:
                slopes[place] += step
    slopes = slopes / spread
    kept = {name: round(float(slope), 4) for name, slope in zip(names, slopes, strict=True) if slope > 5e-5}
    return LogisticHead(round(float(intercept - slopes @ mean), 4), 0.5, kept)


def fit_scope(sets: Sequence[Sequence[Example]], names: Sequence[str] = SCOPE) -> LogisticHead:
    """The head `scope`: every set, and in it both classes, has the same weight."""
    examples = [one for examples in sets for one in examples]
    weights = np.concatenate([_balance(examples) for examples in sets])
    head = fit_head(names, [one.scope for one in examples], is_out_of_scope(examples), weights)
    allowed = [[head.probability(one.scope) for one in each if one.kind == "none"] for each in sets]
    return LogisticHead(head.intercept, choose_threshold(allowed), head.weights)


def _balance(examples: Sequence[Example]) -> Floats:
    lost = is_out_of_scope(examples)
    return np.where(lost, 0.5 / max(int(lost.sum()), 1), 0.5 / max(int((~lost).sum()), 1)) * 200.0


def is_out_of_scope(examples: Sequence[Example]) -> Mask:
    return np.array([one.kind == "out_of_scope" for one in examples])


def choose_threshold(answerable: Sequence[Sequence[float]]) -> float:
    """The lowest probability at which the mean share of refused answerable questions is at most FALSE_ALARMS."""
    candidates = sorted({value for values in answerable for value in values} | {1.0})
    for threshold in candidates:
        if np.mean([np.mean(np.array(values) > threshold) for values in answerable]) <= FALSE_ALARMS:
            return round(threshold + 5e-5, 4)
    return 1.0


def fit_demand(sets: Sequence[Sequence[Example]]) -> LogisticHead:
    """The head `demand`, from the questions that ask for much; a long account cannot be told from its words."""
    examples = [one for each in sets for one in each if one.measured.demand and one.type not in LONG_TYPES]
    examples = [one for one in examples if one.kind != "long_evidence"]
    labels = np.array([one.kind in MUCH for one in examples])
    return fit_head(DEMAND, [one.measured.demand_values for one in examples], labels, np.ones(len(examples)))


def near_cosine(sets: Sequence[Sequence[Example]]) -> float:
    """The median best cosine of answerable questions: such a passage is about a question in other words."""
    return round(float(np.median([one.cosine for examples in sets for one in examples if one.kind == "none"])), 3)


def area(positive: Sequence[float] | Floats, negative: Sequence[float] | Floats) -> float:
    """The area under the ROC curve, ties half."""
    order = np.sort(np.asarray(negative, np.float64))
    values = np.asarray(positive, np.float64)
    below = np.searchsorted(order, values, "left")
    tied = np.searchsorted(order, values, "right") - below
    return float((below + tied / 2).mean() / len(order))


def score_scope(head: LogisticHead, examples: Sequence[Example]) -> Floats:
    return np.array([head.probability(one.scope) for one in examples])


def check(sets: Sequence[ExampleSet]) -> None:
    """Print the area of every set under weights of the others."""
    for left_out in sets:
        head = fit_scope([one.examples for one in sets if one is not left_out])
        scores, lost = score_scope(head, left_out.examples), is_out_of_scope(left_out.examples)
        print(f"{left_out.name:20} area {area(scores[lost], scores[~lost]):.3f}  {dict(head.weights)}")


def write_head(head: LogisticHead) -> dict[str, Any]:
    return {"intercept": head.intercept, "threshold": head.threshold, "weights": dict(sorted(head.weights.items()))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("world")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    sets = [read_examples(name, "dev") for name in (arguments.world, *REAL)]
    check(sets)
    if arguments.check:
        return
    examples = [one.examples for one in sets]
    model = sets[0].model
    heads = {
        "about": "benchmarks/train_answerability.py; features are described in assay/answerability/judge.py",
        "demand": write_head(fit_demand(examples)),
        "words": write_head(fit_scope(examples, WORDS)),
        "models": {model: {"name": "minilm", "near": near_cosine(examples), "scope": write_head(fit_scope(examples))}},
        "trained_on": {f"{one.name} {one.split}": one.digest for one in sets},
        "settings": {"false_alarms": FALSE_ALARMS, "ridge": RIDGE, "sweeps": SWEEPS, "budget": DEFAULT_BUDGET},
    }
    TARGET.write_text(json.dumps(heads, indent=1) + "\n", "utf-8")
    print(json.dumps(heads, indent=1))


if __name__ == "__main__":
    main()
