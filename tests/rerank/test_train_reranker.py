"""The training of rerankers: bad input, seeds, and a run that is killed. Tiny data; the parts with torch are skipped
where it is not installed."""

import gzip
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

from benchmarks.reranker.corpus import SHARD, Corpus, States, build_corpus, compute_states, read_corpus  # noqa: E402
from benchmarks.reranker.judge import choose_weight, judge_split, ndcg, rerank  # noqa: E402
from benchmarks.reranker.mining import is_near_duplicate, mine_lists  # noqa: E402
from benchmarks.reranker.sources import Source, TrainingError, read_source  # noqa: E402
from benchmarks.train_reranker import main  # noqa: E402

TOPICS = ("rivers", "engines", "violins", "glaciers", "markets", "pollen")


def passage(topic: str, number: int) -> str:
    return f"Passage {number} about {topic}: a long enough sentence on {topic} and number {number} of its kind."


@pytest.fixture
def train(tmp_path):
    """A source of twelve questions; every second one has a negative."""
    lines = [
        {
            "q": f"what is told of {topic} number {n}?",
            "pos": [passage(topic, n)],
            "neg": [passage(topic, n + 7)][: n % 2],
        }
        for topic in TOPICS
        for n in range(2)
    ]
    write(tmp_path / "train" / "wikiqa.jsonl.gz", lines)
    return tmp_path / "train"


def write(path: Path, lines: list) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


# -- sources


def test_a_sample_depends_on_the_seed_alone(train):
    source = Source(4, 0.3)
    one, again, other = (read_source(train, "wikiqa", source, seed) for seed in (0, 0, 1))
    assert one == again
    assert len(one) == 4
    assert one != other
    assert {question.weight for question in one} == {0.3}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no source file"),
        (b"not gzip", "is damaged"),
        (gzip.compress(b'{"q": "a"}\n' * 4000)[:-20], "is damaged"),
        (gzip.compress(b"{nonsense\n"), "line 1, is not JSON"),
        (gzip.compress(b'{"q": "a", "pos": []}\n[1]\n'), "line 2, is not an object"),
        (gzip.compress(b'{"q": "\xff"}\n'), "is damaged"),
    ],
)
def test_a_bad_source_is_named_with_its_cure(tmp_path, content, message):
    if content is not None:
        (tmp_path / "boolq.jsonl.gz").write_bytes(content)
    with pytest.raises(TrainingError, match=message) as caught:
        read_source(tmp_path, "boolq", Source(5), 0)
    assert caught.value.cure


def test_records_without_question_or_answer_are_left_out(tmp_path):
    long = "an answer that is long enough to be a passage"
    records = [
        {"q": "", "pos": [long]},
        {"q": "a", "pos": ["short"]},
        {"q": None},
        {},
        {"q": " b ", "pos": [long, long, 3]},
    ]
    write(tmp_path / "t" / "boolq.jsonl.gz", records)
    (question,) = read_source(tmp_path / "t", "boolq", Source(9), 0)
    assert (question.text, question.positives, question.negatives) == ("b", (long,), ())


def test_the_command_reports_a_missing_source_and_ends(tmp_path):
    with pytest.raises(SystemExit, match="there is no source file") as caught:
        main(["--work", str(tmp_path), "data", "--train", str(tmp_path), "--sources", "wikiqa"])
    assert "cure:" in str(caught.value)


# -- corpus and negatives


def test_a_corpus_of_other_settings_is_refused(train, tmp_path):
    work = tmp_path / "work"
    corpus = build_corpus(train, work, 0, 1.0, ["wikiqa"], [])
    assert build_corpus(train, work, 0, 1.0, ["wikiqa"], []).texts == corpus.texts
    assert len(corpus.questions) == 12
    assert corpus.passages == len({*corpus.texts[: corpus.passages]})
    with pytest.raises(TrainingError, match="other settings"):
        build_corpus(train, work, 1, 1.0, ["wikiqa"], [])
    (work / "questions.json").write_text((work / "questions.json").read_text()[:100])
    with pytest.raises(TrainingError, match="cannot be read"):
        read_corpus(work)


def encode(texts):
    """Two "states" of a text: its pieces, and their negatives."""
    rows = [np.array(text, np.float32)[:, None] for text in texts]
    return [(row, -row) for row in rows]


def test_states_are_computed_once_and_damage_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.reranker.corpus.SHARD", 4)
    corpus = Corpus({}, [], [f"{'word ' * n}end" for n in range(1, 11)], 8)
    calls = []

    def counted(texts):
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(texts)

    with pytest.raises(KeyboardInterrupt):
        compute_states(corpus, tmp_path, counted, lambda _: None)
    states = compute_states(corpus, tmp_path, counted, lambda _: None)
    assert calls == [4, 4, 2, 2]  # the third was interrupted; the first two are not computed again
    for number, pieces in enumerate(corpus.pieces):
        assert states.lower(number)[:, 0].tolist() == pieces
        assert states.last(number)[:, 0].tolist() == [-piece for piece in pieces]
    damaged = tmp_path / "states" / "001.lower.npy"
    damaged.write_bytes(damaged.read_bytes()[:40])
    with pytest.raises(TrainingError, match="run the step") as caught:
        States(tmp_path / "states", 10).lower(5)
    assert "states" in str(caught.value)
    assert SHARD > 100


def test_negatives_are_neither_answers_nor_copies_of_them(tmp_path):
    answer = "the moon formed from the debris of a giant impact between the earth and another body long ago"
    texts = [
        answer,
        f"As is well known, {answer}, say most.",  # contains the answer
        "the moon has many craters, which were made by impacts of smaller bodies over a long time",
        "the tides of the sea follow the moon, and the sun adds its own smaller pull to that",
        "how was the moon formed",
    ]
    record = {"source": "s", "text": "how was the moon formed", "weight": 1.0, "other_answers": [], "query": 4}
    corpus = Corpus({}, [{**record, "positives": [0], "negatives": [1, 2, 3]}], texts, 4)
    (found,) = mine_lists(corpus, np.eye(5, dtype=np.float32), tmp_path, lambda _: None)
    assert sorted(found["negatives"]) == [2, 3]
    same = np.eye(5, dtype=np.float32)
    same[2] = same[0]  # the encoder says passage 2 means the same
    (tmp_path / "lists.json").unlink()
    assert mine_lists(corpus, same, tmp_path, lambda _: None) == []  # one negative is not enough for a list


def test_near_duplicates():
    assert is_near_duplicate("one two three four five", "zero one two three four five six seven eight nine ten")
    assert not is_near_duplicate("one two three four five", "five four three two one")
    assert is_near_duplicate("Two Words", "two words")


# -- judgement


def test_ndcg_by_hand():
    # gains 0, 2, 1 at ranks 1 to 3; the ideal order is 2, 1, 1
    found = (2 / np.log2(3) + 1 / np.log2(4)) / (2 + 1 / np.log2(3) + 1 / np.log2(4))
    assert ndcg(["x", "a", "b"], {"a": 2, "b": 1, "c": 1}) == pytest.approx(found)
    assert ndcg([], {"a": 1}) == 0.0


RANKED = [("c1", "a", 0.9), ("c2", "b", 0.8), ("c3", "a", 0.7), ("c4", "c", 0.6), ("c5", "d", 0.5)]


def test_rerank_blends_the_pool_only():
    logits = {"c1": 0.0, "c2": 5.0, "c3": 0.0, "c4": 0.0, "c5": 99.0}
    assert rerank(RANKED, logits, 0.0) == ["a", "b", "c", "d"]
    assert rerank(RANKED, logits, 1.0, pool=4) == ["b", "a", "c", "d"]
    assert rerank(RANKED[:1], {}, 1.0) == ["a"]


def test_the_weight_is_the_best_on_dev():
    logits = {"c1": 0.0, "c2": 5.0, "c3": 0.0, "c4": 0.0, "c5": 0.0}
    helped = {"questions": [{"id": "q", "grades": {"b": 1}, "rankings": {"default": RANKED}}], "texts": {}}
    harmed = {"questions": [{"id": "q", "grades": {"a": 1}, "rankings": {"default": RANKED}}], "texts": {}}
    assert choose_weight([harmed], "default", [{"q": logits}]) == 0.0
    weight = choose_weight([helped], "default", [{"q": logits}])
    assert judge_split(helped, "default", {"q": logits}, weight).tolist() == [1.0]
    assert judge_split(helped, "default", {"q": logits}, 0.0).tolist() == pytest.approx([1 / np.log2(3)])
    # z(score) 1.414 and 0.707, z(logit) -0.5 and 2 for a and b: b leads from 0.707 / 2.5 = 0.283 on
    assert weight == 0.3


# -- export


@pytest.mark.parametrize(
    "text", ["How many m\u00fcsli-bars?", "\u4f60\u597d CVE-2024-1234", "", "[CLS] unaffable \u0130stanbul"]
)
def test_the_exported_tokenizer_reads_as_the_encoder_does(text):
    from tokenizers import Tokenizer

    from assay.text.wordpiece import CLS, SEP, encode_pieces
    from benchmarks.reranker.export import write_tokenizer

    pair = Tokenizer.from_str(write_tokenizer()).encode("the key", text)
    pieces = encode_pieces(text)
    assert pair.ids == [CLS, *encode_pieces("the key"), SEP, CLS, *pieces, SEP]
    assert pair.type_ids == [0] * 4 + [1] * (len(pieces) + 2)


# -- training (torch)


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
import test_train_reranker as tests
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
