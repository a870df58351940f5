"""Late interaction: compares token vectors of query and text by MaxSim."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from assay.embed.token_cache import CachedTokens
from assay.embed.token_codes import BITS, open_coder
from assay.engine.checks import check_choice, check_number, check_whole, require_unit
from assay.engine.facts import chunks_of
from assay.engine.order import top
from assay.errors import AssayError, ConfigError
from assay.protocols import Snapshot
from assay.rerank.max_sim import max_sim
from assay.rerank.standard_blend import blend_in, blended_range
from assay.types import Floats, Note, Query, Range, Ranking

MATCHES = ("query", "both")


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """Blends MaxSim of the model's token vectors into the first `pool` candidates.

        MaxSim(q, d) = mean over tokens i of q of  max over tokens j of d of  cos(q_i, d_j)
        likeness     = MaxSim(q, d)                          match = "query": the best match of each query token
                     = (MaxSim(q, d) + MaxSim(d, q)) / 2     match = "both": and of each token of the text
        blend        = z(score) + weight · z(likeness)       rescaled to the pool's scores: see standard_blend.py

    MaxSim of the default model's token vectors is too weak to rank alone, so only the blend is offered.

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
        return blend_in(ranking, likeness, self.weight, "late_interaction")

    def report_missing(self) -> tuple[Note, ...]:
        """Notes on why the model cannot be loaded; empty when it can."""
        try:
            open_token_cache(self.model, self.bits)
        except AssayError as error:
            return (_failure_note(error),)
        return ()

    def _likeness(self, query: str, texts: list[str]) -> Floats:
        """MaxSim of the query with each text; NaN where there is no text."""
        (query_codes,) = open_token_cache(self.model, 8).codes([query])
        return max_sim(query_codes, open_token_cache(self.model, self.bits).codes(texts), both=self.match == "both")

    def gives(self, scores: Range) -> Range:
        require_unit("late_interaction", scores)
        return blended_range(scores)


def _failure_note(error: AssayError) -> Note:
    return Note("degraded", f"late_interaction did not run: {error.message}", cure=error.cure)


@lru_cache(maxsize=4)
def open_token_cache(model: str, bits: int) -> CachedTokens:
    """Load a model with its cache of token codes, once per process."""
    return CachedTokens(open_coder(_load_encoder(model), bits))


@lru_cache(maxsize=2)
def _load_encoder(model: str) -> object:
    from assay.embed import load

    return load(model)
