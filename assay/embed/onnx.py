"""Runs a local ONNX sentence encoder, given its folder."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.embed.encoder_folder import CURE, encoder_files, read_folder
from assay.embed.model_cache import file_state
from assay.embed.onnx_session import open_session
from assay.embed.unit_vectors import compute_digest, normalise_rows
from assay.errors import ConfigError, MissingExtra, ModelError, nearest
from assay.types import Vector, Vectors
from assay.util.thread_map import count_cores, thread_map

Array = NDArray[np.float64]

POOLERS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "cls": lambda states: states[0],
        "graph": lambda pooled: pooled,
        "mean": lambda states: np.asarray(states.mean(axis=0)),
    }
)
POOLED = "sentence_embedding"  # the name under which an exported graph gives its own pooled vector
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
WHOLE_NUMBERS: Mapping[str, type[np.integer[Any]]] = MappingProxyType(
    {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
)


@dataclass(frozen=True, slots=True)
class OnnxEmbedder:
    """Text to unit vectors: the pooled last hidden states. `mean`: over the text's tokens; `cls`: the first token's;
    `graph`: the model's own output `sentence_embedding`.

    A text, its prefix included, is truncated after `max_tokens` tokens. Every text is one call of the model, without
    padding, so its vector depends on the text alone (law 5). The digest covers the bytes of the model and of
    its tokenizer, the pooling, the length and the prefixes; never the path.
    """

    name: str
    digest: str
    dim: int
    max_tokens: int
    pooling: str
    query_prefix: str
    document_prefix: str
    workers: int
    pooled: Callable[[str], Array] = field(repr=False, compare=False)  # text → its vector, not yet of unit length

    def encode(self, texts: Sequence[str]) -> Vectors:
        rows = thread_map(self.pooled, [self.document_prefix + text for text in texts], self.workers)
        return normalise_rows(np.stack(rows), self.name) if rows else np.empty((0, self.dim), np.float32)

    def encode_query(self, text: str) -> Vector:
        return normalise_rows(self.pooled(self.query_prefix + text), self.name)


def open_onnx(
    folder: Path,
    *,
    pooling: str | None = None,
    max_tokens: int | None = None,
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    workers: int | None = None,
) -> OnnxEmbedder:
    """Open the encoder in a folder. None means the folder's setting; pooling is the graph's own where it has one."""
    config = read_folder(folder)
    session = open_session(config.model, CURE)
    outputs = {entry.name: entry.shape for entry in session.get_outputs()}
    pooling = pooling or ("graph" if POOLED in outputs else config.pooling)
    if pooling not in POOLERS:
        raise ConfigError(f"{folder} wants {pooling!r} pooling, which Assay does not do", nearest(pooling, POOLERS))
    output = POOLED if pooling == "graph" else next((name for name in outputs if len(outputs[name]) == 3), "")
    if output not in outputs:
        raise ModelError(f"{config.model} gives only {', '.join(outputs)}: no use for {pooling} pooling", CURE)

    length = config.max_tokens if max_tokens is None else max_tokens
    query_prefix = config.query_prefix if query_prefix is None else query_prefix
    document_prefix = config.document_prefix if document_prefix is None else document_prefix
    states, pool = _build_encoder(session, output, _open_tokenizer(config.tokenizer, length)), POOLERS[pooling]
    facts = {
        "files": config.sha256,
        "pooling": pooling,
        "max_tokens": length,
        "prefixes": [query_prefix, document_prefix],
    }
    return OnnxEmbedder(
        name=f"onnx:{folder.resolve().name}",
        digest=compute_digest(facts),
        dim=len(pool(states("a"))),
        max_tokens=length,
        pooling=pooling,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        workers=count_cores() if workers is None else workers,
        pooled=lambda text: pool(states(text)),
    )


def from_spec(argument: str) -> OnnxEmbedder:
    """Open the spec `onnx:/path/to/folder`."""
    if not argument:
        raise ConfigError("the embedder 'onnx' needs a folder", "write onnx:/path/to/folder")
    return open_onnx(Path(argument).expanduser())


def fingerprint(_name: str, argument: str) -> Hashable | None:
    """Return what identifies the files of an encoder; None when there are none."""
    state = file_state(encoder_files(Path(argument).expanduser())) if argument else None
    return (state, count_cores()) if state else None


def _open_tokenizer(path: Path, max_tokens: int) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("an ONNX sentence encoder", "onnx") from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
        # Padding and a shorter cut are often baked into the file; both would change vectors.
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens)
    except Exception as error:  # the Rust library raises bare Exception
        raise ModelError(f"{path} is not a tokenizer: {error}", "fetch the model's folder again") from error
    return tokenizer


def _build_encoder(session: Any, output: str, tokenizer: Any) -> Callable[[str], Array]:
    """Return the function from a text to the named output: [t, d], or [d] where the graph pools."""
    inputs = {entry.name: WHOLE_NUMBERS.get(entry.type) for entry in session.get_inputs()}
    if unknown := [name for name, kind in inputs.items() if name not in INPUTS or kind is None]:
        raise ModelError(f"the model wants an input {unknown[0]!r}; Assay gives {', '.join(INPUTS)} as integers", CURE)

    def states(text: str) -> Array:
        # The tokenizer is Rust and takes valid Unicode only: a lone surrogate becomes "?".
        encoding = tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        if not encoding.ids:
            raise ModelError(f"the model's tokenizer has no token for {text[:40]!r}", "choose another model")
        columns = dict(zip(INPUTS, (encoding.ids, encoding.attention_mask, encoding.type_ids), strict=True))
        try:
            result = session.run([output], {name: np.array([columns[name]], kind) for name, kind in inputs.items()})[0]
        except Exception as error:  # onnxruntime has an exception class for each way a run can fail
            raise ModelError(f"the model cannot read {text[:40]!r}: {str(error).splitlines()[0]}", CURE) from error
        return np.asarray(result[0], np.float64)

    return states
