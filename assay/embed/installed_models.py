"""Finds the installed models: one folder each under `<home>/models/`, described by its manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.embed.cache_home import cache_home
from assay.embed.shipped_models import install_command
from assay.errors import ModelError

MANIFEST = "manifest.json"
FORMAT = 1  # of manifest and graphs; raised when either changes, so that older models are installed again


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model as its manifest describes it. `weights` and the values of `files` are sha256 digests."""

    name: str
    folder: Path
    source: str
    weights: str
    files: Mapping[str, str]
    dim: int
    max_tokens: int
    licence: str


def models_folder(under: Path | None = None) -> Path:
    return (cache_home() if under is None else under) / "models"


def list_models(under: Path | None = None) -> list[InstalledModel]:
    """Return every model whose manifest can be read, by name. Files are not hashed here: see `verify_model`."""
    return [model for path in sorted(models_folder(under).glob(f"*/{MANIFEST}")) if (model := _read(path))]


def find_model(name: str, under: Path | None = None) -> InstalledModel | None:
    """Return the installed model of that name, or None."""
    return _read(models_folder(under) / name / MANIFEST)


def verify_model(model: InstalledModel, *names: str) -> None:
    """Hash the files of a model, all or those named; ModelError names the one that is missing or changed."""
    cure = install_command(model.name)
    for name in names or model.files:
        try:
            with (model.folder / name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"{model.folder / name} cannot be read: {error.strerror}", cure) from error
        if digest != model.files.get(name):
            raise ModelError(f"{model.folder / name} is damaged: its sha256 is not the manifest's", cure)


def format_manifest(model: InstalledModel) -> str:
    """Return the manifest as canonical JSON, without times and machine paths."""
    facts = {
        "format": FORMAT,
        "name": model.name,
        "source": model.source,
        "weights": model.weights,
        "files": dict(model.files),
        "dim": model.dim,
        "max_tokens": model.max_tokens,
        "licence": model.licence,
    }
    return json.dumps(facts, indent=2, sort_keys=True) + "\n"


def _read(path: Path) -> InstalledModel | None:
    try:
        facts = json.loads(path.read_text("utf-8"))
        if facts.pop("format") != FORMAT:
            return None
        return InstalledModel(folder=path.parent, **facts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
