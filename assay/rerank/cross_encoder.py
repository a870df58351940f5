"""Cross-encoder rerank: a local model scores query and text together."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.embed.installed_models import models_folder
from assay.engine.checks import check_choice, check_number, check_whole, require_unit
from assay.engine.facts import chunks_of
from assay.engine.order import arrange, top
from assay.errors import AssayError, ConfigError
from assay.protocols import Snapshot
from assay.rerank.pair_cache import CachedPairs, open_pair_cache
from assay.rerank.pair_reader import PairReader, load_pair_reader
from assay.rerank.providers.response import sigmoid
from assay.rerank.standard_blend import blend_in, blended_range
from assay.types import Note, Part, Query, Range, Ranking

BLENDS = ("unit", "standard")


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """Blends a local cross-encoder's score into the first `pool` candidates.

        blend = "unit"        the blend of the memory pipeline
            read              score = weight · sigmoid(logit) + (1 − weight) · score
            not read          score = unread · score               (outside the pool, or without text)
        blend = "standard"    z(score) + weight · z(logit), rescaled to the pool's scores: see standard_blend.py

    "unit" trusts the model's scale; "standard" needs none, keeps every candidate outside the pool as it is, and counts
    one without text as average. `path` is a folder with model.onnx and tokenizer.json; instead, `model` names such a
    folder among the installed models. `sha256`, if given, pins the weights, so that the pipeline's digest covers them
    too. Pairs are cut at `max_tokens`. With `cache`, the scores of pairs are kept in the user's cache, where a later
    search with the same query finds them. If the model is missing or fails, or the query has no text, the ranking stays
    as it is and a note says why. Needs and gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    digest_omits: ClassVar[Mapping[str, object]] = {"model": "", "blend": "unit", "cache": False}

    path: str = ""
    weight: float = 0.6
    pool: int = 20
    unread: float = 0.8
    max_tokens: int = 512
    sha256: str = ""
    model: str = ""
    blend: str = "unit"
    cache: bool = False

    def __post_init__(self) -> None:
        check_choice("cross_encoder.blend", self.blend, BLENDS)
        check_number("cross_encoder.weight", self.weight, 0.0, 1.0 if self.blend == "unit" else 100.0)
        check_number("cross_encoder.unread", self.unread, 0.0, 1.0)
        check_whole("cross_encoder.pool", self.pool, 1)
        check_whole("cross_encoder.max_tokens", self.max_tokens, 8)
        if bool(self.path) == bool(self.model):
            raise ConfigError(
                "cross_encoder needs one of path and model",
                'give path = "a folder with model.onnx and tokenizer.json", or model = "the name of an installed one"',
            )
        if self.model and not _NAME.fullmatch(self.model):
            raise ConfigError(
                f"cross_encoder.model = {self.model!r} is no name",
                "give a name here, or a folder as cross_encoder.path",
            )

    def reads(self) -> tuple[str, ...]:
        """The model's folder; an installed model is no file of the pipeline's choice."""
        return (self.path,) if self.path else ()

    @property
    def folder(self) -> str:
        """Where the model is."""
        return self.path or str(models_folder() / self.model)

    def prepare(self) -> None:
        """Load the model."""
        with contextlib.suppress(AssayError):  # `apply` reports it and goes on without the model
            self._open()

    def _open(self) -> PairReader | CachedPairs:
        opener = open_pair_cache if self.cache else load_pair_reader
        return opener(self.folder, self.sha256, self.max_tokens)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking):
            return ranking
        if not query.text.strip():
            return ranking.noted(Note("skipped", "cross_encoder reads the query's text, and there is none"))
        texts = [c.indexed_text if c else "" for c in chunks_of(top(ranking, self.pool), snapshot)]
        read = np.array([place for place, text in enumerate(texts) if text], np.intp)
        try:
            logits = self._open().logits(query.text, [texts[place] for place in read])
        except AssayError as error:
            return ranking.noted(Note("degraded", f"cross_encoder did not run: {error.message}", cure=error.cure))
        if self.blend == "standard":
            known = np.full(len(texts), np.nan)
            known[read] = logits
            return blend_in(ranking, known, self.weight, "cross_encoder")
        keep = np.full(len(ranking), self.unread)
        keep[read] = 1.0 - self.weight
        added = np.zeros(len(ranking))
        added[read] = self.weight * sigmoid(logits)
        blended = ranking.scored(Part("cross_encoder.keep", "mul", keep), Part("cross_encoder", "add", added)).clamped()
        return arrange(blended)

    def gives(self, scores: Range) -> Range:
        require_unit("cross_encoder", scores)
        if self.blend == "standard":
            return blended_range(scores)
        lowest = min(1.0 - self.weight, self.unread) * scores.lo
        return Range("unit", lowest, max((1.0 - self.weight) * scores.hi + self.weight, self.unread * scores.hi))


_NAME = re.compile(r"[\w][\w.-]*")
