"""Writes a BERT sentence encoder as an ONNX graph from its safetensors: `ids [t] → hidden [t, d]`.

    x  = norm(word[ids] + position[0:t] + type[0])
    each layer:  q, k, v = x·Wqkv + b, split into heads of 32
                 x = norm(x + softmax(q·kᵀ / √32)·v·Wo + bo)
                 x = norm(x + gelu(x·Wi + bi)·Wd + bd)          gelu(z) = z · (1 + erf(z/√2)) / 2

The graph takes one text and has no batch axis: dynamic quantisation takes one range per call, so in a
batch other texts would change a text's vector (law 5). Without padding there is nothing to mask.

Quantised (`int8=True`): weights per output channel, symmetric, in 7 bits (w ≈ q·s, s = max|w| / 64), so that the
sums of AVX2 never saturate; activations in 8 bits per call; the word table per row in 8 bits. The nodes are those
that onnxruntime's optimiser would arrive at, minus the fusions that are slower, and the graph is run as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.embed.onnx_proto import Array, write_model, write_node, write_tensor, write_value_info
from assay.embed.outliers import Outliers

HEAD = 32  # width of one attention head
EPSILON = 1e-12  # of the layer norm
OPSET, IR_VERSION = 20, 9  # the first opset with Gelu; onnxruntime ≥ 1.17
CONTRIB = "com.microsoft"
FLOAT_TYPE = 1  # ONNX's number of float32
NO_OUTLIERS: Outliers = MappingProxyType({})


def write_graph(
    weights: Mapping[str, Array], max_tokens: int, *, int8: bool, outliers: Outliers = NO_OUTLIERS
) -> bytes:
    """Return the serialised ONNX model. The same weights give the same bytes, on every machine.

    `outliers` are channels to scale down before quantisation (see outliers.py); the float32 graph needs none.
    """
    graph = GraphBuilder(weights, int8, outliers)
    hidden = len(weights["embeddings.LayerNorm.weight"])
    graph.shapes(hidden)

    x = _embeddings(graph, max_tokens)
    x = add_layers(graph, x, range(sum(name.endswith(".attention.self.query.weight") for name in weights)))
    graph.node("Identity", [x], "hidden")
    return graph.model(
        "sentence encoder",
        [write_value_info("ids", "<i8", ["t"])],
        [write_value_info("hidden", "<f4", ["t", hidden])],
    )


def add_layers(graph: GraphBuilder, x: str, layers: Iterable[int], mask: str = "") -> str:
    """Add transformer layers after x [t, d]; `mask` [t, t], if given, is added to the logits of attention. The graph
    needs the constants `heads` and `joined`."""
    for layer in layers:
        at = f"encoder.layer.{layer}"
        attended = _attention(graph, x, f"{at}.attention.self", mask)
        x = _add_norm(graph, x, graph.dense(attended, f"{at}.attention.output"))
        wide = graph.node("Gelu", [graph.dense(x, f"{at}.intermediate")], f"{at}.gelu")
        x = _add_norm(graph, x, graph.dense(wide, f"{at}.output"))
    return x


def _embeddings(graph: GraphBuilder, max_tokens: int) -> str:
    place = graph.weights["embeddings.position_embeddings.weight"][:max_tokens]
    place = place + graph.weights["embeddings.token_type_embeddings.weight"][0]
    start = graph.constant("start", np.array([0], np.int64))
    end = graph.node("Shape", ["ids"], "end")
    places = graph.node("Slice", [graph.constant("place", place), start, end, start], "places")
    words = graph.rows(graph.weights["embeddings.word_embeddings.weight"], "ids", "words")
    return graph.norm(graph.node("Add", [words, places], "embeddings.sum"), "embeddings.LayerNorm")


def _attention(graph: GraphBuilder, x: str, at: str, mask: str) -> str:
    three = ("query", "key", "value")
    weight = np.concatenate([graph.weights[f"{at}.{part}.weight"].T for part in three], axis=1)
    bias = np.concatenate([graph.weights[f"{at}.{part}.bias"] for part in three])
    split = graph.split(graph.linear(x, f"{at}.qkv", weight, bias), [f"{at}.{part}" for part in three])
    query, key, value = (graph.node("Reshape", [part, "heads"], f"{part}.heads") for part in split)  # [t, heads, 32]
    # transBatch reads [t, heads, 32] as [heads, t, 32] without moving it.
    turned = {"transB": 1, "transBatchA": 1, "transBatchB": 1}
    logits = graph.node("FusedMatMul", [query, key], f"{at}.logits", domain=CONTRIB, alpha=HEAD**-0.5, **turned)
    logits = graph.node("Add", [logits, mask], f"{at}.masked") if mask else logits
    shares = graph.node("Softmax", [logits], f"{at}.shares", axis=-1)
    mixed = graph.node("FusedMatMul", [shares, value], f"{at}.mixed", domain=CONTRIB, transBatchB=1)
    back = graph.node("Transpose", [mixed], f"{at}.back", perm=[1, 0, 2])
    return graph.node("Reshape", [back, "joined"], f"{at}.out")


def _add_norm(graph: GraphBuilder, x: str, change: str) -> str:
    at = change.removesuffix(".dense")
    return graph.norm(graph.node("Add", [change, x], f"{at}.sum"), f"{at}.LayerNorm")


class GraphBuilder:
    """Collects nodes and constants in order; `linear` and `rows` quantise."""

    def __init__(self, weights: Mapping[str, Array], int8: bool, outliers: Outliers) -> None:
        self.weights, self.int8, self.outliers = weights, int8, outliers
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def shapes(self, hidden: int) -> None:
        """Add the shapes that attention reads: of the heads, and of the heads joined."""
        self.constant("heads", np.array([0, hidden // HEAD, HEAD], np.int64))
        self.constant("joined", np.array([0, hidden], np.int64))

    def constant(self, name: str, value: Array) -> str:
        self.constants.append(write_tensor(name, value))
        return name

    def node(self, op: str, inputs: list[str], name: str, *, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output, which has the node's name."""
        self.nodes.append(write_node(op, inputs, [name], name, domain, attributes))
        return name

    def split(self, x: str, parts: list[str]) -> list[str]:
        """Split x into equal parts along its last axis."""
        attributes = {"axis": -1, "num_outputs": len(parts)}
        self.nodes.append(write_node("Split", [x], parts, f"{x}.split", None, attributes))
        return parts

    def linear(self, x: str, name: str, weight: Array, bias: Array) -> str:
        """x·W + b, with W as [in, out]."""
        shift = self.constant(f"{name}.bias", bias)
        if not self.int8:
            return self.node("Gemm", [x, self.constant(f"{name}.weight", weight), shift], name)
        if divisors := self.outliers.get(name):
            divisor = np.ones(len(weight), np.float32)
            divisor[list(divisors)] = list(divisors.values())
            x = self.node("Div", [x, self.constant(f"{name}.divisor", divisor)], f"{name}.quieter")
            weight = weight * divisor[:, np.newaxis]
        quantised, scale = quantise(weight, 64, axis=0)
        inputs = [x, self.constant(f"{name}.weight", quantised), self.constant(f"{name}.scale", scale[0]), "", shift]
        return self.node("DynamicQuantizeMatMul", inputs, name, domain=CONTRIB)

    def dense(self, x: str, at: str) -> str:
        return self.linear(x, f"{at}.dense", self.weights[f"{at}.dense.weight"].T, self.weights[f"{at}.dense.bias"])

    def norm(self, x: str, at: str) -> str:
        scale = self.constant(f"{at}.weight", self.weights[f"{at}.weight"])
        shift = self.constant(f"{at}.bias", self.weights[f"{at}.bias"])
        return self.node("LayerNormalization", [x, scale, shift], at, axis=-1, epsilon=EPSILON)

    def rows(self, table: Array, ids: str, name: str) -> str:
        """table[ids]."""
        if not self.int8:
            return self.node("Gather", [self.constant(f"{name}.table", table), ids], name)
        quantised, scale = quantise(table, 127, axis=1)
        small = self.node("Gather", [self.constant(f"{name}.table", quantised), ids], f"{name}.small")
        scales = self.node("Gather", [self.constant(f"{name}.scale", scale), ids], f"{name}.scales")
        plain = self.node("Cast", [small], f"{name}.plain", to=FLOAT_TYPE)
        return self.node("Mul", [plain, scales], name)

    def model(self, name: str, inputs: list[bytes], outputs: list[bytes]) -> bytes:
        """Serialise the graph: the same nodes and constants give the same bytes."""
        return write_model(
            name,
            self.nodes,
            self.constants,
            inputs,
            outputs,
            opsets={"": OPSET, CONTRIB: 1},
            ir_version=IR_VERSION,
            producer="assay",
        )


def quantise(table: Array, levels: int, axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return integers in ±levels and the scale of each channel: table ≈ integers · scale, |error| ≤ scale / 2."""
    largest = np.abs(table).max(axis=axis, keepdims=True)
    smallest = np.finfo(np.float32).tiny  # so that no scale is zero, whatever the channel
    scale = np.maximum(largest / levels, smallest).astype(np.float32)
    return np.clip(np.rint(table / scale), -levels, levels).astype(np.int8), scale
