"""A cross-encoder reads query and text together."""

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
from assay.rerank.pairs import load_pairs
from assay.types import Floats, Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """Blends a local cross-encoder's judgement into the first `pool` candidates; 002's blend.

        read      score = weight · sigmoid(logit) + (1 − weight) · score
        not read  score = unread · score                   (outside the pool, or without text)

    `path` is a folder with model.onnx and tokenizer.json; `sha256`, if given, pins the weights, so that the
    pipeline's digest covers them too. Pairs are cut at `max_tokens`. A model that is missing or cannot read
    leaves the ranking as it is, on the record; so does a query without text. Needs and gives unit scores.
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
        with contextlib.suppress(AssayError):  # a question will say it, and go on without
            load_pairs(self.path, self.sha256, self.max_tokens)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking):
            return ranking
        if not query.text.strip():
            return ranking.noted(Note("skipped", "cross_encoder reads the query's text, and there is none"))
        texts = [c.indexed_text if c else "" for c in chunks_of(top(ranking, self.pool), snapshot)]
        read = np.array([place for place, text in enumerate(texts) if text], np.intp)
        try:
            reader = load_pairs(self.path, self.sha256, self.max_tokens)
            judged = _sigmoid(reader.logits(query.text, [texts[place] for place in read]))
        except AssayError as error:
            return ranking.noted(Note("degraded", f"cross_encoder did not run: {error.message}; cure: {error.cure}"))
        keep = np.full(len(ranking), self.unread)
        keep[read] = 1.0 - self.weight
        judgement = np.zeros(len(ranking))
        judgement[read] = self.weight * judged
        blended = ranking.scored(
            Part("cross_encoder.keep", "mul", keep), Part("cross_encoder", "add", judgement)
        ).clamped()
        return arrange(blended)

    def gives(self, given: Range) -> Range:
        require_unit("cross_encoder", given)
        lowest = min(1.0 - self.weight, self.unread) * given.lo
        return Range("unit", lowest, max((1.0 - self.weight) * given.hi + self.weight, self.unread * given.hi))


def _sigmoid(logits: Floats) -> Floats:
    """1 / (1 + exp(−x)), without overflow at either end."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))
