"""Fits the weights of `currency`: which candidates state the fact that a question asks about.

    python -m benchmarks.train_currency

Memories and questions are those of the dev split of changing_facts; the held-out half is not read. `recall` without
`currency` finds candidates for every question about the present, and the features of assay/score/version_features.py
are fitted to whether a candidate is a version of the fact (logistic regression, ridge). Versions are all memories of a
chain but its fillers; of hand-written cases those that answer a question. Of the printed table every row is an author
whose cases were left out of the fit: cross-validation by attribute overstates what holds for other people's words by
.25 (docs/decisions/0062).
"""

from __future__ import annotations

import tempfile
import tomllib
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay import kb as knowledge
from assay.config.load import from_dict, read_toml
from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.score.currency import Currency
from assay.score.version_features import WEIGHTS, VersionCandidates, compute_chance, find_versions
from assay.types import Floats
from benchmarks.changing_facts.generate import AUTHORS, SPLITS, Suite, build

KINDS = ("present", "past", "previous", "as_of", "apart")
RIDGE = 0.01
SHARPEN = 2.0
"""Factor of the fitted logits: several doubtful candidates would otherwise outweigh a sure one."""


@dataclass(frozen=True)
class Case:
    """One question: its candidates, which of them are versions (NaN: unknown), and the one that answers."""

    author: str
    kind: str
    answer: Answer
    candidates: VersionCandidates | None
    is_version: Floats
    names: dict[str, str]
    """Chunk id → memory, of every candidate."""
    gold: str


def collect() -> list[Case]:
    """Ask every question of the dev split, each file of templates from a memory of its own, as the service does."""
    suite = build()
    config = tomllib.loads(read_toml("recall"))
    pipeline = from_dict({**config, "step": [step for step in config["step"] if step["use"] != "currency"]})
    return [case for name in SPLITS["dev"] for case in _ask_memory(suite, name, pipeline)]


def _ask_memory(suite: Suite, name: str, pipeline: Pipeline) -> list[Case]:
    """Ask the questions about the memories of one file."""
    gold = dict(suite.judged["dev"])
    with tempfile.TemporaryDirectory() as folder, knowledge.open(Path(folder) / "kb") as kb:
        kb.add(
            [
                {"id": memory["_id"], "text": memory["text"], **memory["metadata"]}
                for memory in suite.documents
                if memory["metadata"]["memory"] == name
            ],
            compact=True,
        )
        return [
            _make_case(suite, question, gold, kb.search(question["text"], 20, pipeline=pipeline, at=question["at"]))
            for question in suite.questions
            if question["_id"] in gold and question["where"] == f'memory = "{name}"'
        ]


def _make_case(suite: Suite, question: dict[str, Any], gold: dict[str, str], answer: Answer) -> Case:
    top = answer.chosen.take(slice(0, Currency().depth))
    candidates = find_versions(answer.query, top, answer.snapshot, Currency().max_characters)
    case = question["_id"].split(":")[0]
    answers = {memory for asked, memory in gold.items() if asked.startswith(f"{case}:") and ":apart" not in asked}
    names = [hit.chunk.doc_id for hit in answer.hits[: len(top)]]
    known = [
        0.0
        if name.split(":")[0] != case or name in suite.fillers
        else 1.0
        if "written" not in case or name in answers
        else np.nan
        for name in names
    ]
    by_chunk = {hit.id: hit.chunk.doc_id for hit in answer.hits}
    kind = question["metadata"]["type"]
    memory = question["where"].split('"')[1]
    author = next(author for author, files in AUTHORS.items() if memory in files)
    return Case(author, kind, answer, candidates, np.array(known), by_chunk, gold[question["_id"]])


def fit(cases: list[Case]) -> tuple[Floats, float]:
    """Logistic regression by Newton's method; the lead is no example, its chance is fixed."""
    rows, labels = [], []
    for case in cases:
        found = case.candidates
        if case.kind != "present" or found is None:
            continue
        use = (found.chance > 0.0) & np.isfinite(case.is_version) & (np.arange(len(found.chance)) != found.lead)
        rows.append(found.features[use])
        labels.append(case.is_version[use])
    x, y = np.concatenate(rows), np.concatenate(labels)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    z = np.c_[(x - mean) / spread, np.ones(len(x))]
    ridge = np.diag([RIDGE * len(y)] * x.shape[1] + [1e-6])
    weights = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-z @ weights))
        hessian = (z * (p * (1.0 - p))[:, None]).T @ z + ridge
        weights -= np.linalg.solve(hessian, z.T @ (p - y) + ridge @ weights)
    scaled = weights[:-1] / spread
    return SHARPEN * scaled, SHARPEN * float(weights[-1] - scaled @ mean)


def score(case: Case, weights: Floats, bias: float) -> bool:
    """Whether `currency` with these weights puts the right memory first."""
    found, ranking = case.candidates, case.answer.chosen
    if found is not None:
        chance = compute_chance(found.features, weights, bias, found.lead)
        found = replace(found, chance=np.where(found.chance > 0.0, chance, 0.0))
        ranking = Currency().exchange_scores(case.answer.query, ranking, found)
    return case.names[str(ranking.ids[0])] == case.gold


def leave_one_author_out(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Author → kind of question → the share with the right memory first, by weights of the other authors."""
    table = {}
    for author in AUTHORS:
        weights, bias = fit([case for case in cases if case.author != author])
        right: dict[str, list[bool]] = defaultdict(list)
        for case in cases:
            if case.author == author:
                right[case.kind].append(score(case, weights, bias))
        shares = {kind: float(np.mean(right[kind])) for kind in KINDS}
        table[author] = {**shares, "all": float(np.mean([ok for each in right.values() for ok in each]))}
    return table


def main() -> None:
    cases = collect()
    table = leave_one_author_out(cases)
    table["mean"] = {kind: float(np.mean([row[kind] for row in table.values()])) for kind in (*KINDS, "all")}
    for author, row in table.items():
        print(f"{author:8}", *(f"{kind} {share:.3f}" for kind, share in row.items()))
    weights, bias = fit(cases)
    print({name: round(float(weight), 2) for name, weight in zip(WEIGHTS, weights, strict=True)}, round(bias, 2))


if __name__ == "__main__":
    main()
