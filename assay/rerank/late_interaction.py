"""Late interaction: compares token vectors of query and text by MaxSim."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from assay.embed.token_cache import CachedTokens
from assay.embed.token_codes import BITS, open_coder
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
        likeness     = MaxSim(q, d)                          match = "query": the best match of each query token
                     = (MaxSim(q, d) + MaxSim(d, q)) / 2     match = "both": and of each token of the text
        blend        = z(score) + weight · z(likeness)       z(x) = (x − mean) / standard deviation, over the pool

    MaxSim of the default model's token vectors is too weak to rank alone, so only the blend is offered. The blend is
    rescaled linearly to the pool's own scores: the best candidate gets the pool's highest score, the worst its lowest.
    So scores stay unit scores, nothing outside the pool passes anything inside it, and candidates outside keep score
    and order. Where that leaves no range (equal scores in the pool, or its last one ties with the first outside) the
    worst gets the middle between the highest score inside and the highest outside (0 if there is none); when those two
    are equal, the pool keeps its scores. Tiers are blended one by one, since a stage moves nothing across tiers.

    `model` is a name that `assay.embed.load` knows. Token vectors of texts are stored at `bits` per dimension, 8 or 1
    (their signs), those of the query at 8. They are computed when first read and kept in the user's cache; `assay
    optimize --tokens` computes them in advance. A cold and a warm cache give the same scores to the bit. If the model
    is missing or the query has no text, the ranking stays as it is and a note says why. A candidate without text counts
    as average. Needs and gives unit scores.
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
        with contextlib.suppress(AssayError):  # `apply` reports it and goes on without the model
            open_token_cache(self.model, self.bits)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if len(ranking) < 2 or not self.weight:
            return ranking
        if not query.text.strip():
            return ranking.noted(Note("skipped", "late_interaction reads the query's text, and there is none"))
        texts = [c.indexed_text if c else "" for c in chunks_of(top(ranking, self.pool), snapshot)]
        try:
            likeness = self._likeness(query.text, texts)
        except AssayError as error:
            return ranking.noted(_failure_note(error))
        return self.blend_in(ranking, likeness)

    def report_missing(self) -> tuple[Note, ...]:
        """Notes on why the model cannot be loaded; empty when it can."""
        try:
            open_token_cache(self.model, self.bits)
        except AssayError as error:
            return (_failure_note(error),)
        return ()

    def blend_in(self, ranking: Ranking, likeness: Floats) -> Ranking:
        """Blend the likeness of the first candidates into a ranking; NaN counts as average."""
        change = np.zeros(len(ranking))
        for tier in np.unique(ranking.tier[: len(likeness)]):
            tier_places = np.flatnonzero(ranking.tier == tier)
            inside, outside = tier_places[tier_places < len(likeness)], tier_places[tier_places >= len(likeness)]
            score = ranking.score[inside]
            below = float(ranking.score[outside[0]]) if len(outside) else None
            change[inside] = rescale(score, blend(score, likeness[inside], self.weight), below) - score
        return arrange(ranking.scored(Part("late_interaction", "add", change)).clamped())

    def _likeness(self, query: str, texts: list[str]) -> Floats:
        """MaxSim of the query with each text; NaN where there is no text."""
        (query_codes,) = open_token_cache(self.model, 8).codes([query])
        return max_sim(query_codes, open_token_cache(self.model, self.bits).codes(texts), both=self.match == "both")

    def gives(self, scores: Range) -> Range:
        require_unit("late_interaction", scores)
        return Range("unit", scores.lo / 2.0, scores.hi)  # half: see the middle in the class docstring


def _failure_note(error: AssayError) -> Note:
    return Note("degraded", f"late_interaction did not run: {error.message}", cure=error.cure)


def blend(score: Floats, likeness: Floats, weight: float) -> Floats:
    """z(score) + weight · z(likeness)."""
    return _standardise(score) + weight * _standardise(likeness)


def rescale(score: Floats, by: Floats, below: float | None) -> Floats:
    """Map `by` linearly onto the range of `score`; `below` is the best score outside, if any."""
    low, high = float(score.min()), float(score.max())
    spread = float(by.max() - by.min())
    if spread == 0.0:
        return score
    floor = 0.0 if below is None else below
    bottom = low if low < high and (below is None or low > below) else (high + floor) / 2.0
    rescaled: Floats = bottom + (high - bottom) * ((by - by.min()) / spread)
    return rescaled


def _standardise(values: Floats) -> Floats:
    """Standard scores; 0 for NaN, and for all values when they are equal."""
    known = values[~np.isnan(values)]
    deviation = float(known.std()) if len(known) and known.max() > known.min() else 0.0
    if deviation == 0.0:  # also when the squares of tiny differences underflow
        return np.zeros(len(values))
    return np.nan_to_num((values - float(known.mean())) / deviation, nan=0.0)


@lru_cache(maxsize=4)
def open_token_cache(model: str, bits: int) -> CachedTokens:
    """Load a model with its cache of token codes, once per process."""
    return CachedTokens(open_coder(_load_encoder(model), bits))


@lru_cache(maxsize=2)
def _load_encoder(model: str) -> object:
    from assay.embed import load

    return load(model)
