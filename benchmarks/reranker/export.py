"""Writes the trained cross-encoder as an int8 ONNX graph with its tokenizer, for the step cross_encoder.

One pass over both texts: the lower layers mask attention between query and passage and positions start anew in the
passage, so every token has the state it had in training. The recipe of quantisation is that of the embedder
(assay/embed/onnx_graph.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.embed.onnx_graph import FLOAT_TYPE, NO_OUTLIERS, GraphBuilder, add_layers
from assay.embed.onnx_proto import write_value_info
from assay.embed.outliers import MINILM
from assay.errors import MissingExtra
from assay.text.wordpiece import CLS, SEP
from assay.util.atomic_files import atomic_path

FAR = -10_000.0  # added to logits that must not count
NAME = "assay-mini-ce"
POSITIONS = 256  # of each text; the installed encoder has as many


def write_cross_encoder(
    weights: Mapping[str, Any], head: Mapping[str, np.ndarray], lower: int, layers: int, *, int8: bool = True
) -> bytes:
    """Return the serialised graph `input_ids, token_type_ids [1, t] → logit [1]`.

    `weights` are those of the encoder with the trained layers in place; `head` holds segment, product, likeness,
    attend, first, and the calibration scale and shift.
    """
    graph = GraphBuilder(weights, int8, MINILM if int8 else NO_OUTLIERS)
    width = len(weights["embeddings.LayerNorm.weight"])
    graph.shapes(width)
    _add_inputs(graph)
    x = add_layers(graph, _add_embeddings(graph), range(lower), "apart")
    segment = graph.node("Mul", ["passage.column", graph.constant("segment", head["segment"])], "segment.rows")
    x = add_layers(graph, graph.node("Add", [x, segment], "joint"), range(lower, layers))
    _add_head(graph, x, head)
    return graph.model(
        "cross-encoder",
        [write_value_info(name, "<i8", [1, "t"]) for name in ("input_ids", "token_type_ids")],
        [write_value_info("logit", "<f4", [1])],
    )


def _add_inputs(graph: GraphBuilder) -> None:
    """ids, types [t]; passage, query [t, 1] and [1, t] as 0 and 1; apart [t, t]: FAR between the texts."""
    flat = graph.constant("flat", np.array([-1], np.int64))
    graph.constant("row", np.array([1, -1], np.int64))
    graph.constant("column", np.array([-1, 1], np.int64))
    graph.node("Reshape", ["input_ids", flat], "ids")
    graph.node("Reshape", ["token_type_ids", flat], "types")
    passage = graph.node("Cast", ["types"], "passage", to=FLOAT_TYPE)
    one = graph.constant("one", np.array(1.0, np.float32))
    query = graph.node("Sub", [one, passage], "query")
    for name in (passage, query):
        graph.node("Reshape", [name, "row"], f"{name}.row")
        graph.node("Reshape", [name, "column"], f"{name}.column")
    other = graph.node("Sub", ["passage.row", "passage.column"], "other")
    graph.node("Mul", [graph.node("Abs", [other], "differ"), graph.constant("far", np.array(FAR, np.float32))], "apart")


def _add_embeddings(graph: GraphBuilder) -> str:
    """norm(word + position + type 0); a position counts from the start of its text."""
    table = graph.weights["embeddings.position_embeddings.weight"][:POSITIONS]
    table = table + graph.weights["embeddings.token_type_embeddings.weight"][0]
    zero, step = graph.constant("zero", np.array(0, np.int64)), graph.constant("step", np.array(1, np.int64))
    size = graph.node("Squeeze", [graph.node("Shape", ["ids"], "shape")], "size")
    places = graph.node("Range", [zero, size, step], "places")
    total = graph.node("ReduceSum", ["types"], "passage.size", keepdims=0)
    start = graph.node("Sub", [size, total], "passage.start")
    own = graph.node("Sub", [places, graph.node("Mul", ["types", start], "shift")], "own.places")
    positions = graph.node("Gather", [graph.constant("place", table.astype(np.float32)), own], "positions")
    words = graph.rows(graph.weights["embeddings.word_embeddings.weight"], "ids", "words")
    return graph.norm(graph.node("Add", [words, positions], "embeddings.sum"), "embeddings.LayerNorm")


def _add_head(graph: GraphBuilder, x: str, head: Mapping[str, np.ndarray]) -> None:
    unit = graph.node("LpNormalization", [x], "unit", axis=-1, p=2)
    # The length of a mean does not matter after normalisation, so a sum will do.
    sums = [graph.node("MatMul", [f"{name}.row", x], f"{name}.sum") for name in ("query", "passage")]
    means = [graph.node("LpNormalization", [name], f"{name}.unit", axis=-1, p=2) for name in sums]
    product = graph.node("Mul", means, "product")
    by_mean = graph.node("MatMul", [product, graph.constant("head.product", head["product"][:, None])], "by.mean")
    turned = graph.node("Transpose", [unit], "unit.turned", perm=[1, 0])
    cosines = graph.node("MatMul", [unit, turned], "cosines")
    hidden = graph.node("Mul", ["query.row", graph.constant("below", np.array(-4.0, np.float32))], "hidden.columns")
    seen = graph.node("Add", [cosines, hidden], "cosines.seen")
    best = graph.node("ReduceMax", [seen, graph.constant("last", np.array([1], np.int64))], "best", keepdims=1)
    attend = graph.node("MatMul", [x, graph.constant("head.attend", head["attend"][:, None])], "attend")
    only = graph.node("Mul", ["passage.column", "far"], "only.query")
    shares = graph.node("Softmax", [graph.node("Add", [attend, only], "attend.query")], "shares", axis=0)
    weighted = graph.node("ReduceSum", [graph.node("Mul", [shares, best], "shared")], "by.token", keepdims=0)
    scaled = graph.node("Mul", [weighted, graph.constant("head.likeness", head["likeness"])], "by.token.scaled")
    first = graph.node("Gather", [x, graph.constant("start", np.array([0], np.int64))], "first")
    by_first = graph.node("MatMul", [first, graph.constant("head.first", head["first"][:, None])], "by.first")
    raw = graph.node("Sum", [by_mean, scaled, by_first], "raw")
    stretched = graph.node("Mul", [raw, graph.constant("head.scale", head["scale"])], "stretched")
    shifted = graph.node("Add", [stretched, graph.constant("head.shift", head["shift"])], "shifted")
    graph.node("Reshape", [shifted, "flat"], "logit")


def write_tokenizer() -> str:
    """Return tokenizer.json: WordPiece of the encoder; each text of a pair gets its own [CLS] and [SEP]."""
    try:
        from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    except ImportError as error:
        raise MissingExtra("writing the tokenizer", "onnx") from error
    from assay.text.wordpiece import read_vocabulary

    tokenizer = Tokenizer(models.WordPiece(read_vocabulary(), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])  # read as the reference reads them
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] [CLS]:1 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )
    text: str = tokenizer.to_str()
    return text


def write_folder(folder: Path, model: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write model.onnx, tokenizer.json and about.json; return sizes and hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"model.onnx": model, "tokenizer.json": write_tokenizer().encode()}
    for name, content in files.items():
        with atomic_path(folder / name) as target:
            Path(target).write_bytes(content)
    sizes = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    }
    with atomic_path(folder / "about.json") as target:
        Path(target).write_text(json.dumps({**facts, "files": sizes}, indent=1, sort_keys=True) + "\n", "utf-8")
    return sizes
