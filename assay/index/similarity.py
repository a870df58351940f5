"""BM25: the formula and its two parameters, which every backend shares.

    score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))       idf(t) = ln(1 + (N − df + ½) / (df + ½))

k1 says how much a repeated word counts (0: not at all), b how much a chunk's length is held against it (0: not at all).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import ConfigError
from assay.types import Floats

K1, B = 1.2, 0.75
MOST_K1 = 1_000.0
_DIGITS = 6
"""Decimals of k1 and b: a database must be able to multiply them without underflow."""


@dataclass(frozen=True, slots=True)
class Bm25Similarity:
    """k1 and b of a store. ConfigError for values with which BM25 has no meaning."""

    k1: float = K1
    b: float = B

    def __post_init__(self) -> None:
        for name, value, most in (("k1", self.k1, MOST_K1), ("b", self.b, 1.0)):
            if not _is_number(value) or not 0.0 <= value <= most or round(value, _DIGITS) != value:
                raise ConfigError(
                    f"{name} = {value!r} is no parameter of BM25",
                    f"give a number from 0 to {most:g} with at most {_DIGITS} decimals, or leave {name} out",
                )
            object.__setattr__(self, name, float(value))

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Bm25Similarity:
        """The parameters that a store was made with."""
        return cls(settings.get("k1", K1), settings.get("b", B))

    @property
    def settings(self) -> dict[str, float]:
        """What a store remembers: only what differs from 1.2 and 0.75."""
        return {name: value for name, value, usual in (("k1", self.k1, K1), ("b", self.b, B)) if value != usual}

    @property
    def digest_suffix(self) -> str:
        """What a snapshot's digest covers of the parameters; "" for 1.2 and 0.75."""
        return "".join(f"|{name}={value!r}" for name, value in self.settings.items())

    @property
    def largest_gain(self) -> float:
        """k1 + 1: no term multiplies its idf by more."""
        return self.k1 + 1.0

    def ideal(self, weights: Floats) -> float:
        """The score of a chunk with every term at its best: Σ idf·(k1+1). No rounding lifts a score above it."""
        best = float(weights.sum() * self.largest_gain)
        return best * (1.0 + 1e-12) if self.settings else best

    @property
    def may_be_undamped(self) -> bool:
        """Can the damping of a row be 0? Then a term that it does not hold must not be divided by it."""
        return self.k1 == 0.0 or self.b == 1.0

    def damping(self, lengths: Floats, average: float) -> Floats:
        """k1·(1 − b + b·dl/avgdl): how much a row's length holds its counts down."""
        return self.k1 * (1.0 - self.b + self.b * lengths / average)

    def saturation(self, counts: Floats, damped: Floats) -> Floats:
        """tf·(k1+1) / (tf + damping), in [0, k1+1]; 0 where tf is 0."""
        gains = counts * (self.k1 + 1.0)
        if not self.may_be_undamped:
            return gains / (counts + damped)
        return np.divide(gains, counts + damped, out=np.zeros_like(gains), where=counts > 0.0)


def idf(holding: Floats, size: float) -> Floats:
    """ln(1 + (N − df + ½) / (df + ½)): Lucene's form, never negative."""
    return np.log(1.0 + (size - holding + 0.5) / (holding + 0.5))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
