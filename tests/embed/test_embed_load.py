from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.embed import EMBEDDERS, default_spec, load
from assay.embed.installed_models import InstalledModel
from assay.errors import ConfigError, ModelError
from assay.protocols import Embedder


def test_none_is_none() -> None:
    assert load("none") is None


@pytest.mark.parametrize("tier", ["minilm", "minilm-exact"])
def test_the_local_model(tier: str, model: InstalledModel) -> None:
    embedder = load(tier)
    assert isinstance(embedder, Embedder)
    assert embedder.name == tier
    assert default_spec() == "minilm"


def test_every_name_of_the_table_leads_somewhere() -> None:
    from importlib import import_module

    for place in EMBEDDERS.values():
        module, _, factory = place.partition(":")
        assert callable(getattr(import_module(module), factory))


@pytest.mark.parametrize("spec", ["minlim", "", ":", "none:x", "openai", "\0", "minilm "])
def test_an_unknown_name_lists_the_known_ones(spec: str) -> None:
    with pytest.raises(ConfigError, match="no embedder is called") as caught:
        load(spec)
    assert "gte-small, http, minilm, minilm-exact, none, onnx" in caught.value.cure


@pytest.mark.parametrize("spec", ["minilm:fast", "onnx", "onnx:", "http:", "http:https://host/v1", "http:#model"])
def test_a_spec_with_the_wrong_argument_says_how_to_write_it(spec: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(spec)
    assert "write" in caught.value.cure


def test_without_a_model_the_default_is_lexical(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    assert default_spec() == "none"
    with pytest.raises(ModelError, match="assay model install"):
        load("minilm")


def test_http_specs_carry_address_and_model() -> None:
    embedder = load("http:https://host.example/v1#a/model:8b")
    assert embedder is not None
    assert embedder.name == "http:a/model:8b"
    assert "https://host.example/v1/embeddings" in repr(embedder)


def test_third_parties_come_in_through_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thirdparty.py").write_text(
        "import numpy as np\n"
        "class Constant:\n"
        "    name, digest, dim, max_tokens = 'constant', 'c', 2, 9\n"
        "    def __init__(self, argument): self.row = np.array([1, 0], np.float32) * float(argument)\n"
        "    def encode(self, texts): return np.stack([self.row] * len(texts))\n"
        "    def encode_query(self, text): return self.row\n"
    )
    info = tmp_path / "thirdparty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[assay.embedders]\nconstant = thirdparty:Constant\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    load("none")
    assert "thirdparty" not in sys.modules  # loaded only when named
    embedder = load("constant:1")
    assert isinstance(embedder, Embedder)
    assert np.array_equal(embedder.encode(["x"]), [[1, 0]])
    with pytest.raises(ConfigError, match="constant, gte-small, http"):
        load("nothing")


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["onnxruntime", "onnx", "tokenizers", "httpx", "huggingface_hub", "sqlite3", "importlib.metadata"]
    program = f"import sys, assay.embed; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout == "[]\n"
