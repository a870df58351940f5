"""What the folder of a sentence encoder says: its model and tokenizer files, and how its makers pool and prefix.

Read are `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, `config.json`, and what sentence-transformers writes:
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


def read_folder(folder: Path) -> EncoderFolder:
    """What the folder says, or a default: mean pooling, 512 tokens, no prefixes."""
    model = next((folder / name for name in MODELS if (folder / name).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        missing = tokenizer.name if model else " or ".join(MODELS)
        raise ModelError(f"{folder} holds no {missing}", CURE)

    # A step that Assay does not run would silently give other vectors.
    steps = [str(step.get("type", "")).rpartition(".")[2] for step in _json(folder / "modules.json", [])]
    if strange := [step for step in steps if step not in STEPS]:
        raise ModelError(
            f"{folder} has a {strange[0]} step, which Assay does not run",
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


def _pooling(config: dict[str, Any]) -> str:
    if isinstance(named := config.get("pooling_mode"), str):
        return named
    chosen = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    return "+".join(POOLING_MODES.get(name, name) for name in chosen) or "mean"


def _max_tokens(folder: Path) -> int:
    said = _json(folder / "sentence_bert_config.json", {}).get("max_seq_length")
    if isinstance(said, int) and said > 2:
        return said
    positions = _json(folder / "config.json", {}).get("max_position_embeddings")
    # Some families count two positions more than they can use, so the table's size alone proves no more than 512.
    return min(positions, DEFAULT_MAX_TOKENS) if isinstance(positions, int) and positions > 2 else DEFAULT_MAX_TOKENS


def _json(path: Path, absent: Any) -> Any:
    if not path.is_file():
        return absent
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}", "fetch the model's folder again") from error
    if not isinstance(found, type(absent)):
        raise ModelError(f"{path} is not what its name says", "fetch the model's folder again")
    return found


def _parts(model: Path) -> list[Path]:
    """The model and the files that hold its larger tensors, which ONNX keeps beside it under a longer name."""
    return [model, *sorted(path for path in model.parent.glob(f"{model.name}?*") if path.is_file())]


def _sha256(paths: list[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()
