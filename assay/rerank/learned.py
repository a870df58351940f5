"""A learned ranker: what words, meaning and neighbours say, summed under weights from judged data."""

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
from assay.engine.facts import chunks_of, vectors_of
from assay.engine.order import arrange
from assay.errors import ConfigError, nearest
from assay.protocols import Snapshot
from assay.rerank.features import NAMES, CandidatePool, columns
from assay.types import Chunk, Floats, Ints, Part, Query, Range, Ranking


@cache
def shipped() -> Mapping[str, Any]:
    """What ships with us: `weights`, and how they came about (sets with their digests, seed, results)."""
    found: Mapping[str, Any] = json.loads(files("assay.rerank").joinpath("data/learned.json").read_text("utf-8"))
    return found


def shipped_weights() -> dict[str, float]:
    return dict(shipped()["weights"])


@dataclass(frozen=True, slots=True)
class Learned:
    """Ranks the candidates anew by the features of `features.py`.

        s     = Σ weight(f) · z(f)                 z(f) = (f − mean) / standard deviation, over the candidates
        score = low + (high − low) · (s − min s) / (max s − min s)

    `low` and `high` are the lowest and the highest score given, so scores stay unit and mean what they meant: the
    best candidate of a poor list keeps its poor score. When all given scores are equal, `low` is half of them; when
    they are 0, or all s are equal, nothing changes. Every feature is one part; "learned" is what they start from.

    `weights` names features; the shipped ones come from benchmarks/train_ranker.py. A feature without a weight is not
    counted. A candidate that only one leg found gets its other score here, so legs need not agree on candidates.
    Needs the query's vector and unit scores, gives unit scores. Cost: 200 candidates are read as text.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense", "lexical", "vector"})

    weights: Mapping[str, float] = field(default_factory=shipped_weights)

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in NAMES:
                raise ConfigError(f"learned.weights names {name!r}, which is no feature", nearest(name, NAMES))
            check_number(f"learned.weights.{name}", weight, -10.0, 10.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        high = float(ranking.score.max()) if len(ranking) else 0.0
        if len(ranking) < 2 or high <= 0.0:
            return ranking
        found = standard(columns(pool_of(query, ranking, snapshot)))
        # In the order of NAMES, not of the weights: a sum's last bits hang on its order, and a record sorts its keys.
        shares = {
            name: weight * found[:, place] for place, name in enumerate(NAMES) if (weight := self.weights.get(name))
        }
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

    def gives(self, given: Range) -> Range:
        require_unit("learned", given)
        return Range("unit", given.lo / 2.0, given.hi)


def standard(values: Floats) -> Floats:
    """Columns as standard scores; a column whose values are all equal says nothing: 0."""
    spread = values.max(axis=0) - values.min(axis=0)
    deviation = np.where(spread > 0.0, values.std(axis=0), 1.0)
    return np.where(spread > 0.0, (values - values.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0), 0.0)


def pool_of(query: Query, ranking: Ranking, snapshot: Snapshot) -> CandidatePool:
    """The candidates as the features read them."""
    idf = snapshot.term_weights(query.text)
    number = {term: place for place, term in enumerate(idf)}
    sequence = [number[term] for term in snapshot.terms(query.text) if term in number]
    chunks = chunks_of(ranking, snapshot)
    vectors = vectors_of(ranking, snapshot)
    # einsum adds in one fixed order; a matrix product may split its sums by the number of threads.
    cosine = np.einsum("ij,j->i", vectors.astype(np.float64), np.asarray(query.vector, np.float64))
    documents: dict[str, int] = {}
    return CandidatePool(
        idf=np.array(list(idf.values()), np.float64),
        pairs=sorted({(one, other) for one, other in pairwise(sequence) if one != other}),
        hits=[_hits(chunk, number, snapshot) for chunk in chunks],
        cosine=cosine,
        vectors=vectors,
        document=np.array([documents.setdefault(c.doc_id if c else "", len(documents)) for c in chunks], np.intp),
    )


def _hits(chunk: Chunk | None, number: Mapping[str, int], snapshot: Snapshot) -> Ints:
    """The number of the query term at every place of a chunk, or -1."""
    terms = snapshot.terms(chunk.indexed_text) if chunk else []
    return np.array([number.get(term, -1) for term in terms], np.int32)
