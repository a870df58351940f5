"""A small recurrent next-vector model: trained in torch, written as ONNX, run without torch.

    h = GRU(context, x), oldest first        Δ̂ = V tanh(h) + b

The loss is the cross entropy of softmax(cos(ŷ, ·) / τ) over the next vectors of the batch. Context is dropped from a
quarter of the windows, so that the network also learns from x alone. One thread and a seed: the same windows give the
same network on the same machine and versions. The epoch with the best reciprocal rank on the held-out windows is kept;
the initial network predicts no step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.cascade.lvm.model import NextVectorModel, write_manifest
from assay.cascade.lvm.onnx import FILE
from assay.cascade.lvm.rank import last_windows, reciprocal_rank
from assay.cascade.lvm.windows import Windows
from assay.errors import MissingExtra
from assay.types import Vectors
from assay.util.atomic_files import atomic_writer

HIDDEN = 128
EPOCHS = 12
_BATCH = 128
_RATE = 2e-3
_ALONE = 0.25
_TAU = 0.05
_OPSET = 17

Weights = Mapping[str, Vectors]
Curve = list[tuple[float, float]]


def fit_recurrent(
    train: Windows,
    held_out: Windows,
    *,
    hidden: int = HIDDEN,
    epochs: int = EPOCHS,
    seed: int = 1,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> tuple[Weights, Curve]:
    """The network's weights as arrays, and its (reciprocal rank, cosine) on `held` before and after each epoch."""
    torch = _import_torch()
    torch.manual_seed(seed)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _fit(torch, train, held_out, hidden, epochs, np.random.default_rng(seed), progress)
    finally:
        torch.set_num_threads(before)


def _import_torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtra("training a recurrent next-vector model", "lvm") from error
    return torch


def _fit(
    torch: Any,
    train: Windows,
    held_out: Windows,
    hidden: int,
    epochs: int,
    rng: np.random.Generator,
    progress: Callable[[str, int, int], None],
) -> tuple[Weights, Curve]:
    dim = train.current.shape[1]
    gru, out = torch.nn.GRU(dim, hidden, batch_first=True), torch.nn.Linear(hidden, dim)
    torch.nn.init.zeros_(out.weight)  # the initial prediction is no step
    torch.nn.init.zeros_(out.bias)
    parameters = [*gru.parameters(), *out.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=_RATE)
    decisive = last_windows([held_out])

    def steps(current: Vectors, context: Vectors) -> Any:
        sequence = np.concatenate([context, current[:, None]], axis=1)
        return out(torch.tanh(gru(torch.from_numpy(sequence))[0][:, -1]))

    def measure() -> tuple[float, float]:
        with torch.no_grad():
            return reciprocal_rank(decisive, steps(decisive.current, decisive.context).numpy())

    best, best_weights = measure(), _copy_weights(gru, out)
    curve = [best]
    for epoch in range(epochs):
        order = rng.permutation(len(train))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            context = train.context[batch] * (rng.random(len(batch)) >= _ALONE)[:, None, None].astype(np.float32)
            moved = torch.from_numpy(train.current[batch]) + steps(train.current[batch], context)
            cosines = torch.nn.functional.normalize(moved) @ torch.from_numpy(train.following[batch]).T
            loss = torch.nn.functional.cross_entropy(cosines / _TAU, torch.arange(len(batch)))
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
        curve.append(measure())
        if curve[-1] > best:
            best, best_weights = curve[-1], _copy_weights(gru, out)
        progress("training", epoch + 1, epochs)
    return best_weights, curve


def _copy_weights(gru: Any, out: Any) -> dict[str, Vectors]:
    """A copy of the weights, gates in ONNX's order (update, reset, new) instead of torch's (reset, update, new)."""

    def gates(name: str) -> Vectors:
        reset, update, new = np.split(getattr(gru, name).detach().numpy().copy(), 3)
        return np.concatenate([update, reset, new])

    return {
        "W": gates("weight_ih_l0")[None],
        "R": gates("weight_hh_l0")[None],
        "B": np.concatenate([gates("bias_ih_l0"), gates("bias_hh_l0")])[None],
        "V": out.weight.detach().numpy().T.copy(),
        "b": out.bias.detach().numpy().copy(),
    }


def save_recurrent(folder: Path, weights: Weights, context: int, training: Mapping[str, Any]) -> NextVectorModel:
    """Write the network as ONNX with its manifest, and open it."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_writer(folder / FILE) as file:
        file.write(to_onnx(weights, context))
    dim = int(weights["W"].shape[2])
    facts = {"name": f"gru_{dim}_ctx{context}", "kind": "onnx", "dim": dim, "context": context}
    return write_manifest(folder, {**facts, **training}, (FILE,))


def to_onnx(weights: Weights, context: int) -> bytes:
    """The network as an ONNX file's bytes: inputs current and context, output delta."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ModuleNotFoundError as error:
        raise MissingExtra("writing a next-vector model as ONNX", "lvm") from error
    _, gates, dim = weights["W"].shape
    axis = numpy_helper.from_array(np.array([1], np.int64), "axis")
    nodes = [
        helper.make_node("Unsqueeze", ["current", "axis"], ["last"]),
        helper.make_node("Concat", ["context", "last"], ["seen"], axis=1),
        helper.make_node("Transpose", ["seen"], ["steps"], perm=[1, 0, 2]),
        helper.make_node("GRU", ["steps", "W", "R", "B"], ["", "state"], hidden_size=gates // 3, linear_before_reset=1),
        helper.make_node("Squeeze", ["state", "first"], ["flat"]),
        helper.make_node("Tanh", ["flat"], ["bent"]),
        helper.make_node("MatMul", ["bent", "V"], ["moved"]),
        helper.make_node("Add", ["moved", "b"], ["delta"]),
    ]
    initialisers = [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in weights.items()]
    initialisers += [axis, numpy_helper.from_array(np.array([0], np.int64), "first")]
    inputs = [
        helper.make_tensor_value_info("current", TensorProto.FLOAT, ["n", dim]),
        helper.make_tensor_value_info("context", TensorProto.FLOAT, ["n", context, dim]),
    ]
    outputs = [helper.make_tensor_value_info("delta", TensorProto.FLOAT, ["n", dim])]
    graph = helper.make_graph(nodes, "next_vector", inputs, outputs, initialisers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    raw: bytes = model.SerializeToString(deterministic=True)
    return raw
