"""Late interaction: every word of the query looks for its best match in the text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from assay.checks import check_number, check_whole, require_unit
from assay.errors import AssayError, ModelError
from assay.facts import chunks_of
from assay.order import arrange, top
from assay.protocols import Snapshot
from assay.types import Floats, Note, Part, Query, Range, Ranking


class TokenEncoder(Protocol):
    """A model that gives one unit vector per token."""

    def token_vectors(self, texts: list[str]) -> list[NDArray[np.float32]]: ...


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """Blends MaxSim of the model's token vectors into the first `pool` candidates.

        MaxSim(q, d) = mean over tokens i of q of  max over tokens j of d of  q_i · d_j
        blend        = z(score) + weight · z(MaxSim)              z(x) = (x − mean) / standard deviation, over the pool

    MaxSim of the default model's token vectors is too weak a judge to stand alone, so only the blend is offered.
    It is dealt out linearly over the pool's own scores: the best candidate gets the pool's highest score, the worst
    its lowest. So scores stay unit and mean what they meant, nothing outside the pool passes anything inside it,
    and what is outside keeps its score and order. Where that leaves no room (equal scores in the pool, or its
    last one ties with the first outside) the worst gets the middle between the highest inside and the highest
    outside (0 if nobody is); when those two are equal, the pool keeps its scores. Tiers are blended one by one,
    since a stage moves nothing across tiers.

    `model` is a name that `assay.embed.load` knows. A model that is missing, or a query without text, leaves the
    ranking as it is, on the record. A candidate without text counts as average. Needs and gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    pool: int = 50
    weight: float = 0.5
    model: str = "minilm"

    def __post_init__(self) -> None:
        check_whole("late_interaction.pool", self.pool, 2)
        check_number("late_interaction.weight", self.weight, 0.0, 100.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if len(ranking) < 2 or not self.weight:
            return ranking
        if not query.text.strip():
            return ranking.noted(Note("skipped", "late_interaction reads the query's text, and there is none"))
        texts = [c.indexed_text if c else "" for c in chunks_of(top(ranking, self.pool), snapshot)]
        try:
            likeness = _read(self.model, query.text, texts)
        except AssayError as error:
            return ranking.noted(Note("degraded", f"late_interaction did not run: {error.message}; cure: {error.cure}"))
        change = np.zeros(len(ranking))
        for tier in np.unique(ranking.tier[: len(texts)]):
            everyone = np.flatnonzero(ranking.tier == tier)
            inside, outside = everyone[everyone < len(texts)], everyone[everyone >= len(texts)]
            score = ranking.score[inside]
            below = float(ranking.score[outside[0]]) if len(outside) else None
            change[inside] = deal(score, blend(score, likeness[inside], self.weight), below) - score
        return arrange(ranking.scored(Part("late_interaction", "add", change)).clamped())

    def gives(self, given: Range) -> Range:
        require_unit("late_interaction", given)
        return Range("unit", given.lo / 2.0, given.hi)  # half: the middle between equal scores and nothing outside


def max_sim(query: NDArray[np.float32], text: NDArray[np.float32]) -> float:
    """The mean over the query's tokens of the best cosine in the text; NaN when either has no tokens."""
    if not len(query) or not len(text):
        return float("nan")
    # einsum adds in one fixed order; a matrix product may split its sums by the number of threads.
    cosines = np.einsum("id,jd->ij", query.astype(np.float64), text.astype(np.float64))
    return float(cosines.max(axis=1).mean())


def blend(score: Floats, likeness: Floats, weight: float) -> Floats:
    """z(score) + weight · z(likeness)."""
    return _z(score) + weight * _z(likeness)


def deal(score: Floats, by: Floats, below: float | None) -> Floats:
    """The band of `score`, dealt out anew in proportion to `by`; `below` is the best score outside, if any."""
    low, high = float(score.min()), float(score.max())
    spread = float(by.max() - by.min())
    if spread == 0.0:
        return score
    floor = 0.0 if below is None else below
    bottom = low if low < high and (below is None or low > below) else (high + floor) / 2.0
    dealt: Floats = bottom + (high - bottom) * ((by - by.min()) / spread)
    return dealt


def _z(values: Floats) -> Floats:
    """Standard scores; what is unknown (NaN), and everything when all are equal, is average: 0."""
    known = values[~np.isnan(values)]
    if not len(known) or known.max() == known.min():
        return np.zeros(len(values))
    return np.nan_to_num((values - float(known.mean())) / float(known.std()), nan=0.0)


def _read(model: str, query: str, texts: list[str]) -> Floats:
    """MaxSim of the query with each text; NaN where there is no text."""
    encoder = _encoder(model)
    asked = encoder.token_vectors([query])[0]
    likeness = np.full(len(texts), np.nan)
    places = [place for place, text in enumerate(texts) if text]
    for place, tokens in zip(places, encoder.token_vectors([texts[p] for p in places]), strict=True):
        likeness[place] = max_sim(asked, tokens)
    return likeness


@lru_cache(maxsize=2)
def _encoder(model: str) -> TokenEncoder:
    """The loaded model, once per process."""
    from assay.embed import load

    loaded: Any = load(model)
    if not hasattr(loaded, "token_vectors"):
        raise ModelError(f"model {model!r} gives no token vectors", "name one that does, e.g. minilm")
    return cast(TokenEncoder, loaded)
