"""A BERT encoder in plain float64 numpy, written from the paper: the oracle for the ONNX graphs."""

from __future__ import annotations

import json
import math
import struct

import numpy as np

HEAD = 32
erf = np.vectorize(math.erf)


def tiny_weights(seed: int, *, layers: int = 2, hidden: int = 64, wide: int = 160, words: int = 50) -> dict:
    """Random weights of a small encoder, under the names that safetensors files use."""
    random = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.3).astype(np.float32)

    def norm(at: str) -> dict:
        return {f"{at}.LayerNorm.weight": 1 + some(hidden), f"{at}.LayerNorm.bias": some(hidden)}

    def dense(at: str, out: int, into: int) -> dict:
        return {f"{at}.weight": some(out, into), f"{at}.bias": some(out)}

    weights = {
        "embeddings.word_embeddings.weight": some(words, hidden),
        "embeddings.position_embeddings.weight": some(24, hidden),
        "embeddings.token_type_embeddings.weight": some(2, hidden),
        **norm("embeddings"),
    }
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            weights |= dense(f"{at}.attention.self.{part}", hidden, hidden)
        weights |= dense(f"{at}.attention.output.dense", hidden, hidden) | norm(f"{at}.attention.output")
        weights |= dense(f"{at}.intermediate.dense", wide, hidden)
        weights |= dense(f"{at}.output.dense", hidden, wide) | norm(f"{at}.output")
    return weights


def forward(weights: dict, ids: list[int]) -> np.ndarray:
    """The last hidden states [t, hidden] of one text."""
    w = {name: np.asarray(value, np.float64) for name, value in weights.items() if value.dtype == np.float32}

    def norm(x: np.ndarray, at: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * w[f"{at}.LayerNorm.weight"] + w[f"{at}.LayerNorm.bias"]

    def dense(x: np.ndarray, at: str) -> np.ndarray:
        return x @ w[f"{at}.weight"].T + w[f"{at}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x + w["embeddings.position_embeddings.weight"][: len(ids)], "embeddings")
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in w:
        at = f"encoder.layer.{layer}"
        q, k, v = (dense(x, f"{at}.attention.self.{part}") for part in ("query", "key", "value"))
        mixed = np.empty_like(x)
        for start in range(0, x.shape[1], HEAD):
            head = slice(start, start + HEAD)
            logits = q[:, head] @ k[:, head].T / math.sqrt(HEAD)
            shares = np.exp(logits - logits.max(-1, keepdims=True))
            mixed[:, head] = shares / shares.sum(-1, keepdims=True) @ v[:, head]
        x = norm(x + dense(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output")
        inner = dense(x, f"{at}.intermediate.dense")
        inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
        x = norm(x + dense(inner, f"{at}.output.dense"), f"{at}.output")
        layer += 1
    return x


def as_safetensors(weights: dict) -> bytes:
    """The bytes of a safetensors file with these float32 tensors."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, value in weights.items():
        raw = value.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def as_exported_onnx(weights: dict) -> bytes:
    """The bytes of an ONNX model with these weights, as an exporter writes them: matrices turned around, as onnx::N."""
    import onnx
    from onnx import helper, numpy_helper

    constants, nodes = [], []
    for number, (name, value) in enumerate(weights.items()):
        bias = name.removesuffix("weight") + "bias"
        if value.ndim == 2 and bias in weights:
            matrix, product = f"onnx::MatMul_{number}", f"/{name}/MatMul"
            constants.append(numpy_helper.from_array(np.ascontiguousarray(value.T), matrix))
            nodes.append(helper.make_node("MatMul", ["x", matrix], [product]))
            nodes.append(helper.make_node("Add", [bias, product], [f"/{name}/Add"]))
        else:
            constants.append(numpy_helper.from_array(value, name))
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["t", 64])
    return helper.make_model(helper.make_graph(nodes, "exported", [x], [], constants)).SerializeToString()
