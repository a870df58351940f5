"""The training of rerankers: seeds, a run that is killed, damaged checkpoints, the exported graph. Tiny configurations,
skipped where torch is not installed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks/ is no part of the package

from benchmarks.reranker.sources import TrainingError  # noqa: E402


@pytest.fixture
def training():
    pytest.importorskip("torch", reason="torch is not installed: pip install -e '.[lvm]'")
    from benchmarks.reranker import training

    return training


LISTS = [
    {"query": n, "positives": [n % 5], "negatives": [5 + n % 3, 8, 9], "weight": 1.0 if n % 2 else 0.3}
    for n in range(30)
]

SCRIPT = """
import sys, time
from pathlib import Path
import torch
sys.path.insert(0, sys.argv[1])
sys.path.insert(0, sys.argv[2])
import test_run_training as tests
from benchmarks.reranker import training
run = tests.new_run(training, Path(sys.argv[3]), steps=60)
tests.train_run(run, pause=0.05)
"""


def new_run(training, folder, steps=12, seed=0):
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    plan = training.Plan(seed=seed, steps=steps, lists=3, rate=0.05, threads=1, check_every=4, save_every=0.0)
    return training.Run(folder, model, [{"params": list(model.parameters()), "lr": plan.rate}], plan, "tiny")


def train_run(run, pause=0.0):
    import torch

    def score(model, pairs):
        time.sleep(pause)
        features = [[np.sin(q * p), np.cos(q + p), p / 10, 1.0] for q, p in pairs]
        return model(torch.tensor(features, dtype=torch.float32))[:, 0]

    run.train(LISTS, score, lambda _: None)
    return {name: value.clone() for name, value in run.model.state_dict().items()}


def test_a_killed_run_goes_on_and_ends_as_an_uninterrupted_one(training, tmp_path):
    whole = train_run(new_run(training, tmp_path / "whole", steps=60))
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(ROOT), str(Path(__file__).parent), str(tmp_path / "cut")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while process.poll() is None and not (tmp_path / "cut" / "checkpoint.pt").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    resumed = new_run(training, tmp_path / "cut", steps=60)
    assert 0 < resumed.step < 60
    after = train_run(resumed)
    assert all((after[name] == value).all() for name, value in whole.items())
    curves = [json.loads((tmp_path / name / "curve.json").read_text())["curve"] for name in ("whole", "cut")]
    assert [row["held_out_mrr"] for row in curves[0]] == [row["held_out_mrr"] for row in curves[1]]


def test_a_run_may_get_another_length_when_it_goes_on(training, tmp_path):
    """The rate falls to zero at the new end; the file says from which step on which length was planned."""
    train_run(new_run(training, tmp_path / "run", steps=8))
    longer = new_run(training, tmp_path / "run", steps=20)
    assert longer.step == 8
    train_run(longer)
    shorter = new_run(training, tmp_path / "run", steps=20)
    assert (shorter.step, shorter.lengths) == (20, [(0, 8), (8, 20)])
    assert json.loads((tmp_path / "run" / "curve.json").read_text())["lengths"] == [[0, 8], [8, 20]]


def test_a_seed_decides_the_run(training, tmp_path):
    one, same, other = (train_run(new_run(training, tmp_path / n, seed=s)) for n, s in (("a", 0), ("b", 0), ("c", 1)))
    assert (one["weight"] == same["weight"]).all()
    assert (one["weight"] != other["weight"]).any()


def test_a_damaged_checkpoint_and_other_settings_are_refused(training, tmp_path):
    train_run(new_run(training, tmp_path / "run"))
    with pytest.raises(TrainingError, match=r"other settings .*'seed': \(0, 3\)"):
        new_run(training, tmp_path / "run", seed=3)
    checkpoint = tmp_path / "run" / "checkpoint.pt"
    raw = checkpoint.read_bytes()
    for damaged in (raw[: len(raw) // 2], b"", b"nonsense"):
        checkpoint.write_bytes(damaged)
        with pytest.raises(TrainingError, match="is damaged") as caught:
            new_run(training, tmp_path / "run")
        assert "train again" in caught.value.cure
    with pytest.raises(TrainingError, match="there is no run"):
        training.read_checkpoint(tmp_path / "elsewhere")


def test_every_list_is_drawn_once_an_epoch(training):
    plan = training.Plan(lists=5, negatives=2)
    drawn = [one for step in range(6) for one in training.draw_lists(LISTS, plan, step)]
    assert sorted(query for query, _, _ in drawn) == list(range(30))
    for query, passages, weight in drawn:
        assert passages[0] == query % 5
        assert set(passages[1:]) <= set(LISTS[query]["negatives"])
        assert len(passages) == 3
        assert weight == LISTS[query]["weight"]


def test_the_rate_warms_up_and_falls_to_zero(training):
    plan = training.Plan(steps=100, warm_up=0.1)
    assert [plan.rate_at(step) for step in (0, 9, 10)] == pytest.approx([0.1, 1.0, 1.0])
    assert plan.rate_at(55) == pytest.approx(0.5)
    assert plan.rate_at(99) < 0.001


@pytest.fixture
def weights():
    """A random encoder of the right shape with a small vocabulary table behind the special tokens."""
    rng = np.random.default_rng(0)

    def table(*shape):
        return (rng.standard_normal(shape) * 0.05).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": table(2000, 384),
        "embeddings.position_embeddings.weight": table(64, 384),
        "embeddings.token_type_embeddings.weight": table(2, 384),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(6):
        at = f"encoder.layer.{layer}"
        for name, shape in (
            *((f"attention.self.{part}", (384, 384)) for part in ("query", "key", "value")),
            ("attention.output.dense", (384, 384)),
            ("intermediate.dense", (1536, 384)),
            ("output.dense", (384, 1536)),
        ):
            found[f"{at}.{name}.weight"], found[f"{at}.{name}.bias"] = table(*shape), table(shape[0])
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    for name in norms:
        found[f"{name}.weight"], found[f"{name}.bias"] = 1.0 + table(384), table(384)
    return found


def test_the_exported_graph_scores_as_the_trained_model(training, weights, tmp_path):
    """float32: equal to the last digits; int8: close. The query and the passage start at position 0 each."""
    import onnxruntime
    import torch

    from assay.text.wordpiece import CLS, SEP
    from benchmarks.reranker.encoder import LAYERS, LOWER, FrozenEncoder, name_weights
    from benchmarks.reranker.export import write_cross_encoder
    from benchmarks.reranker.joint import JointEncoder, join_pairs

    torch.manual_seed(1)
    model = JointEncoder(weights)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter += 0.02 * torch.randn_like(parameter) * (1.0 if "layers" in name else 20.0)
    head = {
        name: getattr(model, name).detach().numpy() for name in ("segment", "product", "likeness", "attend", "first")
    }
    head |= {"scale": np.array(0.5, np.float32), "shift": np.array(-2.0, np.float32)}
    trained = {**weights, **name_weights(model.layers, LOWER)}
    query, passages = [1005, 1006, 1007], [[1900, 1006, 1500], [1001] * 20, [1333, 1007]]
    encoder = FrozenEncoder(weights)
    lower = [low for low, _ in encoder.states([query, *passages], bf16=False)]
    with torch.inference_mode():
        together = model(join_pairs([lower[0]] * 3, lower[1:])).numpy()
        alone = [float(model(join_pairs([lower[0]], [one]))[0]) for one in lower[1:]]
    assert together == pytest.approx(alone, abs=1e-3)  # padding changes nothing
    for int8, tolerance in ((False, 0.02), (True, 0.6)):
        graph = onnxruntime.InferenceSession(write_cross_encoder(trained, head, LOWER, LAYERS, int8=int8))
        for passage_ids, logit in zip(passages, together, strict=True):
            ids = [CLS, *query, SEP, CLS, *passage_ids, SEP]
            types = [0] * 5 + [1] * (len(ids) - 5)
            inputs = {"input_ids": np.array([ids]), "token_type_ids": np.array([types])}
            (found,) = graph.run(None, inputs)[0]
            assert found == pytest.approx(0.5 * logit - 2.0, abs=tolerance)


def test_untrained_late_interaction_is_that_of_the_step(training):
    import torch

    from assay.embed.token_codes import quantise_vectors
    from assay.rerank.max_sim import max_sim
    from benchmarks.reranker.joint import join_pairs
    from benchmarks.reranker.late import START, TokenProjection

    rng = np.random.default_rng(3)
    unit = [
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (rng.standard_normal((n, 384)) for n in (4, 9, 6))
    ]
    query, *texts = (rows.astype(np.float32) for rows in unit)
    step = max_sim(quantise_vectors(query, 8), [quantise_vectors(text, 1) for text in texts], both=True)
    with torch.inference_mode():
        logits = TokenProjection()(join_pairs([query, query], texts)).numpy()
    assert logits / START == pytest.approx(step, abs=2e-3)  # the step rounds the query to 8 bits


def test_calibration_recovers_a_scale(training):
    from benchmarks.reranker.arms import calibrate

    rng = np.random.default_rng(0)
    logits = rng.uniform(-3, 3, 20_000)
    answers = rng.uniform(size=20_000) < 1 / (1 + np.exp(-(1.5 * logits)))  # half of them are answers
    scale, shift = calibrate(logits + 4.0, answers)
    assert scale == pytest.approx(1.5, abs=0.1)
    assert shift == pytest.approx(-6.0, abs=0.4)
