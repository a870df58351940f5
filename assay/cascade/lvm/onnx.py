"""Runs next-vector models in ONNX, trained here or elsewhere.

    inputs    current float32 [n, D]      context float32 [n, C, D], oldest first, zero rows where there was none
    output    delta   float32 [n, D]

It runs on one thread, so its sums have one order.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.cascade.lvm.model import NextVectorModel, write_manifest
from assay.embed.onnx_session import open_session
from assay.errors import MissingExtra, ModelError
from assay.types import Vectors
from assay.util.atomic_files import atomic_writer

FILE = "model.onnx"
_SHAPES = {"current": 2, "context": 3}
_ALONE = "train it with windows whose context is all zero rows: a request may have none"
_CURE = (
    "export it with inputs current [n, D] and context [n, C, D] and the output delta [n, D], all float32; "
    "n free, C and D fixed numbers"
)


class OnnxSteps:
    def __init__(self, session: Any) -> None:
        self._session = session

    def steps(self, current: Vectors, context: Vectors) -> Vectors:
        inputs = {"current": np.ascontiguousarray(current), "context": np.ascontiguousarray(context)}
        try:
            delta: Vectors = self._session.run(["delta"], inputs)[0]
        except Exception as error:  # onnxruntime has an exception class for each way a call can fail
            raise ModelError(f"the ONNX model cannot be run: {str(error).splitlines()[0]}", _CURE) from error
        if delta.shape != current.shape or delta.dtype != np.float32:
            raise ModelError(f"the ONNX model gives {delta.dtype} {delta.shape} for {current.shape}", _CURE)
        return delta


def open_onnx(folder: Path, manifest: Mapping[str, Any]) -> OnnxSteps:
    session = open_session(folder / FILE, "train it anew: assay lvm train --model recurrent")
    dim, context = _read_shape(session, folder / FILE)
    if (dim, context) != (int(manifest["dim"]), int(manifest["context"])):
        raise ModelError(
            f"{folder}: the model reads {context} vectors of {dim} numbers, its manifest says "
            f"{manifest['context']} of {manifest['dim']}",
            "adopt it anew: assay lvm adopt",
        )
    return _check_runs(session, dim, context)


def adopt_onnx(file: Path, folder: Path, name: str = "") -> NextVectorModel:
    """Take an ONNX file of this shape as a model: a folder with a copy and a manifest.

    Adopting a model asserts that it was trained on vectors of length one; the manifest records that.
    """
    session = open_session(file, "name an ONNX file")
    dim, context = _read_shape(session, file)
    _check_runs(session, dim, context)
    raw = _read_whole(file)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_writer(folder / FILE) as copy:
        copy.write(raw)
    facts = {"name": name or file.stem, "kind": "onnx", "dim": dim, "context": context, "training": {"by": "others"}}
    return write_manifest(folder, facts, (FILE,))


def _read_whole(file: Path) -> bytes:
    """The model with all its weights. Exporters may put weights into separate files, which the copy and its hash must
    include."""
    raw = file.read_bytes()
    with tempfile.TemporaryDirectory() as alone, contextlib.suppress(ModelError):
        place = Path(alone) / FILE
        place.write_bytes(raw)
        open_session(place, "")
        return raw
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise MissingExtra("adopting a model whose weights lie in other files", "lvm") from error
    joined: bytes = onnx.load(str(file)).SerializeToString(deterministic=True)
    return joined


def _check_runs(session: Any, dim: int, context: int) -> OnnxSteps:
    """Check that the model runs for one window without context, and for two at once."""
    steps = OnnxSteps(session)
    for count in (1, 2):
        current = np.full((count, dim), 1.0 / np.sqrt(dim), np.float32)
        if not np.isfinite(steps.steps(current, np.zeros((count, context, dim), np.float32))).all():
            raise ModelError("the ONNX model predicts no finite step for a vector without context", _ALONE)
    return steps


def _read_shape(session: Any, path: Path) -> tuple[int, int]:
    """(D, C) of a model that has the right inputs and output."""
    inputs = {one.name: one for one in session.get_inputs()}
    outputs = [one.name for one in session.get_outputs()]
    if set(inputs) != set(_SHAPES) or "delta" not in outputs:
        raise ModelError(f"{path} has the inputs {sorted(inputs)} and the outputs {sorted(outputs)}", _CURE)
    for name, dims in _SHAPES.items():
        one = inputs[name]
        fixed = [size for size in one.shape[1:] if isinstance(size, int) and size >= 0]
        if one.type != "tensor(float)" or len(one.shape) != dims or len(fixed) != dims - 1 or not fixed[-1]:
            raise ModelError(f"{path}: input {name!r} is {one.type} {one.shape}", _CURE)
    context, dim = inputs["context"].shape[1:]
    if inputs["current"].shape[1] != dim:
        raise ModelError(f"{path}: current and context have vectors of different lengths", _CURE)
    return int(dim), int(context)
