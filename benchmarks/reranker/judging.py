"""Runs the judgement: states of the candidates, scores of each reranker, and the table that goes into the receipt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.util.atomic_files import atomic_path
from benchmarks.reranker.candidates import PRESETS, read_candidates
from benchmarks.reranker.corpus import Corpus, States, compute_states
from benchmarks.reranker.judge import (
    WEIGHTS,
    Logits,
    choose_weight,
    judge_split,
    mean_over_sets,
    score_candidates,
    standard_error,
)

PIECES = 128  # of a candidate's text

ScorePairs = Callable[[States, list[tuple[int, int]]], np.ndarray]
Encode = Callable[[Sequence[Sequence[int]]], list[tuple[np.ndarray, np.ndarray]]]


def score_set(
    folder: Path,
    name: str,
    splits: Sequence[str],
    rerankers: Mapping[str, ScorePairs],
    encode: Encode,
    report: Callable[[str], None],
) -> None:
    """Write <set>.<reranker>.json, the logits of every question's candidates, for rerankers that have none yet."""
    missing = {key: score for key, score in rerankers.items() if not _scores_path(folder, name, key).exists()}
    if not missing:
        return
    read = [read_candidates(folder, name, split) for split in splits]
    passages = list(dict.fromkeys(text for split in read for text in split["texts"].values()))
    questions = dict.fromkeys("\0" + question["text"] for split in read for question in split["questions"])
    corpus = Corpus({}, [], [*passages, *(text[1:] for text in questions)], len(passages), PIECES)
    states = compute_states(corpus, folder / name, encode, lambda text: report(f"{name}, {text}"))
    number = {text: place for place, text in enumerate([*passages, *questions])}
    for key, score in missing.items():
        logits = score_candidates(read, number, lambda pairs, score=score: score(states, pairs))  # type: ignore[misc]
        with atomic_path(_scores_path(folder, name, key)) as target:
            Path(target).write_text(json.dumps(logits), "utf-8")
        report(f"{name}: scored by {key}")


def read_scores(folder: Path, name: str, key: str) -> Logits:
    logits: Logits = json.loads(_scores_path(folder, name, key).read_text("utf-8"))
    return logits


def _scores_path(folder: Path, name: str, key: str) -> Path:
    return folder / f"{name}.{key}.json"


def judge_all(
    folder: Path, sets: Sequence[str], dev: str, test: str, keys: Sequence[str], margin: float = 0.01
) -> dict[str, Any]:
    """Every preset alone and with every reranker at the weight that dev chose.

    `passes` is the bar for shipping: over the preset `learned`, at least `margin` in the mean, and no set below it by
    more than `margin`.
    """
    splits = {split: [read_candidates(folder, name, split) for name in sets] for split in (dev, test)}
    facts = {
        f"{name} {split}": {"questions": len(one["questions"]), "digest": one["digest"]}
        for split, read in splits.items()
        for name, one in zip(sets, read, strict=True)
    }
    results: dict[str, Any] = {}
    none: list[Logits] = [{} for _ in sets]
    alone = {split: {preset: _row(read, preset, none, 0.0) for preset in PRESETS} for split, read in splits.items()}
    for preset in PRESETS:
        results[preset] = {
            "weight": 0.0,
            **{split.partition("~")[0]: _means(sets, alone[split][preset]) for split in (dev, test)},
        }
        for key in keys:
            logits = [read_scores(folder, name, key) for name in sets]
            weight = choose_weight(splits[dev], preset, logits)
            rows = {split: _row(splits[split], preset, logits, weight) for split in (dev, test)}
            results[f"{preset} + {key}"] = {
                "weight": weight,
                **{split.partition("~")[0]: _means(sets, rows[split]) for split in (dev, test)},
                **_over_learned(sets, rows[test], alone[test]["learned"], margin),
                "by_weight": {
                    str(w): {
                        split.partition("~")[0]: _round(mean_over_sets(_row(splits[split], preset, logits, w)))
                        for split in (dev, test)
                    }
                    for w in WEIGHTS
                },
            }
    return {"sets": facts, "results": results}


def _over_learned(
    sets: Sequence[str], row: Sequence[np.ndarray], learned: Sequence[np.ndarray], margin: float
) -> dict[str, Any]:
    """Differences to the preset `learned`, and whether they are enough to ship the reranker."""
    change = [after - before for after, before in zip(row, learned, strict=True)]
    mean = mean_over_sets(change)
    return {
        "over_learned": {
            name: {"mean": _round(one.mean()), "se": _round(standard_error([one]))}
            for name, one in zip(sets, change, strict=True)
        },
        "mean_over_learned": _round(mean),
        "se_over_learned": _round(standard_error(change)),
        "passes": bool(mean >= margin and min(one.mean() for one in change) >= -margin),
    }


def _row(read: Sequence[Mapping[str, Any]], preset: str, logits: Sequence[Logits], weight: float) -> list[np.ndarray]:
    return [judge_split(split, preset, found, weight) for split, found in zip(read, logits, strict=True)]


def _means(sets: Sequence[str], row: Sequence[np.ndarray]) -> dict[str, float]:
    means = {name: _round(one.mean()) for name, one in zip(sets, row, strict=True)}
    return {**means, "mean": _round(np.mean([one.mean() for one in row]))}


def _round(value: Any) -> float:
    return round(float(value), 4)


def check_export(
    folder: Path, name: str, split: str, key: str, weight: float, logits: Callable[[str, list[str]], np.ndarray]
) -> dict[str, Any]:
    """Compare an exported model, given as `logits(query, texts)`, with the judged run on one set, preset `learned`."""
    read = read_candidates(folder, name, split)
    judged = read_scores(folder, name, key)
    exported: dict[str, dict[str, float]] = {}
    correlations = []
    for question in read["questions"]:
        chunks = sorted(judged.get(question["id"], {}))
        if len(chunks) > 1:
            values = logits(question["text"], [read["texts"][chunk] for chunk in chunks])
            exported[question["id"]] = dict(zip(chunks, values.tolist(), strict=True))
            before = [judged[question["id"]][chunk] for chunk in chunks]
            correlations.append(float(np.corrcoef(before, values)[0, 1]))
    scores = {
        which: _round(judge_split(read, "learned", found, weight).mean())
        for which, found in (("trained", judged), ("exported", exported))
    }
    return {
        "set": f"{name} {split}",
        "weight": weight,
        "nDCG@10": scores,
        "mean_correlation_of_logits": _round(np.mean(correlations)),
    }
