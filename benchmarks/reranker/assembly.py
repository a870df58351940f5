"""Stores the trained part of a cross-encoder, and assembles the whole model from it and the installed encoder.

Only the upper layers, the segment vector and the head are trained, so only they are kept: `<name>.npz` (matrices as
float16) and `<name>.json` with the run, the sources of its questions, and the sha256 of the file and of the assembled
graph. Assembling needs neither torch nor a download, and gives the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.embed.installed_models import find_model, verify_model
from assay.embed.onnx_proto import read_model
from assay.embed.shipped_models import EXACT, install_command
from assay.util.atomic_files import atomic_path
from benchmarks.reranker.export import NAME, write_cross_encoder, write_folder
from benchmarks.reranker.sources import TrainingError

WEIGHTS = Path(__file__).parent / "weights"
HEAD = ("segment", "product", "likeness", "attend", "first", "scale", "shift")
LAYERS, LOWER = 6, 4
"""LOWER layers of the encoder are used as they are."""


def write_trained(folder: Path, trained: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write the trained part, and the hash of the graph that it gives with the installed encoder."""
    content = io.BytesIO()
    np.savez(
        content,
        **{name: value.astype(np.float16 if value.ndim == 2 else np.float32) for name, value in trained.items()},
    )
    raw = content.getvalue()
    graph = build_graph(read_encoder(), _read_arrays(raw))
    about = {**facts, "sha256": hashlib.sha256(raw).hexdigest(), "model_sha256": hashlib.sha256(graph).hexdigest()}
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, file in (("npz", raw), ("json", (json.dumps(about, indent=1, sort_keys=True) + "\n").encode())):
        with atomic_path(folder / f"{NAME}.{suffix}") as target:
            Path(target).write_bytes(file)
    return about


def assemble(target: Path, folder: Path = WEIGHTS) -> dict[str, Any]:
    """Write the cross-encoder as a folder that the step `cross_encoder` opens; every hash is checked."""
    cure = f"restore {folder} from the repository"
    try:
        about = json.loads((folder / f"{NAME}.json").read_text("utf-8"))
        raw = (folder / f"{NAME}.npz").read_bytes()
        wanted, wanted_graph = about["sha256"], about["model_sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"the trained weights in {folder} cannot be read: {error}", cure) from error
    if hashlib.sha256(raw).hexdigest() != wanted:
        raise TrainingError(f"{folder / NAME}.npz is not the file that {NAME}.json describes", cure)
    graph = build_graph(read_encoder(), _read_arrays(raw))
    if hashlib.sha256(graph).hexdigest() != wanted_graph:
        raise TrainingError(
            "the assembled model differs from the one that was measured",
            f"install the encoder again: {install_command('minilm')}",
        )
    return write_folder(target, graph, about)


def build_graph(encoder: Mapping[str, Any], trained: Mapping[str, np.ndarray]) -> bytes:
    """The int8 graph of the encoder with the trained part in place."""
    head = {name: trained[name] for name in HEAD}
    layers = {name: value for name, value in trained.items() if name not in HEAD}
    return write_cross_encoder({**encoder, **layers}, head, LOWER, LAYERS)


def read_encoder() -> dict[str, Any]:
    """The float32 weights of the installed minilm by their published names, from its graph."""
    installed = find_model("minilm")
    if installed is None or EXACT not in installed.files:
        raise TrainingError("the encoder minilm is not installed", install_command("minilm"))
    verify_model(installed, EXACT)
    _, constants = read_model((installed.folder / EXACT).read_bytes())
    weights: dict[str, Any] = {
        "embeddings.word_embeddings.weight": constants["words.table"],
        "embeddings.position_embeddings.weight": constants["place"],  # with the vector of type 0 added
        "embeddings.token_type_embeddings.weight": np.zeros((1, constants["place"].shape[1]), np.float32),
    }
    for name, value in constants.items():
        if name.startswith("encoder.layer.") and ".qkv." in name:
            at, kind = name.split(".qkv.")
            for part, piece in zip(("query", "key", "value"), np.split(value, 3, axis=-1), strict=True):
                weights[f"{at}.{part}.{kind}"] = piece.T
        elif name.startswith(("encoder.layer.", "embeddings.LayerNorm")):
            weights[name] = value.T
    return weights


def _read_arrays(raw: bytes) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            return {name: arrays[name].astype(np.float32) for name in arrays.files}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise TrainingError(f"the trained weights are damaged: {error}", "restore the file") from error
