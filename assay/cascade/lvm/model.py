"""The interface of next-vector models: vectors of length one in, a vector of length one out, as in training.

A model is a folder: `lvm.json` records its kind, training and normalisation; its weights are in files beside it. A
`StepModel` predicts the step Δ̂; this module adds the rest:

    ŷ = (x + Δ̂) / ‖x + Δ̂‖          x and every context vector of length one, asserted at each call

The bare Δ̂ is no point of the bank, so it is never returned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from assay.errors import ModelError, QueryError, nearest
from assay.types import Vector, Vectors
from assay.util.atomic_files import write_text

MANIFEST = "lvm.json"
NORMALISATION: Mapping[str, Any] = MappingProxyType({"input": "l2", "output": "l2(x + delta)"})
TOLERANCE = 1e-3
KINDS: Mapping[str, str] = MappingProxyType(
    {"ridge": "assay.cascade.lvm.ridge:open_ridge", "onnx": "assay.cascade.lvm.onnx:open_onnx"}
)


class StepModel(Protocol):
    """Steps Δ̂ [n, D] for current vectors [n, D] and their context [n, C, D], zero where there is none."""

    def steps(self, current: Vectors, context: Vectors) -> Vectors: ...


class NextVectorModel:
    """A model behind its normalisation. `context` is how many vectors before the current one it reads at most."""

    def __init__(self, steps: StepModel, manifest: Mapping[str, Any]) -> None:
        self._steps = steps
        self.manifest = manifest
        self.name = str(manifest["name"])
        self.dim = int(manifest["dim"])
        self.context = int(manifest["context"])
        if dict(manifest["normalisation"]) != dict(NORMALISATION):
            raise ModelError(
                f"{self.name} was trained with the normalisation {dict(manifest['normalisation'])}, "
                f"not {dict(NORMALISATION)}",
                "train it on vectors of length one: assay lvm train",
            )

    @property
    def digest(self) -> str:
        """Identifies the numbers and how they are used."""
        return hashlib.sha256(json.dumps(dict(self.manifest), sort_keys=True).encode()).hexdigest()

    def predict(self, current: Vector, context: Vectors) -> Vector:
        """ŷ for one current vector; of a longer context the newest are read."""
        one: Vector = self.predict_all(current[None, :], context[None, :])[0]
        return one

    def predict_all(self, current: Vectors, context: Vectors) -> Vectors:
        """ŷ [n, D] for windows; a context that is short or absent is filled with zero rows at its old end."""
        self._check(current, "the current vector")
        newest = context[:, max(0, context.shape[1] - self.context) :]
        self._check(newest.reshape(-1, newest.shape[-1]) if newest.size else current, "a context vector", or_zero=True)
        padded = np.zeros((len(current), self.context, self.dim), np.float32)
        if newest.shape[1]:
            padded[:, self.context - newest.shape[1] :] = newest
        moved = current.astype(np.float64) + self._steps.steps(current, padded)
        length = np.sqrt(np.vecdot(moved, moved))[:, None]
        if not (np.isfinite(length) & (length > 0.0)).all():
            raise ModelError(f"{self.name} predicts no direction: x + Δ̂ is zero or not finite", "train it anew")
        unit: Vectors = (moved / length).astype(np.float32)
        return unit

    def _check(self, vectors: Vectors, what: str, or_zero: bool = False) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self.dim:
            raise QueryError(f"{what} has shape {vectors.shape[1:]}, {self.name} was trained on {self.dim} numbers")
        wide = vectors.astype(np.float64)
        length = np.sqrt(np.vecdot(wide, wide))
        good = np.abs(length - 1.0) <= TOLERANCE
        if or_zero:
            good |= length == 0.0
        if not good.all():
            raise QueryError(
                f"{what} has length {length[~good][0]:.4f}; {self.name} was trained on vectors of length 1",
                "divide it by its length",
            )


def open_model(folder: str | Path) -> NextVectorModel:
    """The model in a folder, its files checked against their hashes."""
    path = Path(folder)
    try:
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
        kind, files = str(manifest["kind"]), dict(manifest["files"])
        str(manifest["name"]), dict(manifest["normalisation"])
        if int(manifest["dim"]) < 1 or int(manifest["context"]) < 0:
            raise ValueError(f"{manifest['context']} vectors of {manifest['dim']} numbers")
        dict(manifest.get("training", {}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        cure = "train one: assay lvm train; or adopt an ONNX file: assay lvm adopt"
        raise ModelError(f"{path} holds no next-vector model: {error}", cure) from error
    if kind not in KINDS:
        raise ModelError(f"{path}: there is no kind of next-vector model {kind!r}", nearest(kind, KINDS))
    for name, digest in files.items():
        if Path(name).name != name or _sha256(path / name) != digest:
            raise ModelError(f"{path}: {name} is not the file that its manifest names", "train or copy it again")
    module, _, attribute = KINDS[kind].partition(":")
    open_steps: Callable[[Path, Mapping[str, Any]], StepModel] = getattr(import_module(module), attribute)
    return NextVectorModel(open_steps(path, manifest), manifest)


def write_manifest(folder: Path, facts: Mapping[str, Any], files: tuple[str, ...]) -> NextVectorModel:
    """Write the manifest of a model: its facts, its normalisation and the hashes of its files; then open it."""
    manifest = {
        **facts,
        "normalisation": dict(NORMALISATION),
        "files": {name: _sha256(folder / name) for name in files},
    }
    write_text(folder / MANIFEST, json.dumps(manifest, sort_keys=True, indent=1) + "\n")
    return open_model(folder)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
