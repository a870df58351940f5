"""Cross-encoder rerank: a local model scores query and text together."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, check_whole, require_unit
from assay.engine.facts import chunks_of
from assay.engine.order import arrange, top
from assay.errors import AssayError, ConfigError
from assay.protocols import Snapshot
from assay.rerank.pair_reader import load_pair_reader
from assay.rerank.providers.response import sigmoid
from assay.types import Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """Blends a local cross-encoder's score into the first `pool` candidates; the blend of the memory pipeline.

        read      score = weight · sigmoid(logit) + (1 − weight) · score
        not read  score = unread · score                   (outside the pool, or without text)

    `path` is a folder with model.onnx and tokenizer.json; `sha256`, if given, pins the weights, so that the
    pipeline's digest covers them too. Pairs are cut at `max_tokens`. If the model is missing or fails, or the query
    has no text, the ranking stays as it is and a note says why. Needs and gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    path: str
    weight: float = 0.6
    pool: int = 20
    unread: float = 0.8
    max_tokens: int = 512
    sha256: str = ""

    def __post_init__(self) -> None:
        check_number("cross_encoder.weight", self.weight, 0.0, 1.0)
        check_number("cross_encoder.unread", self.unread, 0.0, 1.0)
        check_whole("cross_encoder.pool", self.pool, 1)
        check_whole("cross_encoder.max_tokens", self.max_tokens, 8)
        if not self.path:
            raise ConfigError("cross_encoder.path = '' names no folder", "give one with model.onnx and tokenizer.json")

    def prepare(self) -> None:
        """Load the model."""
        with contextlib.suppress(AssayError):  # `apply` reports it and goes on without the model
            load_pair_reader(self.path, self.sha256, self.max_tokens)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking):
            return ranking
        if not query.text.strip():
            return ranking.noted(Note("skipped", "cross_encoder reads the query's text, and there is none"))
        texts = [c.indexed_text if c else "" for c in chunks_of(top(ranking, self.pool), snapshot)]
        read = np.array([place for place, text in enumerate(texts) if text], np.intp)
        try:
            reader = load_pair_reader(self.path, self.sha256, self.max_tokens)
            model_scores = sigmoid(reader.logits(query.text, [texts[place] for place in read]))
        except AssayError as error:
            return ranking.noted(Note("degraded", f"cross_encoder did not run: {error.message}", cure=error.cure))
        keep = np.full(len(ranking), self.unread)
        keep[read] = 1.0 - self.weight
        added = np.zeros(len(ranking))
        added[read] = self.weight * model_scores
        blended = ranking.scored(Part("cross_encoder.keep", "mul", keep), Part("cross_encoder", "add", added)).clamped()
        return arrange(blended)

    def gives(self, scores: Range) -> Range:
        require_unit("cross_encoder", scores)
        lowest = min(1.0 - self.weight, self.unread) * scores.lo
        return Range("unit", lowest, max((1.0 - self.weight) * scores.hi + self.weight, self.unread * scores.hi))
