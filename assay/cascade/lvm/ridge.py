"""The default next-vector model: a ridge regression of the step on the current vector and its context.

    f = (x, e)                          x the current vector, e the weighted context (`windows.weighted_context`)
    Δ̂ = W f                             W = argmin Σ ‖y − x − W f‖² + α ‖W‖²  =  (Σ Δ fᵀ)(Σ f fᵀ + α I)⁻¹

In closed form: no seed, no epochs, seconds for ten thousand windows. α is the candidate with the best mean reciprocal
rank on the held-out windows; then the best mean cosine, then the larger α.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.cascade.lvm.model import NextVectorModel, write_manifest
from assay.cascade.lvm.rank import last_windows, reciprocal_rank
from assay.cascade.lvm.windows import Windows, weighted_context
from assay.errors import ModelError
from assay.types import Floats, Vectors
from assay.util.atomic_files import atomic_writer

ALPHAS = (0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 10_000.0)
DECAY = 0.5
_FILE = "ridge.npy"


class Ridge:
    """W [D, 2D] and the decay of the context."""

    def __init__(self, weights: Vectors, decay: float) -> None:
        self.weights = weights
        self.decay = decay

    def steps(self, current: Vectors, context: Vectors) -> Vectors:
        # vecdot adds each row by itself; a matrix product may split its sums by the number of threads.
        steps: Vectors = np.vecdot(self.weights, features(current, context, self.decay)[:, None, :])
        return steps


def features(current: Vectors, context: Vectors, decay: float) -> Vectors:
    return np.concatenate([current, weighted_context(current, context, decay)], axis=1)


def solve(gram: Floats, cross: Floats, alpha: float) -> Vectors:
    """W for one α, from Σ f fᵀ [F, F] and Σ f Δᵀ [F, D]."""
    return np.ascontiguousarray(np.linalg.solve(gram + alpha * np.eye(len(gram)), cross).T, np.float32)


def fit_ridge(
    train: Iterable[Windows], kept_back: Iterable[Windows], decay: float = DECAY, alphas: Sequence[float] = ALPHAS
) -> tuple[Ridge, dict[str, float]]:
    """The ridge with the best α, and the mean reciprocal rank of each α on the held-out windows."""
    gram: Floats | None = None
    for windows in train:
        f = features(windows.current, windows.context, decay).astype(np.float64)
        step = windows.following.astype(np.float64) - windows.current
        if gram is None:
            gram, cross = np.zeros((f.shape[1],) * 2), np.zeros((f.shape[1], step.shape[1]))
        gram += f.T @ f
        cross += f.T @ step
    if gram is None:
        raise ModelError("there are no windows to learn from", "give sequences with a training half")
    held_out_windows = last_windows(kept_back)
    scores: dict[str, float] = {}
    best, best_ridge = (-1.0, -1.0), Ridge(solve(gram, cross, alphas[-1]), decay)
    for alpha in alphas:
        candidate = Ridge(solve(gram, cross, alpha), decay)
        score = reciprocal_rank(held_out_windows, candidate.steps(held_out_windows.current, held_out_windows.context))
        scores[f"{alpha:g}"] = score[0]
        if score >= best:
            best, best_ridge = score, candidate
    return best_ridge, scores


def save_ridge(folder: Path, ridge: Ridge, context: int, training: Mapping[str, Any]) -> NextVectorModel:
    """Write the model's folder and open it; `training` goes into its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_writer(folder / _FILE) as file:
        np.lib.format.write_array(file, ridge.weights, allow_pickle=False)
    dim = ridge.weights.shape[0]
    facts = {"kind": "ridge", "dim": dim, "context": context, "decay": ridge.decay}
    return write_manifest(folder, {"name": f"ridge_{dim}_ctx{context}", **facts, **training}, (_FILE,))


def open_ridge(folder: Path, manifest: Mapping[str, Any]) -> Ridge:
    dim = int(manifest["dim"])
    try:
        weights = np.load(folder / _FILE, allow_pickle=False)
        decay = float(manifest["decay"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder}: the ridge cannot be read: {error}", "train it anew: assay lvm train") from error
    if weights.dtype != np.float32 or weights.shape != (dim, 2 * dim) or not np.isfinite(weights).all():
        raise ModelError(f"{folder}: {_FILE} does not hold finite float32 [{dim}, {2 * dim}]", "train it anew")
    return Ridge(weights, decay)
