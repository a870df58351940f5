"""The training of rerankers without torch: sources, negatives, the judgement, the exported tokenizer."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks/ is no part of the package

from benchmarks.reranker.corpus import SHARD, Corpus, States, build_corpus, compute_states, read_corpus  # noqa: E402
from benchmarks.reranker.judge import choose_weight, judge_split, ndcg, rerank  # noqa: E402
from benchmarks.reranker.mining import is_near_duplicate, mine_lists  # noqa: E402
from benchmarks.reranker.sources import Question, Source, TrainingError, join_questions, read_source  # noqa: E402
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
        (gzip.compress(b'{"q": "a"}\n' * 4000, mtime=0)[:-20], "is damaged"),
        (gzip.compress(b"{nonsense\n", mtime=0), "line 1, is not JSON"),
        (gzip.compress(b'{"q": "a", "pos": []}\n[1]\n', mtime=0), "line 2, is not an object"),
        (gzip.compress(b'{"q": "\xff"}\n', mtime=0), "is damaged"),
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


def test_two_questions_become_one_with_two_answers():
    def question(source, text, weight=1.0):
        return Question(source, text, weight, (f"answer of {text}", f"second of {text}"), (f"none of {text}",) * 2)

    long = "a question of far too many words to be one half of a question that is read whole"
    given = [question("x", "Who?"), question("x", "When?"), question("y", "Where?"), question("x", long)]
    given.append(question("x", "A heading", 0.3))
    (joined,) = join_questions(given, 1.0, 0)
    first, second = joined.text.removesuffix("?").split(" and ")
    assert {first, second} == {"Who", "When"}
    assert joined.positives == (f"answer of {first}?", f"answer of {second}?")
    assert joined.negatives == (f"none of {first}?", f"none of {second}?")
    assert set(joined.other_answers) == {"second of Who?", "second of When?"}
    assert (joined.source, joined.weight) == ("x", 0.5)
    assert join_questions(given, 0.0, 0) == []
    assert join_questions([], 1.0, 0) == []


def test_the_command_reports_a_missing_source_and_ends(tmp_path):
    with pytest.raises(SystemExit, match="there is no source file") as caught:
        main(["--work", str(tmp_path), "data", "--train", str(tmp_path), "--sources", "wikiqa"])
    assert "cure:" in str(caught.value)


# -- corpus and negatives


def test_a_corpus_of_other_settings_is_refused(train, tmp_path):
    work = tmp_path / "work"
    corpus = build_corpus(train, work, 0, 1.0, ["wikiqa"], [], 0.0)
    assert build_corpus(train, work, 0, 1.0, ["wikiqa"], [], 0.0).texts == corpus.texts
    assert len(corpus.questions) == 12
    assert corpus.passages == len({*corpus.texts[: corpus.passages]})
    with pytest.raises(TrainingError, match="other settings"):
        build_corpus(train, work, 1, 1.0, ["wikiqa"], [], 0.0)
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
