"""What every embedder promises about its vectors: unit length, finite, float32, and a name for what made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.types import Vectors


def unit(rows: NDArray[np.floating[Any]], maker: str) -> Vectors:
    """Rows divided by their length, in float64, then cast: v / √(v·v). Raises when a row has no direction.

    The largest component is taken out first, so that no square overflows or vanishes.
    """
    wide = rows.astype(np.float64)
    if wide.shape[-1] == 0:
        raise ModelError(f"{maker} gave vectors of length 0", "check that the model is a sentence encoder")
    largest = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    if not (np.isfinite(largest) & (largest > 0)).all():
        raise ModelError(
            f"{maker} gave a vector that is zero or not finite", "check the model's files, or choose another model"
        )
    wide /= largest
    wide /= np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    return wide.astype(np.float32)


def digest_of(facts: Mapping[str, object]) -> str:
    """32 hex digits over the canonical JSON of what decides a vector: weights, tokeniser, pooling, prefixes."""
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:32]
