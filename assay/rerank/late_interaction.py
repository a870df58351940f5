"""Late interaction: every word of the query looks for its best match in the text."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from assay.embed.token_cache import CachedTokens
from assay.embed.tokens import BITS, coder_of
from assay.engine.checks import check_choice, check_number, check_whole, require_unit
from assay.engine.facts import chunks_of
from assay.engine.order import arrange, top
from assay.errors import AssayError, ConfigError
from assay.protocols import Snapshot
from assay.rerank.max_sim import max_sim
from assay.types import Floats, Note, Part, Query, Range, Ranking

MATCHES = ("query", "both")


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """Blends MaxSim of the model's token vectors into the first `pool` candidates.

        MaxSim(q, d) = mean over tokens i of q of  max over tokens j of d of  cos(q_i, d_j)
        likeness     = MaxSim(q, d)                          match = "query": each token of the query looks for its best
                     = (MaxSim(q, d) + MaxSim(d, q)) / 2     match = "both": so does each token of the text
        blend        = z(score) + weight · z(likeness)       z(x) = (x − mean) / standard deviation, over the pool

    MaxSim of the default model's token vectors is too weak a judge to stand alone, so only the blend is offered.
    It is dealt out linearly over the pool's own scores: the best candidate gets the pool's highest score, the worst
    its lowest. So scores stay unit and mean what they meant, nothing outside the pool passes anything inside it,
    and what is outside keeps its score and order. Where that leaves no room (equal scores in the pool, or its
    last one ties with the first outside) the worst gets the middle between the highest inside and the highest
    outside (0 if nobody is); when those two are equal, the pool keeps its scores. Tiers are blended one by one,
    since a stage moves nothing across tiers.

    `model` is a name that `assay.embed.load` knows. The token vectors of texts are kept at `bits` per dimension, 8 or 1
    (their signs), those of the query at 8. They are made when first read and kept in the user's cache; `assay optimize
    --tokens` makes them ahead. A cold and a warm cache give the same scores to the bit. A model that is missing, or a
    query without text, leaves the ranking as it is, on the record. A candidate without text counts as average. Needs
    and gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    pool: int = 50
    weight: float = 0.5
    model: str = "minilm"
    bits: int = 1
    match: str = "both"

    def __post_init__(self) -> None:
        check_whole("late_interaction.pool", self.pool, 2)
        check_number("late_interaction.weight", self.weight, 0.0, 100.0)
        check_whole("late_interaction.bits", self.bits, 1)
        if self.bits not in BITS:
            raise ConfigError(f"late_interaction.bits = {self.bits} is not one of its values", "give 1 or 8")
        check_choice("late_interaction.match", self.match, MATCHES)

    def prepare(self) -> None:
        """Load the model."""
        with contextlib.suppress(AssayError):  # a question will say it, and go on without
            token_store(self.model, self.bits)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if len(ranking) < 2 or not self.weight:
            return ranking
        if not query.text.strip():
            return ranking.noted(Note("skipped", "late_interaction reads the query's text, and there is none"))
        texts = [c.indexed_text if c else "" for c in chunks_of(top(ranking, self.pool), snapshot)]
        try:
            likeness = self._likeness(query.text, texts)
        except AssayError as error:
            return ranking.noted(_failed(error))
        return self.blended(ranking, likeness)

    def lacks(self) -> tuple[Note, ...]:
        """Why it could not read, were there something to read; nothing when it could."""
        try:
            token_store(self.model, self.bits)
        except AssayError as error:
            return (_failed(error),)
        return ()

    def blended(self, ranking: Ranking, likeness: Floats) -> Ranking:
        """The ranking with what was read of its first candidates blended in; NaN is average."""
        change = np.zeros(len(ranking))
        for tier in np.unique(ranking.tier[: len(likeness)]):
            everyone = np.flatnonzero(ranking.tier == tier)
            inside, outside = everyone[everyone < len(likeness)], everyone[everyone >= len(likeness)]
            score = ranking.score[inside]
            below = float(ranking.score[outside[0]]) if len(outside) else None
            change[inside] = deal(score, blend(score, likeness[inside], self.weight), below) - score
        return arrange(ranking.scored(Part("late_interaction", "add", change)).clamped())

    def _likeness(self, query: str, texts: list[str]) -> Floats:
        """MaxSim of the query with each text; NaN where there is no text."""
        (asked,) = token_store(self.model, 8).codes([query])
        return max_sim(asked, token_store(self.model, self.bits).codes(texts), both=self.match == "both")

    def gives(self, given: Range) -> Range:
        require_unit("late_interaction", given)
        return Range("unit", given.lo / 2.0, given.hi)  # half: the middle between equal scores and nothing outside


def _failed(error: AssayError) -> Note:
    return Note("degraded", f"late_interaction did not run: {error.message}; cure: {error.cure}")


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


@lru_cache(maxsize=4)
def token_store(model: str, bits: int) -> CachedTokens:
    """The loaded model behind its cache of token codes, once per process."""
    return CachedTokens(coder_of(_encoder(model), bits))


@lru_cache(maxsize=2)
def _encoder(model: str) -> object:
    from assay.embed import load

    return load(model)
