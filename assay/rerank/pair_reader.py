"""Loads a local ONNX cross-encoder from a folder with model.onnx and tokenizer.json."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from assay.embed.onnx_session import open_session
from assay.errors import MissingExtra, ModelError
from assay.types import Floats


class PairReader:
    """Scores (query, text) pairs one at a time: a quantised model's output must not depend on the rest of a batch."""

    def __init__(self, folder: str, sha256: str, max_tokens: int) -> None:
        model_file, tokenizer_file = Path(folder) / "model.onnx", Path(folder) / "tokenizer.json"
        for file in (model_file, tokenizer_file):
            if not file.is_file():
                raise ModelError(
                    f"there is no cross-encoder at {folder}: {file.name} is missing",
                    "point cross_encoder.path at a folder with model.onnx and tokenizer.json, or install the model "
                    "that cross_encoder.model names (docs/rerankers.md)",
                )
        if sha256 and hash_file(model_file) != sha256.lower():
            raise ModelError(
                f"{model_file} is not the file that cross_encoder.sha256 names", "fix the path or the hash"
            )
        self._files = (model_file, tokenizer_file)
        self._max_tokens = max_tokens
        self._tokenizer = _load_tokenizer(tokenizer_file, max_tokens)
        self._session = open_session(model_file, _EXPECTED)
        self._inputs = [tensor.name for tensor in self._session.get_inputs()]
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise ModelError(f"{model_file} wants inputs we do not know: {', '.join(sorted(unknown))}", _EXPECTED)

    @cached_property
    def digest(self) -> str:
        """Identifies what decides a score: both files, and where pairs are cut."""
        hashes = " ".join(hash_file(file) for file in self._files)
        return hashlib.sha256(f"{hashes} {self._max_tokens}".encode()).hexdigest()

    def logits(self, query: str, texts: Sequence[str]) -> Floats:
        """One logit per text; of a model with two classes, the second minus the first."""
        return np.array([self._logit(query, text) for text in texts], np.float64)

    def _logit(self, query: str, text: str) -> float:
        pair = self._tokenizer.encode(_replace_surrogates(query), _replace_surrogates(text))
        columns = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        try:
            output = self._session.run(None, {name: np.array([columns[name]], np.int64) for name in self._inputs})[0]
        except Exception as error:  # onnxruntime's errors share no other base
            raise ModelError(f"the cross-encoder cannot read this pair: {error}", _EXPECTED) from error
        values = np.asarray(output, np.float64).reshape(-1)
        if len(values) not in (1, 2) or not np.isfinite(values).all():
            raise ModelError(f"the cross-encoder gives {len(values)} values per pair", _EXPECTED)
        return float(values[-1] - values[0]) if len(values) == 2 else float(values[0])


_EXPECTED = "use a sequence-classification export: input_ids, attention_mask, token_type_ids in, one or two logits out"


@lru_cache(maxsize=2)
def load_pair_reader(folder: str, sha256: str, max_tokens: int) -> PairReader:
    """Load a model once per process."""
    return PairReader(folder, sha256, max_tokens)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which the tokenizer (Rust) does not accept."""
    return text.encode("utf-8", "replace").decode("utf-8")


def hash_file(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _load_tokenizer(file: Path, max_tokens: int) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("cross_encoder", "onnx") from error
    try:
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens, strategy="longest_first")
    except Exception as error:  # tokenizers raises plain Exception
        raise ModelError(f"{file} cannot be read: {error}", "export it again with the model") from error
    return tokenizer
