"""Next-vector models: the ridge by hand, one normalisation for all, ONNX of ours and of others."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from assay.cascade.bank.planted import PlantedSettings, plant_bank, rotate
from assay.cascade.bank.sequences import Pairs, open_sequences
from assay.cascade.bank.train import _sample, split_held_out, train_model
from assay.cascade.lvm.model import NORMALISATION, NextVectorModel, open_model
from assay.cascade.lvm.onnx import adopt_onnx
from assay.cascade.lvm.rank import last_windows, reciprocal_rank
from assay.cascade.lvm.ridge import Ridge, fit_ridge, save_ridge, solve
from assay.cascade.lvm.windows import Windows, weighted_context
from assay.errors import ConfigError, MissingExtra, ModelError, QueryError
from tests.cascade.bank.sample_bank import unit


def test_the_weighted_context_by_hand():
    current = np.array([[1.0, 0.0]], np.float32)
    context = np.array([[[0.0, 0.0], [0.0, 1.0]]], np.float32)  # nothing, then the one just before
    # (1, 0) + 0.5 · (0, 1) = (1, 0.5), of length √1.25
    assert np.allclose(weighted_context(current, context, 0.5), [[0.894427, 0.447214]], atol=1e-6)
    older = context[:, ::-1]  # the same vector, one step further back: weight 0.25
    assert np.allclose(weighted_context(current, older, 0.5), [[0.970143, 0.242536]], atol=1e-6)
    assert weighted_context(current, np.empty((1, 0, 2), np.float32), 0.5).tolist() == [[1.0, 0.0]]


def test_the_ridge_by_hand():
    """One feature pair, one window each: f = (2, 0), Δ = 3 → w = 2·3 / (4 + α)."""
    gram, cross = np.array([[4.0, 0.0], [0.0, 1.0]]), np.array([[6.0], [2.0]])
    assert solve(gram, cross, 2.0).tolist() == [[1.0, np.float32(2.0 / 3.0)]]
    assert solve(gram, cross, 0.0).tolist() == [[1.5, 2.0]]


def test_a_ridge_finds_the_rotation():
    current = unit(400, 6, seed=2)
    following = rotate(current, 0.5)
    some = Windows(current, np.zeros((400, 0, 6), np.float32), following)
    ridge, reached = fit_ridge([some], [some], alphas=(1e-6, 1000.0))
    assert reached["1e-06"] == 1.0
    assert reached["1000"] < 0.5
    assert np.allclose(current + ridge.steps(current, some.context), following, atol=1e-3)


def test_equal_ranks_go_to_the_better_cosine():
    """Two windows far apart: every α ranks the truth first, and only the cosine says which has learned the step."""
    current = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]], np.float32)
    some = Windows(current, np.zeros((2, 0, 4), np.float32), rotate(current, 0.5))
    ridge, reached = fit_ridge([some], [some], alphas=(0.001, 10_000.0))
    assert reached == {"0.001": 1.0, "10000": 1.0}
    assert np.allclose(current + ridge.steps(current, some.context), some.following, atol=0.01)


def test_ties_go_to_the_larger_alpha():
    some = Windows(unit(5, 4), np.zeros((5, 0, 4), np.float32), unit(5, 4))  # nothing moves: every α gives Δ̂ = 0
    assert fit_ridge([some], [some], alphas=(1.0, 10.0))[1] == {"1": 1.0, "10": 1.0}


def test_of_equal_rank_and_cosine_the_larger_alpha_is_taken():
    """Two α whose models differ in their last bits only: neither rank nor cosine tells them apart."""
    current = unit(400, 6, seed=2)
    some = Windows(current, np.zeros((400, 0, 6), np.float32), rotate(current, 0.5))
    small, large = (fit_ridge([some], [some], alphas=(alpha,))[0].weights for alpha in (1e-4, 2e-4))
    assert not np.array_equal(small, large)
    assert np.array_equal(fit_ridge([some], [some], alphas=(1e-4, 2e-4))[0].weights, large)


def test_the_rank_of_the_truth_by_hand():
    current = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    near, far = np.array([[0.8, 0.6], [0.6, 0.8]], np.float32), np.array([[0.6, 0.8], [0.8, 0.6]], np.float32)
    nothing = np.zeros((2, 0, 2), np.float32)
    stay = np.zeros_like(current)
    # Candidates are both next and both current vectors but one's own, which would have a cosine of 1.
    assert reciprocal_rank(Windows(current, nothing, near), stay) == (1.0, 0.8)
    assert reciprocal_rank(Windows(current, nothing, far), stay) == (0.5, 0.6)
    assert reciprocal_rank(Windows(current, nothing, far), far - current) == (1.0, 1.0)
    # Both windows go to one place: equal scores count for the truth.
    assert reciprocal_rank(Windows(current, nothing, near[[0, 0]]), stay) == (1.0, 0.7)


def test_the_last_windows_decide(monkeypatch):
    monkeypatch.setattr("assay.cascade.lvm.rank.RANKED", 2)
    blocks = [Windows(v, v[:, None], -v) for v in (unit(2, 4), unit(1, 4, seed=1))]
    chosen = last_windows(blocks)
    assert np.array_equal(chosen.current, np.stack([unit(2, 4)[1], unit(1, 4, seed=1)[0]]))
    assert np.array_equal(chosen.following, -chosen.current)
    assert np.array_equal(chosen.context[:, 0], chosen.current)


@pytest.mark.parametrize(("count", "kept"), [(2, 1), (20, 2), (21, 3), (60_000, 5_000)])
def test_the_last_tenth_is_kept_back(count, kept):
    ids = np.arange(count)
    learned, held = split_held_out(Pairs(ids, ids + 1, ids[:, None]))
    assert learned.current.tolist() == list(range(count - kept))
    assert held.current.tolist() == list(range(count - kept, count))
    assert held.context[0, 0] == count - kept


@pytest.mark.parametrize("length", [0.9992, 1.0008, 0.9988, 1.0012])
def test_the_length_of_training_is_one_within_a_thousandth(length):
    x = unit(1, 4)[0] * np.float32(length)
    if abs(length - 1.0) < 1e-3:
        assert np.linalg.norm(model().predict(x, x[None])) == pytest.approx(1.0, abs=1e-6)
        return
    for current, context in ((x, np.empty((0, 4), np.float32)), (unit(1, 4)[0], x[None])):
        with pytest.raises(QueryError, match="length"):
            model().predict(current, context)


def test_a_step_does_not_depend_on_the_windows_beside_it():
    weights = np.random.default_rng(3).standard_normal((96, 192)).astype(np.float32)
    ridge = Ridge(weights, 0.5)
    current, context = unit(70, 96), unit(140, 96, seed=2).reshape(70, 2, 96)
    together = ridge.steps(current, context)
    for one in range(0, 70, 7):
        assert np.array_equal(ridge.steps(current[one : one + 1], context[one : one + 1])[0], together[one])


def test_nothing_to_learn_from():
    with pytest.raises(ModelError, match="no windows"):
        fit_ridge([], [])


def model(context: int = 2, dim: int = 4, name: str = "zero", **other) -> NextVectorModel:
    weights = np.zeros((dim, 2 * dim), np.float32)
    weights[:, :dim] = -2.0 * np.eye(dim, dtype=np.float32)  # Δ̂ = −2x, so ŷ = −x
    manifest = {"name": name, "dim": dim, "context": context, "normalisation": dict(NORMALISATION), **other}
    return NextVectorModel(Ridge(weights, 0.5), manifest)


def test_the_expected_vector_is_of_length_one():
    x = unit(1, 4)[0]
    assert np.allclose(model().predict(x, np.empty((0, 4), np.float32)), -x, atol=1e-6)


def test_of_a_long_context_the_newest_are_read():
    seen = []

    class Spy:
        def steps(self, current, context):
            seen.append(context)
            return np.zeros_like(current)

    held = NextVectorModel(Spy(), model().manifest)
    context = unit(5, 4)
    held.predict(unit(1, 4)[0], context)
    assert np.array_equal(seen[0][0], context[-2:])
    held.predict(unit(1, 4)[0], context[:1])
    assert np.array_equal(seen[1][0], np.stack([np.zeros(4, np.float32), context[0]]))


@pytest.mark.parametrize(
    ("x", "context", "what"),
    [
        (unit(1, 4)[0] * np.float32(0.5), np.empty((0, 4), np.float32), "current vector has length 0.5"),
        (unit(1, 5)[0], np.empty((0, 5), np.float32), r"shape \(5,\)"),
        (unit(1, 4)[0], unit(1, 4) * np.float32(2.0), "context vector has length 2.0"),
        (unit(1, 4)[0] * np.float32(np.nan), np.empty((0, 4), np.float32), "length nan"),
    ],
    ids=["short", "long", "context", "nan"],
)
def test_every_call_asserts_the_normalisation_of_training(x, context, what):
    with pytest.raises(QueryError, match=what):
        model().predict(x, context)


def test_a_model_of_another_normalisation_is_refused():
    with pytest.raises(ModelError, match="normalisation"):
        model(normalisation={"input": "none", "output": "delta"})


def test_a_step_to_nowhere_is_no_direction():
    weights = np.zeros((4, 8), np.float32)
    weights[:, :4] = -np.eye(4, dtype=np.float32)
    with pytest.raises(ModelError, match="no direction"):
        NextVectorModel(Ridge(weights, 0.5), model().manifest).predict(
            np.eye(4, dtype=np.float32)[0], np.empty((0, 4), np.float32)
        )


# -- folders


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    bank = plant_bank(folder, PlantedSettings(2_048, 16))
    return bank, open_sequences(folder / "sequences.npz", bank)


def test_a_trained_model_opens_again_and_says_how_it_came_about(planted, tmp_path):
    bank, sequences = planted
    made = train_model(bank, sequences, tmp_path, context=4)
    again = open_model(tmp_path)
    assert made.digest == again.digest
    payload = again.manifest["training"]
    assert payload["bank"] == bank.digest
    assert payload["windows"] + payload["kept_back"] == len(sequences.train)
    assert max(payload["reciprocal_rank_by_alpha"].values()) > payload["identity"]["reciprocal_rank"] + 0.05
    x = bank.vectors[0]
    assert np.array_equal(made.predict(x, bank.vectors[:0]), again.predict(x, bank.vectors[:0]))


_CHILD = """
import sys
from pathlib import Path
from assay.cascade.bank.bank import open_bank
from assay.cascade.bank.sequences import open_sequences
from assay.cascade.bank.train import train_model
bank = open_bank(sys.argv[1])
print(train_model(bank, open_sequences(sys.argv[2], bank), Path(sys.argv[3]), context=4).digest)
"""


def test_runs_and_thread_counts_give_the_same_model(planted, tmp_path):
    bank, _ = planted
    payload = set()
    for threads in ("1", "2"):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", _CHILD, bank.path, bank.path.with_name("sequences.npz"), tmp_path / threads]
        payload.add(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)
    assert len(payload) == 1


def test_folders_that_hold_no_model(planted, tmp_path):
    with pytest.raises(ModelError, match="holds no next-vector model"):
        open_model(tmp_path)
    made = train_model(*planted, tmp_path, context=1)
    manifest = dict(made.manifest)
    for wrong, what in (
        ({**manifest, "kind": "oracle"}, "no kind"),
        ({**manifest, "files": {"ridge.npy": "0" * 64}}, "not the file"),
        ({**manifest, "files": {"../ridge.npy": "0" * 64}}, "not the file"),
        ({**manifest, "dim": 8}, "float32"),
        ({k: v for k, v in manifest.items() if k != "normalisation"}, "normalisation"),
        ({**manifest, "normalisation": {"input": "none"}}, "normalisation"),
        ([], "holds no next-vector model"),
        (None, "holds no next-vector model"),
        ({**manifest, "training": None}, "holds no next-vector model"),
        ({**manifest, "files": ["ridge.npy"]}, "holds no next-vector model"),
        ({**manifest, "context": "many"}, "holds no next-vector model"),
        ({**manifest, "context": -1}, "holds no next-vector model"),
        ({**manifest, "dim": 0}, "holds no next-vector model"),
    ):
        (tmp_path / "lvm.json").write_text(json.dumps(wrong))
        with pytest.raises(ModelError, match=what):
            open_model(tmp_path)


def test_settings_that_train_nothing(planted, tmp_path):
    for wrong in ({"decay": 2.0}, {"context": -1}):
        with pytest.raises(ConfigError):
            train_model(*planted, tmp_path, **wrong)


# -- ONNX


def drawn(path, dim=4, context=2, delta="delta", first="current", batch="n", factor=(-2.0,), kind="FLOAT", wide=None):
    """A network somebody else drew: Δ̂ = −2x, or wrong in one way; with `wide` it is x times a [D, wide] table."""
    onnx = pytest.importorskip("onnx")
    helper, floats = onnx.helper, getattr(onnx.TensorProto, kind)
    nodes = [helper.make_node("MatMul" if wide else "Mul", [first, "factor"], [delta])]
    inputs = [
        helper.make_tensor_value_info(n, floats, s)
        for n, s in ((first, [batch, dim]), ("context", [batch, context, dim]))
    ]
    numbers = np.ones((dim, wide)) if wide else np.array(factor)
    held = [onnx.numpy_helper.from_array(numbers.astype(np.float32 if kind == "FLOAT" else np.float64), "factor")]
    outputs = [helper.make_tensor_value_info(delta, floats, None)]
    made = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, held), opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    path.write_bytes(made.SerializeToString())
    return path


def test_anybodys_model_of_that_shape_loads(tmp_path):
    taken = adopt_onnx(drawn(tmp_path / "theirs.onnx"), tmp_path / "model")
    assert (taken.name, taken.dim, taken.context) == ("theirs", 4, 2)
    x = unit(1, 4)[0]
    assert np.allclose(open_model(tmp_path / "model").predict(x, unit(1, 4)), -x, atol=1e-6)
    with pytest.raises(QueryError, match=r"length 0\.5"):
        taken.predict(x * np.float32(0.5), unit(1, 4))


def test_weights_that_lie_beside_the_model_come_with_it(tmp_path, monkeypatch):
    """As torch exports since 2.9: the file alone is no model, and the adopted one stands alone."""
    onnx = pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)  # where onnxruntime looks for them when it knows no other place
    theirs = tmp_path / "theirs.onnx"
    onnx.save_model(
        onnx.load(drawn(tmp_path / "one.onnx")),
        theirs,
        save_as_external_data=True,
        location="theirs.onnx.data",
        size_threshold=0,
    )
    adopt_onnx(theirs, tmp_path / "model")
    for file in tmp_path.glob("theirs*"):
        file.unlink()
    x = unit(1, 4)[0]
    assert np.allclose(open_model(tmp_path / "model").predict(x, unit(1, 4)), -x, atol=1e-6)
    assert sorted(file.name for file in (tmp_path / "model").iterdir()) == ["lvm.json", "model.onnx"]


SHAPES = {
    "another output": ({"delta": "next"}, "outputs"),
    "another input": ({"first": "x"}, "inputs"),
    "a context of any length": ({"context": "c"}, "context"),
    "vectors of any length": ({"dim": "d"}, "current"),
    "double precision": ({"kind": "DOUBLE"}, "double"),
    "one number for a step": ({"wide": 1}, r"gives float32 \(1, 1\)"),
    "longer steps": ({"wide": 5}, r"gives float32 \(1, 5\)"),
    "three windows at a time": ({"batch": 3}, "cannot be run"),
    "one window at a time": ({"batch": 1}, "cannot be run"),
    "no step without context": ({"factor": (np.nan,)}, "without context"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_model_of_another_shape_is_refused_when_it_is_adopted(tmp_path, case):
    wrong, what = SHAPES[case]
    with pytest.raises(ModelError, match=what):
        adopt_onnx(drawn(tmp_path / "theirs.onnx", **wrong), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_may_be_adopted_where_it_lies(tmp_path):
    drawn(tmp_path / "model.onnx")
    assert adopt_onnx(tmp_path / "model.onnx", tmp_path).name == "model"
    assert adopt_onnx(tmp_path / "model.onnx", tmp_path, "again").name == "again"


def test_a_file_that_is_no_network(tmp_path):
    (tmp_path / "theirs.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError):
        adopt_onnx(tmp_path / "theirs.onnx", tmp_path / "model")


def test_a_recurrent_model_is_trained_written_and_run_without_torch(planted, tmp_path):
    torch = pytest.importorskip("torch", reason="the extra lvm is not installed")
    pytest.importorskip("onnx")
    from assay.cascade.bank.train import _load_windows
    from assay.cascade.lvm.recurrent import fit_recurrent, save_recurrent

    bank, sequences = planted
    some, held = _load_windows(bank, sequences.train, 3), _load_windows(bank, sequences.val, 3)
    weights, curve = fit_recurrent(some, held, hidden=16, epochs=2)
    again, _ = fit_recurrent(some, held, hidden=16, epochs=2)
    assert all(np.array_equal(weights[name], again[name]) for name in weights)
    assert len(curve) == 3
    assert max(curve[1:]) > curve[0]
    made = save_recurrent(tmp_path, weights, 3, {"training": {}})

    gru, out = torch.nn.GRU(16, 16, batch_first=True), torch.nn.Linear(16, 16)
    both = [np.split(weights[name][0], 3) for name in ("W", "R")]
    with torch.no_grad():
        for name, array in zip(("weight_ih_l0", "weight_hh_l0"), both, strict=True):
            getattr(gru, name).copy_(torch.from_numpy(np.concatenate([array[1], array[0], array[2]])))
        for name, array in zip(("bias_ih_l0", "bias_hh_l0"), np.split(weights["B"][0], 2), strict=True):
            parts = np.split(array, 3)
            getattr(gru, name).copy_(torch.from_numpy(np.concatenate([parts[1], parts[0], parts[2]])))
        out.weight.copy_(torch.from_numpy(weights["V"].T.copy()))
        out.bias.copy_(torch.from_numpy(weights["b"]))
        seen = torch.from_numpy(np.concatenate([held.context, held.current[:, None]], axis=1))
        moved = torch.from_numpy(held.current) + out(torch.tanh(gru(seen)[0][:, -1]))
        wanted = torch.nn.functional.normalize(moved).numpy()
    assert np.abs(made.predict_all(held.current, held.context) - wanted).max() < 1e-5


def test_save_ridge_names_its_shape(tmp_path):
    assert save_ridge(tmp_path, Ridge(np.zeros((4, 8), np.float32), 0.5), 3, {}).name == "ridge_4_ctx3"


def test_without_torch_the_cure_is_named(monkeypatch, planted, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match="not installed") as raised:
        train_model(*planted, tmp_path, "recurrent")
    assert "'.[lvm]'" in raised.value.cure


def test_fewer_windows_are_runs_of_neighbours(planted):
    pairs = planted[1].train
    some = _sample(pairs, 600)
    assert len(some) == 600
    assert np.isin(some.current, pairs.current).all()
    assert (np.diff(np.searchsorted(pairs.current, some.current)) == 1).mean() > 0.95
    assert _sample(pairs, 0) is pairs


def test_a_network_that_learns_nothing_stays_where_it_is():
    """Where nothing moves no epoch can do better, so the network before the first is the one kept."""
    pytest.importorskip("torch", reason="the extra lvm is not installed")
    from assay.cascade.lvm.recurrent import fit_recurrent

    some = Windows(unit(300, 16), np.zeros((300, 2, 16), np.float32), unit(300, 16, seed=5))
    held = Windows(some.current[:50], some.context[:50], some.current[:50])
    weights, curve = fit_recurrent(some, held, hidden=8, epochs=2)
    assert curve[0] == (1.0, 1.0)
    assert max(curve[1:]) < curve[0]
    assert not weights["V"].any()


def test_a_recurrent_model_without_context(planted, tmp_path):
    pytest.importorskip("torch", reason="the extra lvm is not installed")
    made = train_model(*planted, tmp_path, "recurrent", context=0, most=200)
    assert made.context == 0
    x = planted[0].vectors[0]
    assert np.array_equal(made.predict(x, planted[0].vectors[:3]), made.predict(x, planted[0].vectors[:0]))


def test_the_fewest_windows_to_train_on(planted, tmp_path):
    bank, sequences = planted
    for count in (2, 3, 9):
        payload = train_model(bank, sequences, tmp_path, context=1, most=count).manifest["training"]
        assert (payload["windows"], payload["kept_back"]) == (count - 1, 1)
    with pytest.raises(ModelError, match="1 windows are too few"):
        train_model(bank, sequences, tmp_path, most=1)
