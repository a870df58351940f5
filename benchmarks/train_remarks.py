"""Measures a head that tells remarks from statements of fact, and what it would do for `currency`. Nothing is shipped.

    ASSAY_DATA=… python -m benchmarks.train_remarks

The head is a logistic regression on the vectors of minilm, fitted to `changing_facts/remarks.toml`. Printed are the
area under the ROC curve by left-out topics of that file and on each author's memories of changing_facts (fillers are
remarks, versions are facts), and the table of benchmarks/train_currency with the head's logit as one more feature, cut
to [0, 2] so that a text which only seems to be a fact gains nothing. Why it is not taken: docs/decisions/0079.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.types import Floats
from benchmarks import train_currency
from benchmarks.changing_facts.generate import AUTHORS, HERE
from benchmarks.data import data_folder, model
from benchmarks.train_currency import Case

RIDGE = 0.3
MOST = 2.0
"""The largest value of the feature."""


def fit_head(vectors: Floats, is_remark: Floats) -> tuple[Floats, float]:
    """Logistic regression by Newton's method: weights and bias."""
    mean = vectors.mean(axis=0)
    z = np.c_[vectors - mean, np.ones(len(vectors))]
    ridge = np.diag([RIDGE] * vectors.shape[1] + [1e-6])
    weights = np.zeros(z.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-z @ weights))
        weights -= np.linalg.solve(
            (z * (p * (1.0 - p))[:, None]).T @ z + ridge, z.T @ (p - is_remark) + ridge @ weights
        )
    return weights[:-1], float(weights[-1] - weights[:-1] @ mean)


def area_under_curve(scores: Floats, is_positive: Floats) -> float:
    """The probability that a positive has the higher score; equal scores do not occur."""
    ranks = np.argsort(np.argsort(scores)) + 1
    positives = int(is_positive.sum())
    excess = float(ranks[is_positive > 0].sum()) - positives * (positives + 1) / 2
    return excess / (positives * (len(scores) - positives))


def encode(texts: Sequence[str]) -> Floats:
    return np.asarray(model().encode(list(texts)), np.float64)


def add_feature(case: Case, logit: dict[str, float]) -> Case:
    """The case with the head's logit of every candidate as the last feature."""
    found = case.candidates
    if found is None:
        return case
    texts = [hit.chunk.text for hit in case.answer.hits[: len(found.chance)]]
    column = np.clip([logit[text] for text in texts], 0.0, MOST)
    return replace(case, candidates=replace(found, features=np.c_[found.features, column]))


def main() -> None:
    data_folder()
    topics = tomllib.loads((HERE / "remarks.toml").read_text("utf-8"))["topic"]
    rows = [
        (text, float(kind == "remarks"), t["name"]) for t in topics for kind in ("remarks", "facts") for text in t[kind]
    ]
    vectors, labels = encode([text for text, _, _ in rows]), np.array([label for _, label, _ in rows])
    names, unseen = np.array([name for _, _, name in rows]), np.zeros(len(rows))
    for name in sorted(set(names)):
        weights, bias = fit_head(vectors[names != name], labels[names != name])
        unseen[names == name] = vectors[names == name] @ weights + bias
    print(f"{len(rows)} texts, by left-out topics {area_under_curve(unseen, labels):.3f}")
    weights, bias = fit_head(vectors, labels)
    cases = train_currency.collect()
    texts = sorted({hit.chunk.text for case in cases for hit in case.answer.hits})
    logit = dict(zip(texts, (encode(texts) @ weights + bias).tolist(), strict=True))
    for author in AUTHORS:
        known = {
            hit.chunk.text: float(is_version == 0.0)
            for case in cases
            if case.author == author
            for hit, is_version in zip(case.answer.hits, case.is_version, strict=False)
            if np.isfinite(is_version) and hit.chunk.doc_id.split(":")[0] == case.gold.split(":")[0]
        }
        area = area_under_curve(np.array([logit[text] for text in known]), np.array(list(known.values())))
        print(f"{author:8} {area:.3f}")
    for title, chosen in (("without", cases), ("with the head", [add_feature(case, logit) for case in cases])):
        table = train_currency.leave_one_author_out(chosen)
        kinds = next(iter(table.values()))
        print(title, *(f"{kind} {np.mean([row[kind] for row in table.values()]):.3f}" for kind in kinds))


if __name__ == "__main__":
    main()
