"""Normalises vectors to unit length, and computes the digest of what determines them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.types import Vectors


def normalise_rows(rows: NDArray[np.floating[Any]], model: str) -> Vectors:
    """Divide rows by their length in float64, then cast: v / √(v·v). ModelError when a row is zero or not finite.

    Rows are divided by their largest component first, so that no square overflows or vanishes.
    """
    wide = rows.astype(np.float64)
    if wide.shape[-1] == 0:
        raise ModelError(f"{model} gave vectors of length 0", "check that the model is a sentence encoder")
    largest = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    if not (np.isfinite(largest) & (largest > 0)).all():
        raise ModelError(
            f"{model} gave a vector that is zero or not finite", "check the model's files, or choose another model"
        )
    wide /= largest
    wide /= np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    return wide.astype(np.float32)


def compute_digest(facts: Mapping[str, object]) -> str:
    """Return 32 hex digits over the canonical JSON of what decides a vector: weights, pooling, prefixes."""
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:32]
