"""The kept weights of the cross-encoder: assembled from the installed encoder, refused when anything is damaged."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

pytest.importorskip("tokenizers")

from assay.embed.installed_models import InstalledModel, format_manifest
from assay.embed.onnx_graph import write_graph
from assay.errors import ModelError
from benchmarks.reranker.assembly import WEIGHTS, assemble, read_encoder, write_trained
from benchmarks.reranker.export import NAME, write_cross_encoder
from benchmarks.reranker.sources import TrainingError
from benchmarks.train_reranker import main


@pytest.fixture(scope="module")
def weights():
    """A random encoder of six layers and 90 words, as wide as the real one."""
    rng = np.random.default_rng(4)

    def table(*shape):
        return (rng.standard_normal(shape) * 0.05).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": table(90, 384),
        "embeddings.position_embeddings.weight": table(512, 384),
        "embeddings.token_type_embeddings.weight": table(2, 384),
        **{f"embeddings.LayerNorm.{kind}": table(384) for kind in ("weight", "bias")},
    }
    shapes = {f"attention.self.{part}": (384, 384) for part in ("query", "key", "value")}
    shapes |= {"attention.output.dense": (384, 384), "intermediate.dense": (1536, 384), "output.dense": (384, 1536)}
    for layer in range(6):
        for name, shape in shapes.items():
            found[f"encoder.layer.{layer}.{name}.weight"] = table(*shape)
            found[f"encoder.layer.{layer}.{name}.bias"] = table(shape[0])
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            found |= {f"encoder.layer.{layer}.{name}.{kind}": table(384) for kind in ("weight", "bias")}
    return found


@pytest.fixture
def installed(weights, tmp_path, monkeypatch):
    """The encoder, installed under another home as `assay model install` does."""
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "models" / "minilm"
    folder.mkdir(parents=True)
    graph = write_graph(weights, 256, int8=False)
    (folder / "exact.onnx").write_bytes(graph)
    files = {"exact.onnx": hashlib.sha256(graph).hexdigest()}
    model = InstalledModel("minilm", folder, "test", "0" * 64, files, 384, 256, "none")
    (folder / "manifest.json").write_text(format_manifest(model))
    return folder


@pytest.fixture
def trained(weights):
    rng = np.random.default_rng(5)
    found = {
        name: value + rng.standard_normal(value.shape).astype(np.float32) * 0.01
        for name, value in weights.items()
        if name.startswith(("encoder.layer.4.", "encoder.layer.5."))
    }
    found |= {name: rng.standard_normal(384).astype(np.float32) for name in ("segment", "product", "attend", "first")}
    return found | {name: np.array(0.5, np.float32) for name in ("likeness", "scale", "shift")}


def test_the_installed_encoder_has_its_published_weights(installed, weights):
    read = read_encoder()
    for name, value in weights.items():
        if not name.startswith("embeddings.position") and not name.startswith("embeddings.token_type"):
            assert (read[name] == value).all(), name
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    assert (read["embeddings.position_embeddings.weight"] == places[:256]).all()


def test_assembled_equals_exported_from_the_published_weights(installed, weights, trained, tmp_path):
    about = write_trained(tmp_path / "kept", trained, {"run": "test"})
    files = assemble(tmp_path / "out", tmp_path / "kept")
    rounded = {n: v.astype(np.float16).astype(np.float32) if v.ndim == 2 else v for n, v in trained.items()}
    head = {name: rounded.pop(name) for name in [*rounded] if not name.startswith("encoder.")}
    assert (tmp_path / "out" / "model.onnx").read_bytes() == write_cross_encoder({**weights, **rounded}, head, 4, 6)
    assert files["model.onnx"]["sha256"] == about["model_sha256"]
    assert write_trained(tmp_path / "again", trained, {"run": "test"}) == about


def test_damaged_or_foreign_files_are_refused(installed, trained, tmp_path):
    kept = tmp_path / "kept"
    with pytest.raises(TrainingError, match="cannot be read") as caught:
        assemble(tmp_path / "out", kept)
    assert "restore" in caught.value.cure
    write_trained(kept, trained, {})
    raw = (kept / f"{NAME}.npz").read_bytes()
    for damaged in (raw[:-1], b"", raw[:100] + b"x" + raw[101:]):
        (kept / f"{NAME}.npz").write_bytes(damaged)
        with pytest.raises(TrainingError, match="is not the file"):
            assemble(tmp_path / "out", kept)
    (kept / f"{NAME}.npz").write_bytes(raw)
    about = json.loads((kept / f"{NAME}.json").read_text())
    (kept / f"{NAME}.json").write_text(json.dumps({**about, "model_sha256": "0" * 64}))
    with pytest.raises(TrainingError, match="differs from the one that was measured"):
        assemble(tmp_path / "out", kept)
    (kept / f"{NAME}.json").write_text("{")
    with pytest.raises(TrainingError, match="cannot be read"):
        assemble(tmp_path / "out", kept)
    assert not (tmp_path / "out").exists()


def test_a_missing_or_damaged_encoder_is_named(installed, trained, tmp_path):
    write_trained(tmp_path / "kept", trained, {})
    graph = installed / "exact.onnx"
    graph.write_bytes(graph.read_bytes()[:-1])
    with pytest.raises(ModelError, match="damaged"):
        assemble(tmp_path / "out", tmp_path / "kept")
    (installed / "manifest.json").unlink()
    with pytest.raises(TrainingError, match="not installed") as caught:
        assemble(tmp_path / "out", tmp_path / "kept")
    assert "assay model install" in caught.value.cure


def test_the_command_needs_a_target():
    with pytest.raises(SystemExit, match="no target"):
        main(["assemble"])


def test_the_committed_weights_are_the_described_file():
    about = json.loads((WEIGHTS / f"{NAME}.json").read_text("utf-8"))
    raw = (WEIGHTS / f"{NAME}.npz").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == about["sha256"]
    assert len(raw) < 8_000_000
    assert not {"conditionalqa", "wikiqa"} & set(about["questions"]["sources"])
