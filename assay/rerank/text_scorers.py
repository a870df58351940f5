"""Scorers of texts for a query, which components call by name: late interaction and cross-encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.embed.installed_models import models_folder
from assay.embed.token_cache import CachedTokens
from assay.errors import ConfigError
from assay.rerank.late_interaction import open_token_cache
from assay.rerank.max_sim import max_sim
from assay.rerank.pair_cache import CachedPairs, open_pair_cache
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
    """sigmoid(logit) of a local cross-encoder, from the cache of pairs where it is known. `argument` is its folder, or
    the name of an installed one."""

    argument: str

    def __post_init__(self) -> None:
        if not self.argument:
            raise ConfigError("the scorer cross_encoder needs a folder", 'write "cross_encoder:<folder or name>"')

    def prepare(self) -> None:
        """Load the model."""
        self._open()

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        return sigmoid(self._open().logits(query, list(texts)))

    def _open(self) -> CachedPairs:
        folder = self.argument if "/" in self.argument else str(models_folder() / self.argument)
        return open_pair_cache(folder, "", 512)
