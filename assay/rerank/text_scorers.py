"""Scorers of texts for a query, which components call by name: late interaction and cross-encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.embed.token_cache import CachedTokens
from assay.errors import ConfigError
from assay.rerank.late_interaction import open_token_cache
from assay.rerank.max_sim import max_sim
from assay.rerank.pair_reader import load_pair_reader
from assay.rerank.providers.response import sigmoid
from assay.types import Floats


@dataclass(frozen=True, slots=True)
class LateInteractionScorer:
    """MaxSim of token vectors, both ways, at least 0. `argument` is the model's name; "" is minilm."""

    argument: str = ""

    def prepare(self) -> None:
        """Load the model."""
        self._codes(8)

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        (query_codes,) = self._codes(8).codes([query])
        likeness = max_sim(query_codes, self._codes(1).codes(list(texts)), both=True)
        return np.clip(np.nan_to_num(likeness, nan=0.0), 0.0, 1.0)

    def _codes(self, bits: int) -> CachedTokens:
        return open_token_cache(self.argument or "minilm", bits)


@dataclass(frozen=True, slots=True)
class CrossEncoderScorer:
    """sigmoid(logit) of a local cross-encoder. `argument` is its folder."""

    argument: str

    def __post_init__(self) -> None:
        if not self.argument:
            raise ConfigError("the scorer cross_encoder needs a folder", 'write "cross_encoder:<folder>"')

    def prepare(self) -> None:
        """Load the model."""
        load_pair_reader(self.argument, "", 512)

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        return sigmoid(load_pair_reader(self.argument, "", 512).logits(query, list(texts)))
