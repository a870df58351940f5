"""The listwise trainer of the ranker, its training datasets, and what is judged of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from assay.bench.datasets import load
from assay.types import Floats
from benchmarks import ranker_sources
from benchmarks.listwise import fit_listwise
from benchmarks.ranker_left_out import Judged, _summarise, compare_with_first
from benchmarks.reranker.sources import TrainingError
from benchmarks.train_ranker import Questions

START = np.array([1.0, 1.0])


def make_questions(features: Floats, grade: Floats, document: Floats | None = None) -> Questions:
    size = features.shape[1]
    documents = np.tile(np.arange(size), (len(features), 1)) if document is None else document
    return Questions(features.astype(np.float32), documents.astype(np.int64), grade, np.ones(len(features)), 0)


def draw(useful: int, seed: int = 0) -> Questions:
    """Questions whose answer is the candidate with the best value of one feature, with some noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(60, 8, 2))
    best = (features[:, :, useful] + 0.3 * rng.normal(size=(60, 8))).argmax(axis=1)
    return make_questions(features, np.eye(8)[best])


@pytest.mark.parametrize("useful", [0, 1])
def test_the_useful_feature_gets_the_weight(useful: int) -> None:
    weights = fit_listwise([draw(useful)], [1.0], START, 0.001)
    assert weights[useful] > 4.0 * abs(weights[1 - useful])


def test_the_gradient_is_that_of_the_loss() -> None:
    """At the minimum without a penalty every small move is worse, by the formula written out."""
    questions = draw(0)
    weights = fit_listwise([questions], [1.0], START, 1e-9)

    def loss(of: Floats) -> float:
        score = questions.features.astype(np.float64) @ of
        return float(-np.log(np.exp(score)[questions.grade > 0] / np.exp(score).sum(axis=1)).mean())

    def best_scale(direction: Floats) -> float:
        return min(loss(scale * direction) for scale in np.linspace(0.05, 20.0, 4000))

    least = best_scale(weights)
    for move in ([0.2, 0.0], [-0.2, 0.0], [0.0, 0.2], [0.0, -0.2]):
        assert best_scale(weights + np.abs(weights).max() * np.array(move)) > least


def test_a_large_penalty_stays_at_the_start() -> None:
    assert fit_listwise([draw(0)], [1.0], START, 1e6) == pytest.approx(START, abs=1e-3)


def test_a_set_counts_by_its_weight_and_not_its_size() -> None:
    one, other = draw(0), draw(1, seed=3)
    few = Questions(other.features[:20], other.document[:20], other.grade[:20], other.ideal[:20], 0)
    alike = fit_listwise([one, few], [1.0, 1.0], START, 0.01)
    assert abs(alike[0] - alike[1]) < 0.5 * alike.max()
    light = fit_listwise([one, few], [1.0, 0.05], START, 0.01)
    assert light[0] > 2.0 * light[1]


def test_a_document_is_found_by_any_of_its_chunks() -> None:
    """The second chunk of the answer has the worst features, and does not spoil the first."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40, 6, 2))
    features[:, 0, 0], features[:, 1, 0] = 3.0, -3.0
    document = np.tile(np.array([0, 0, 1, 2, 3, 4]), (40, 1))
    grade = np.tile(np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]), (40, 1))
    weights = fit_listwise([make_questions(features, grade, document)], [1.0], START, 0.01)
    assert weights[0] > 2.0 * abs(weights[1])


def test_questions_without_an_answer_teach_nothing() -> None:
    nothing = make_questions(np.ones((3, 4, 2)), np.zeros((3, 4)))
    assert fit_listwise([nothing], [1.0], START, 0.1).tolist() == START.tolist()
    known = draw(0)
    assert fit_listwise([known, nothing], [1.0, 1.0], START, 0.1)[0] > 1.0


def test_the_same_questions_give_the_same_bits() -> None:
    first, second = (fit_listwise([draw(0), draw(1)], [1.0, 0.5], START, 0.1) for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ranker_sources, "SOURCES", {"faq": None, "wikiqa": None})
    monkeypatch.setattr(ranker_sources, "QUESTIONS", 3)
    monkeypatch.setattr(ranker_sources, "PASSAGES", 8)
    folder = tmp_path / "train"
    folder.mkdir()
    with gzip.open(folder / "faq.jsonl.gz", "wt", encoding="utf-8") as lines:
        for number in range(12):
            answer, wrong = (f"{kind} of question number {number}, long enough" for kind in ("The answer", "No answer"))
            lines.write(json.dumps({"q": f"question {number}?", "pos": [answer], "neg": [wrong]}) + "\n")
    return folder


def test_a_source_becomes_a_dataset(train: Path, tmp_path: Path) -> None:
    [folder] = ranker_sources.write_sources(train, tmp_path / "sets")  # the one without a licence is left out
    dataset = load(str(folder), "all")
    documents = {str(document["id"]): str(document["text"]) for document in dataset.documents}
    assert len(dataset.scored) == 3
    assert len(documents) == 8
    for topic in dataset.scored:
        [answer] = dataset.judgements[topic]
        number = dataset.topics[topic].text.removeprefix("question ").rstrip("?")
        assert documents[answer] == f"The answer of question number {number}, long enough"


def test_a_dataset_is_written_once(train: Path, tmp_path: Path) -> None:
    [folder] = ranker_sources.write_sources(train, tmp_path / "sets")
    (train / "faq.jsonl.gz").unlink()
    assert ranker_sources.write_sources(train, tmp_path / "sets") == [folder]
    with pytest.raises(TrainingError, match="there is no source file"):
        ranker_sources.write_sources(train, tmp_path / "other")


def test_the_better_leg_is_that_of_the_set() -> None:
    table = {
        "bm25": [np.array([0.9, 0.8]), np.array([0.1, 0.2])],
        "dense": [np.array([0.1, 0.2]), np.array([0.6, 0.5])],
        "default-0.1": [np.array([0.8, 0.8]), np.array([0.5, 0.5])],
        "learned": [np.array([1.0, 0.9]), np.array([0.5, 0.4])],
    }
    found = _summarise(["words", "meaning"], table)
    assert found["over the better leg"]["learned"]["words"]["leg"] == "bm25"
    assert found["over the better leg"]["learned"]["words"]["difference"] == pytest.approx(0.1)
    assert found["over the better leg"]["learned"]["meaning"]["leg"] == "dense"
    assert found["over the better leg"]["learned"]["meaning"]["difference"] == pytest.approx(-0.1)
    assert found["over default-0.1"]["learned"]["difference"] == pytest.approx((0.15 - 0.05) / 2)


def judged(scores: dict[str, dict[str, list[float]]]) -> Judged:
    arrays = {name: {one: np.array(found) for one, found in row.items()} for name, row in scores.items()}
    sets = {name: {"questions": len(found), "digest": name} for name, found in scores["default-0.1"].items()}
    return Judged({"sets": sets}, arrays)


def test_another_encoder_is_compared_with_the_base_of_the_first_on_their_common_sets() -> None:
    first = judged({"default-0.1": {"faq": [0.5, 0.3], "news": [0.6], "more": [0.1]}})
    other = judged({"default-0.1": {"faq": [0.5, 0.5], "news": [0.6]}, "learned": {"faq": [0.6, 0.6], "news": [0.5]}})
    found = compare_with_first(first, other)
    assert found["default-0.1"]["over sets"]["difference"] == pytest.approx((0.1 + 0.0) / 2)
    learned = found["learned"]
    assert learned["over sets"]["difference"] == pytest.approx((0.2 - 0.1) / 2)
    assert learned["over questions"]["difference"] == pytest.approx((0.1 + 0.3 - 0.1) / 3)
    assert learned["over questions"]["n"] == 3
    assert {name: one["difference"] for name, one in learned["within sets"].items()} == pytest.approx(
        {"faq": 0.2, "news": -0.1}
    )


def test_encoders_with_other_questions_are_not_compared() -> None:
    first, other = judged({"default-0.1": {"faq": [0.5]}}), judged({"default-0.1": {"faq": [0.5, 0.5]}})
    with pytest.raises(SystemExit, match="questions of faq differ"):
        compare_with_first(first, other)
