"""Reads the folder of a sentence encoder: its model and tokenizer files, pooling, length and prefixes.

The files are `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, `config.json`, and those of sentence-transformers:
`modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`, `config_sentence_transformers.json`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ModelError

MODELS = ("model.onnx", "onnx/model.onnx")
POOLING_MODES = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
_CONFIGS = (
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "config.json",
)
STEPS = ("Transformer", "Pooling", "Normalize")
DEFAULT_MAX_TOKENS = 512
CURE = "give the folder of a sentence encoder in ONNX form"


@dataclass(frozen=True, slots=True)
class EncoderFolder:
    """The files, with the sha256 of all bytes that decide a vector, and the settings found beside them."""

    model: Path
    tokenizer: Path
    sha256: str
    pooling: str
    max_tokens: int
    query_prefix: str
    document_prefix: str


def encoder_files(folder: Path) -> list[Path]:
    """Return every file that `read_folder` reads; none when the folder holds no model."""
    model = _find_model(folder)
    if model is None:
        return []
    return [
        *_parts(model),
        folder / "tokenizer.json",
        *(folder / name for name in _CONFIGS if (folder / name).is_file()),
    ]


def read_folder(folder: Path) -> EncoderFolder:
    """Return the settings of the folder; the defaults are mean pooling, 512 tokens, no prefixes."""
    model = _find_model(folder)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        missing = tokenizer.name if model else " or ".join(MODELS)
        raise ModelError(f"{folder} holds no {missing}", CURE)

    # A step that Assay does not run would silently give other vectors.
    steps = [str(step.get("type", "")).rpartition(".")[2] for step in _json(folder / "modules.json", [])]
    if unknown := [step for step in steps if step not in STEPS]:
        raise ModelError(
            f"{folder} has a {unknown[0]} step, which Assay does not run",
            "export the model with that step inside the graph, and take it out of modules.json",
        )
    prompts = _json(folder / "config_sentence_transformers.json", {}).get("prompts") or {}
    return EncoderFolder(
        model=model,
        tokenizer=tokenizer,
        sha256=_sha256([*_parts(model), tokenizer]),
        pooling=_pooling(_json(folder / "1_Pooling" / "config.json", {})),
        max_tokens=_max_tokens(folder),
        query_prefix=str(prompts.get("query", "")),
        document_prefix=str(prompts.get("document", prompts.get("passage", ""))),
    )


def _find_model(folder: Path) -> Path | None:
    return next((folder / name for name in MODELS if (folder / name).is_file()), None)


def _pooling(config: dict[str, Any]) -> str:
    if isinstance(named := config.get("pooling_mode"), str):
        return named
    chosen = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    return "+".join(POOLING_MODES.get(name, name) for name in chosen) or "mean"


def _max_tokens(folder: Path) -> int:
    length = _json(folder / "sentence_bert_config.json", {}).get("max_seq_length")
    if isinstance(length, int) and length > 2:
        return length
    positions = _json(folder / "config.json", {}).get("max_position_embeddings")
    # Some families have two positions more than they can use, so the table's size alone proves no more than 512.
    return min(positions, DEFAULT_MAX_TOKENS) if isinstance(positions, int) and positions > 2 else DEFAULT_MAX_TOKENS


def _json(path: Path, absent: Any) -> Any:
    if not path.is_file():
        return absent
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}", "fetch the model's folder again") from error
    if not isinstance(content, type(absent)):
        raise ModelError(f"{path} is not what its name says", "fetch the model's folder again")
    return content


def _parts(model: Path) -> list[Path]:
    """Return the model and the files of its larger tensors, which ONNX stores beside it under a longer name."""
    return [model, *sorted(path for path in model.parent.glob(f"{model.name}?*") if path.is_file())]


def _sha256(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()
