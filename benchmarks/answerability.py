"""Measures the answerability judge: by kind on templates it was not trained on, on real sets, and what it costs.

    python -m benchmarks.answerability WORLD                 writes receipts/answerability.json
    python -m benchmarks.answerability WORLD --parts cost    the times alone; the receipt keeps the rest

WORLD is the folder that the heads were trained on (benchmarks/train_answerability.py); a judgement counts by kind only
if the kind is right. Held out: the shipped heads on templates and splits that training did not read. Left out: heads
trained anew without the template that is judged, or without the whole set. Utility per question: +1 right, −1 a
refused answerable question, −2 an attempted impossible one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.answerability.heads import JudgeModel, load_model
from assay.answerability.judge import DEFAULT_BUDGET, AnswerabilityJudge, decide
from assay.bench.datasets import load
from assay.bench.workspace import Workspace, prepare
from assay.config.resolve import resolve
from assay.embed.vector_cache import CachedEmbedder
from assay.engine.answerability import Answerability
from assay.types import Floats
from benchmarks.measure import RECEIPTS, time_in_turns, write_receipt
from benchmarks.train_answerability import (
    REAL,
    WORDS,
    Example,
    ExampleSet,
    area,
    fit_demand,
    fit_scope,
    is_out_of_scope,
    near_cosine,
    read_examples,
    score_scope,
)

KINDS = {"listing": "listing", "version_diff": "diff", "out_of_scope": "out_of_scope", "long_evidence": "long_evidence"}
SEED, DRAWS = 0, 2000
KEYWORD_QUERIES, ROUNDS = 100, 3

Judged = tuple[Example, str]
"""A question and what the judge said: none, listing, diff, long_evidence or out_of_scope."""


def judge_example(one: Example, heads: JudgeModel) -> str:
    """The kind that heads give to a measured question."""
    return decide(one.query, one.measured, heads, DEFAULT_BUDGET).kind or "none"


def judge_all(examples: Sequence[Example], heads: JudgeModel) -> list[Judged]:
    return [(one, judge_example(one, heads)) for one in examples]


def by_kind(judged: Sequence[Judged]) -> dict[str, Any]:
    """Precision, recall and F1 of every kind and of impossible as a whole, and the mean utility."""
    result = {}
    for kind in (*KINDS.values(), "impossible"):
        positive = [_is(KINDS.get(one.kind, "none"), kind) for one, _ in judged]
        said = [_is(word, kind) for _, word in judged]
        right = sum(p and s for p, s in zip(positive, said, strict=True))
        precision = right / sum(said) if sum(said) else None
        recall = right / sum(positive) if sum(positive) else None
        f1 = None if not precision or not recall else round(2 * precision * recall / (precision + recall), 3)
        result[kind] = {
            "questions": sum(positive),
            "judged": sum(said),
            "precision": None if precision is None else round(precision, 3),
            "recall": None if recall is None else round(recall, 3),
            "f1": f1,
        }
    return {"questions": len(judged), "kinds": result, "utility": utilities(judged)}


def _is(word: str, kind: str) -> bool:
    return word != "none" if kind == "impossible" else word == kind


def utilities(judged: Sequence[Judged]) -> dict[str, float]:
    """The mean utility of the judge, of always attempting, of always refusing."""
    impossible = np.array([one.kind != "none" for one, _ in judged])
    refused = np.array([word != "none" for _, word in judged])
    return {
        "judge": _utility(impossible, refused),
        "attempt_all": _utility(impossible, np.zeros(len(judged), np.bool_)),
        "refuse_all": _utility(impossible, np.ones(len(judged), np.bool_)),
    }


def _utility(impossible: Any, refused: Any) -> float:
    gained = np.where(impossible == refused, 1.0, np.where(refused, -1.0, -2.0))
    return round(float(gained.mean()), 3)


def leave_templates_out(world: Sequence[Example], real: Sequence[Sequence[Example]]) -> list[Judged]:
    """Every question of the world under heads that never saw its template."""
    judged: list[Judged] = []
    for template in sorted({one.template for one in world}):
        rest = [[one for one in world if one.template != template], *real]
        heads = JudgeModel(fit_demand(rest), fit_scope(rest), near_cosine(rest))
        judged += judge_all([one for one in world if one.template == template], heads)
    return judged


def measure_areas(name: str, examples: Sequence[Example], score: Floats) -> dict[str, Any]:
    """The area under the ROC curve with its bootstrap interval, against the best score of the search and the cosine."""
    lost = is_out_of_scope(examples)
    low, high = bootstrap(score[lost], score[~lost])
    found = np.array([-one.score for one in examples])
    cosine = np.array([-one.cosine for one in examples])
    return {
        "set": name,
        "answerable": int((~lost).sum()),
        "unanswerable": int(lost.sum()),
        "area": round(area(score[lost], score[~lost]), 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "area_of_search_score": round(area(found[lost], found[~lost]), 3),
        "area_of_cosine": round(area(cosine[lost], cosine[~lost]), 3),
    }


def bootstrap(positive: Floats, negative: Floats) -> tuple[float, float]:
    """The 95 % interval of the area; questions of both kinds are drawn with replacement."""
    generator = np.random.default_rng(SEED)
    draws = [
        area(generator.choice(positive, len(positive)), generator.choice(negative, len(negative))) for _ in range(DRAWS)
    ]
    return float(np.quantile(draws, 0.025)), float(np.quantile(draws, 0.975))


def flags(examples: Sequence[Example], heads: JudgeModel) -> dict[str, Any]:
    """How many questions of a real set are judged impossible, and how many of those rightly."""
    said = [judge_example(one, heads) for one in examples]
    lost = is_out_of_scope(examples)
    caught = sum(word == "out_of_scope" and bool(gone) for word, gone in zip(said, lost, strict=True))
    wrong = Counter(word for word, gone in zip(said, lost, strict=True) if word != "none" and not gone)
    judged = sum(word == "out_of_scope" for word in said)
    return {
        "precision": round(caught / judged, 3) if judged else None,
        "recall": round(caught / int(lost.sum()), 3),
        "false_alarms": {kind: round(count / int((~lost).sum()), 3) for kind, count in sorted(wrong.items())},
    }


def ask(workspace: Workspace, text: str) -> Answerability:
    answer = workspace.kb.search(text)
    assert answer.answerability is not None
    return answer.answerability


def measure_keywords(names: Sequence[str]) -> list[dict[str, Any]]:
    """Searches of one or two words of a chunk, as people type them: none of them is out of scope."""
    rows = []
    for name in names:
        with prepare(load(name, "dev")) as workspace:
            generator = np.random.default_rng(SEED)
            view = workspace.snapshot
            chosen = generator.choice(view.size, KEYWORD_QUERIES)
            refused = 0
            for number, chunk in enumerate(view.chunks(np.sort(chosen))):
                words = sorted({word for word in chunk.text.split() if word.isalpha() and len(word) > 3})
                if not words:
                    continue
                refused += not ask(workspace, " ".join(generator.choice(words, 1 + number % 2))).answerable
            nonsense = [_nonsense(generator) for _ in range(KEYWORD_QUERIES)]
            caught = sum(ask(workspace, text).kind == "out_of_scope" for text in nonsense)
            rows.append(
                {
                    "set": name,
                    "keyword_refused": round(refused / KEYWORD_QUERIES, 3),
                    "nonsense_recognised": round(caught / len(nonsense), 3),
                }
            )
    return rows


def _nonsense(generator: np.random.Generator) -> str:
    """Two words that no language has, made of syllables."""
    syllables = ("zor", "bla", "qui", "mble", "frax", "vok", "tri", "nuj", "pex", "wob", "gli", "drum")
    return " ".join("".join(generator.choice(syllables, 3)) for _ in range(2))


def measure_cost(name: str, questions: int = 60) -> dict[str, Any]:
    """Searches without a judge, with one whose judgement nobody reads, and with one that is read, in turns; queries are
    embedded in each of them, without a cache, except in `bare` and `bare_read`."""
    dataset = load(name, "dev")
    pipeline = resolve("default")
    with prepare(dataset) as workspace:
        topics = [dataset.topics[topic] for topic in sorted({*dataset.scored, *dataset.abstain})[:questions]]
        encode = workspace.kb.embedder
        assert encode is not None
        inner = encode.inner if isinstance(encode, CachedEmbedder) else encode
        judge = AnswerabilityJudge(str(workspace.kb.store.settings["model"]))
        bare, whole = ([workspace.query(topic, with_vector) for topic in topics] for with_vector in (False, True))
        view = workspace.snapshot
        times = time_in_turns(
            {
                "no_judge": lambda i: pipeline.run(bare[i], view, inner.encode_query),
                "unread": lambda i: pipeline.run(bare[i], view, inner.encode_query, judge=judge),
                "read": lambda i: pipeline.run(bare[i], view, inner.encode_query, judge=judge).answerability,
                "bare": lambda i: pipeline.run(whole[i], view),
                "bare_read": lambda i: pipeline.run(whole[i], view, judge=judge).answerability,
            },
            len(topics),
            ROUNDS,
        )
        chunks = view.size
    middle = {name: line["p50_ms"] for name, line in times.items()}
    return {
        "set": dataset.name,
        "chunks": chunks,
        "times": times,
        "unread_over_no_judge": round(middle["unread"] / middle["no_judge"], 3),
        "read_over_no_judge": round(middle["read"] / middle["no_judge"], 3),
        "read_over_no_judge_without_embedding": round(middle["bare_read"] / middle["bare"], 3),
    }


def measure_sets(
    real: Mapping[str, tuple[ExampleSet, ExampleSet]], world: tuple[ExampleSet, ExampleSet], heads: JudgeModel
) -> dict[str, Any]:
    """Areas on the confirming splits: the shipped head, words alone, and a head trained without the set."""
    held, left, words, flagged = [], [], [], {}
    every = {**real, "world": world}
    words_head = fit_scope([dev.examples for dev, _ in every.values()], WORDS)
    for name, (_, test) in every.items():
        held.append(measure_areas(name, test.examples, score_scope(heads.scope, test.examples)))
        words.append(measure_areas(name, test.examples, score_scope(words_head, test.examples)))
        others = fit_scope([dev.examples for other, (dev, _) in every.items() if other != name])
        left.append(measure_areas(name, test.examples, score_scope(others, test.examples)))
        if name != "world":
            flagged[name] = flags(test.examples, heads)
    return {"held_out": held, "words_only": words, "left_set_out": left, "flagged": flagged}


def measure_quality(world: str, progress: Callable[[str], None] = print) -> dict[str, Any]:
    progress("reading the world and the real sets")
    of_world = (read_examples(world, "dev"), read_examples(world, "test"))
    real = {name: (read_examples(name, "dev"), read_examples(name, "test")) for name in REAL}
    heads = load_model(of_world[0].model)
    assert heads.near is not None
    tuning, held_out = (one.examples for one in of_world)
    dev_sets = [dev.examples for dev, _ in real.values()]
    progress("leaving templates out")
    left_out = leave_templates_out([*tuning, *held_out], dev_sets)
    progress("keywords and nonsense")
    return {
        "world": {
            "held_out_templates": by_kind(judge_all(held_out, heads)),
            "left_template_out": by_kind(left_out),
            "tuning_templates": by_kind(judge_all(tuning, heads)),
        },
        "real": measure_sets(real, of_world, heads),
        "short_queries": measure_keywords(("multihoprag_facts", "locomo", "squad2_mini")),
        "digests": {f"{one.name} {one.split}": one.digest for pair in (of_world, *real.values()) for one in pair},
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("world")
    parser.add_argument("--parts", nargs="+", choices=("quality", "cost"), default=["quality", "cost"])
    options = parser.parse_args()
    path = RECEIPTS / "answerability.json"
    measured = json.loads(path.read_text("utf-8"))["measured"] if path.exists() else {}
    if "quality" in options.parts:
        measured |= measure_quality(options.world)
    if "cost" in options.parts:
        measured["cost"] = [measure_cost(name) for name in (options.world, *REAL)]
    print(write_receipt("answerability", measured))


if __name__ == "__main__":
    main()
