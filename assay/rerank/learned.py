"""Learned ranker: a weighted sum of lexical, dense and neighbourhood features, trained on judged data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import rows_of, vectors_of
from assay.engine.order import arrange
from assay.engine.term_hits import TermHits, documents_of, find_terms
from assay.errors import ConfigError, nearest
from assay.protocols import Snapshot
from assay.rerank.features import FEATURES, CandidatePool, compute_standard_features
from assay.types import Part, Query, Range, Ranking


@cache
def load_shipped_model() -> Mapping[str, Any]:
    """Load the shipped model: `weights` and their origin (datasets with digests, seed, results)."""
    model: Mapping[str, Any] = json.loads(files("assay.rerank").joinpath("data/learned.json").read_text("utf-8"))
    return model


def load_shipped_weights() -> dict[str, float]:
    return dict(load_shipped_model()["weights"])


@dataclass(frozen=True, slots=True)
class Learned:
    """Ranks the candidates anew by the features of `features.py`.

        s     = Σ weight(f) · z(f)                 z(f) = (f − mean) / standard deviation, over the candidates;
                                                   interactions are products of these and stay as they are
        score = low + (high − low) · (s − min s) / (max s − min s)

    `low` and `high` are the lowest and highest input score, so the range of scores is kept: the best candidate of a
    weak list keeps its low score. When all input scores are equal, `low` is half of them; when they are 0, or all s
    are equal, nothing changes. Every feature is one part; the part "learned" is the constant they start from.

    `weights` names features; the shipped ones come from benchmarks/train_ranker.py. A feature without a weight does not
    count. Both scores are computed for every candidate, so it does not matter which leg found it. Needs the query's
    vector and unit scores, gives unit scores. A store in a folder keeps the order of terms in its index; with others,
    and with an index built before it did, the texts of all candidates (about 200) are read.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense", "lexical", "vector"})

    weights: Mapping[str, float] = field(default_factory=load_shipped_weights)

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in FEATURES:
                raise ConfigError(f"learned.weights names {name!r}, which is no feature", nearest(name, FEATURES))
            check_number(f"learned.weights.{name}", weight, -10.0, 10.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        high = float(ranking.score.max()) if len(ranking) else 0.0
        if len(ranking) < 2 or high <= 0.0:
            return ranking
        # In the order of FEATURES, not of the weights: the last bits of a sum depend on it, and receipts sort keys.
        names = [name for name in FEATURES if self.weights.get(name)]
        if not names:
            return ranking
        features = compute_standard_features(build_pool(query, ranking, snapshot), names)
        shares = {name: self.weights[name] * features[:, place] for place, name in enumerate(names)}
        total = sum(shares.values(), np.zeros(len(ranking)))
        spread = float(total.max() - total.min())
        if spread <= 0.0:
            return ranking
        low = float(ranking.score.min())
        low = low if low < high else high / 2.0
        unit = (high - low) / spread
        start = Part("learned", "set", np.full(len(ranking), low - unit * float(total.min())))
        parts = [Part(f"learned.{name}", "add", unit * share) for name, share in shares.items()]
        return arrange(ranking.scored(start, *parts).clamped())

    def gives(self, scores: Range) -> Range:
        require_unit("learned", scores)
        return Range("unit", scores.lo / 2.0, scores.hi)


def build_pool(query: Query, ranking: Ranking, snapshot: Snapshot) -> CandidatePool:
    """Collect what the features read of the candidates."""
    idf = snapshot.term_weights(query.text)
    number = {term: place for place, term in enumerate(idf)}
    sequence = [number[term] for term in snapshot.terms(query.text) if term in number]
    rows = rows_of(ranking, snapshot)
    vectors = vectors_of(ranking, snapshot)
    # einsum adds in a fixed order; a matrix product may split its sums by the number of threads.
    cosine = np.einsum("ij,j->i", vectors.astype(np.float64), np.asarray(query.vector, np.float64))
    present = np.flatnonzero(rows >= 0)
    hits = find_terms(snapshot, rows[present], list(idf))
    documents = documents_of(snapshot, rows[present])
    if len(present) < len(rows):  # candidates that are not in this view have no terms and one document
        absent = np.flatnonzero(rows < 0)
        none = TermHits.of_texts([()] * len(absent), ())
        hits = TermHits.join([(present, hits), (absent, none)])
        documents = np.insert(documents, np.searchsorted(present, absent), -1)
    return CandidatePool(
        idf=np.array(list(idf.values()), np.float64),
        pairs=sorted({(one, other) for one, other in pairwise(sequence) if one != other}),
        hits=hits,
        cosine=cosine,
        vectors=vectors,
        document=documents,
    )
