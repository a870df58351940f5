"""Can a next-vector model beat staying put (identity) on ordered real text? A bounded search for one that does.

The bank of `benchmarks.cascade_grids`: four sources of ordered text under the local model. A question is a chunk, its
answer the chunk that follows in the document; the whole bank is searched exactly. Every row is a way to make the vector
that is searched with:

    identity        x, the current vector
    context a       l2(x + a · mean of the last n vectors before it)
    leave document  l2(x − a · mean of all vectors before it): away from what was said
    ridge           l2(x + W [x; context]), least squares (what `assay lvm train` fits)
    contrast        the same form, trained by softmax against 255 other chunks and 4 earlier ones of the document

Settings are chosen on a fifth of the training documents and reported on the held-out documents, with the 95 % interval
of the difference to identity (paired, documents resampled). Each row is also measured with the chunks before the
current one left out of the candidates, since an answer is never among them: that needs no model. `section` asks for any
of the next four chunks among the first five.

    python -m benchmarks.cascade_next                 # receipts/cascade_next.json
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.stats.paired import compare_pair
from assay.cascade.bank.bank import open_bank
from assay.cascade.bank.build import Split
from benchmarks.cascade_grids import MOST, real_bank
from benchmarks.measure import time_call, write_receipt

Array = NDArray[np.float32]
SECTION, DEPTH = 4, 5
DECAY = 0.5


@dataclass(frozen=True, eq=False)
class Texts:
    """The vectors, and for each document its rows in order."""

    vectors: Array
    documents: dict[str, NDArray[np.int64]]

    def pairs(self) -> Iterator[tuple[str, int, NDArray[np.int64]]]:
        """(document, place, rows of the document) of every chunk that another one follows."""
        for name, rows in self.documents.items():
            for place in range(len(rows) - 1):
                yield name, place, rows


def read_bank(folder: Path) -> Texts:
    bank = open_bank(real_bank(folder, MOST))
    places: dict[str, list[tuple[int, int]]] = {}
    with (folder / "chunks.tsv").open(encoding="utf-8") as file:
        for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row and row[0].isdecimal():
                places.setdefault(row[1], []).append((int(row[2]), int(row[0])))
    documents = {
        name: bank.rows(np.array([number for _, number in sorted(found)], np.int64)) for name, found in places.items()
    }
    return Texts(np.asarray(bank.vectors, np.float32), documents)


def select(texts: Texts, keep: Callable[[str], bool]) -> Texts:
    return Texts(texts.vectors, {name: rows for name, rows in texts.documents.items() if keep(name)})


def unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def decayed(texts: Texts, rows: NDArray[np.int64], place: int) -> Array:
    """The context as the ridge sees it: the vectors before, each half as heavy as the next."""
    before = rows[max(0, place - 8) : place][::-1]
    if not len(before):
        return np.zeros(texts.vectors.shape[1], np.float32)
    weights = DECAY ** np.arange(1, len(before) + 1)
    return np.asarray(weights @ texts.vectors[before], np.float32)


def mean_before(texts: Texts, rows: NDArray[np.int64], place: int, most: int) -> Array:
    before = rows[max(0, place - most) : place]
    return texts.vectors[before].mean(axis=0) if len(before) else np.zeros(texts.vectors.shape[1], np.float32)


def features(texts: Texts) -> tuple[Array, Array, Array]:
    """Current vectors, decayed contexts and next vectors of all pairs."""
    pairs = list(texts.pairs())
    current = texts.vectors[[rows[place] for _, place, rows in pairs]]
    following = texts.vectors[[rows[place + 1] for _, place, rows in pairs]]
    return current, np.stack([decayed(texts, rows, place) for _, place, rows in pairs]), following


def fit_ridge(texts: Texts, alpha: float) -> Array:
    current, context, following = features(texts)
    both = np.concatenate([current, context], axis=1).astype(np.float64)
    gram = both.T @ both + alpha * np.eye(both.shape[1])
    return np.asarray(np.linalg.solve(gram, both.T @ (following - current)), np.float32)


def fit_contrast(texts: Texts, epochs: int, rate: float = 0.003, temperature: float = 0.05) -> Array:
    """Adam on the softmax of cos(l2(x + W [x; c]), ·) over the batch's answers and chunks of the own document."""
    current, context, following = features(texts)
    both = np.concatenate([current, context], axis=1)
    pairs = list(texts.pairs())
    rng = np.random.default_rng(3)
    # Chunks before the current one: they are never the answer.
    near = np.stack([texts.vectors[rng.choice(rows[: place + 1], 4)] for _, place, rows in pairs])
    weights = np.zeros((both.shape[1], current.shape[1]), np.float32)
    first, second, step = np.zeros_like(weights), np.zeros_like(weights), 0
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(both)), max(1, len(both) // 256)):
            raw = current[batch] + both[batch] @ weights
            length = np.linalg.norm(raw, axis=1, keepdims=True)
            guess = raw / length
            others = np.concatenate([following[batch], near[batch].reshape(-1, guess.shape[1])])
            scores = guess @ others.T / temperature
            scores -= scores.max(axis=1, keepdims=True)
            chances = np.exp(scores)
            chances /= chances.sum(axis=1, keepdims=True)
            chances[np.arange(len(batch)), np.arange(len(batch))] -= 1.0
            towards = chances @ others / (temperature * len(batch))
            towards = (towards - (towards * guess).sum(axis=1, keepdims=True) * guess) / length
            slope = both[batch].T @ towards + 1e-4 * weights
            step += 1
            first = 0.9 * first + 0.1 * slope
            second = 0.99 * second + 0.01 * slope**2
            weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return weights


Guess = Callable[[Texts], Array]


def by_weights(weights: Array) -> Guess:
    def guess(texts: Texts) -> Array:
        current, context, _ = features(texts)
        return unit(current + np.concatenate([current, context], axis=1) @ weights)

    return guess


def by_mean(share: float, most: int) -> Guess:
    def guess(texts: Texts) -> Array:
        pairs = list(texts.pairs())
        current = texts.vectors[[rows[place] for _, place, rows in pairs]]
        return unit(current + share * np.stack([mean_before(texts, rows, place, most) for _, place, rows in pairs]))

    return guess


def hits(texts: Texts, guesses: Array, without_past: bool, section: int = 1) -> NDArray[np.float64]:
    """For each pair: is one of the next `section` chunks among the first DEPTH, the current one left out?"""
    found = np.zeros(len(guesses))
    for number, (_, place, rows) in enumerate(texts.pairs()):
        scores = texts.vectors @ guesses[number]
        scores[rows[: place + 1] if without_past else rows[place : place + 1]] = -np.inf
        best = np.argpartition(-scores, DEPTH)[:DEPTH]
        found[number] = np.isin(rows[place + 1 : place + 1 + section], best).any()
    return found


def _fitted(fit: Callable[[Texts, Any], Array], texts: Texts, setting: float) -> Guess:
    return by_weights(fit(texts, setting))


def choose(texts: Texts, held: Texts) -> dict[str, tuple[str, Guess]]:
    """Each way with its best setting, by the hits on documents that were not trained on."""
    ways: dict[str, dict[str, Callable[[], Guess]]] = {
        "context": {f"{a:g} of {n}": partial(by_mean, a, n) for a in (0.1, 0.3) for n in (4, 32)},
        "leave document": {f"-{a:g}": partial(by_mean, -a, 1_000) for a in (0.1, 0.2, 0.4)},
        "ridge": {f"{a:g}": partial(_fitted, fit_ridge, texts, a) for a in (30.0, 300.0, 3_000.0)},
        "contrast": {f"{n} epochs": partial(_fitted, fit_contrast, texts, n) for n in (1, 3)},
    }
    chosen: dict[str, tuple[str, Guess]] = {"identity": ("", by_mean(0.0, 1))}
    for way, settings in ways.items():
        scored = []
        for setting, make in settings.items():
            guess = make()
            scored.append((float(hits(held, guess(held), True).mean()), setting, guess))
            print(way, setting, scored[-1][0], flush=True)
        best = max(scored, key=lambda one: one[0])
        chosen[way] = best[1:]
    return chosen


def measure(texts: Texts, split: Split) -> dict[str, Any]:
    val = select(texts, split.is_val)
    train = select(texts, lambda name: not split.is_val(name))
    names = sorted(train.documents)
    held_names = set(names[:: len(names) // max(1, len(names) // 5)])
    held, rest = select(train, held_names.__contains__), select(train, lambda name: name not in held_names)
    chosen = choose(rest, held)
    groups = np.array([name for name, _, _ in val.pairs()])
    tasks = {"next": (False, 1), "next, past left out": (True, 1), "section, past left out": (True, SECTION)}
    report: dict[str, Any] = {"questions": len(groups), "rows": {}}
    columns = {
        way: {task: hits(val, guess(val), *how) for task, how in tasks.items()} for way, (_, guess) in chosen.items()
    }
    for way, (setting, _) in chosen.items():
        row: dict[str, Any] = {"setting": setting}
        for task in tasks:
            test = compare_pair(columns["identity"][task], columns[way][task], groups=groups)
            row[task] = {
                "hit@5": round(float(columns[way][task].mean()), 4),
                "over_identity": [round(value, 4) + 0.0 for value in (test.difference, test.ci_low, test.ci_high)],
            }
        report["rows"][way] = row
    past = compare_pair(columns["identity"]["next"], columns["identity"]["next, past left out"], groups=groups)
    report["leaving_the_past_out"] = [round(value, 4) + 0.0 for value in (past.difference, past.ci_low, past.ci_high)]
    return report


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds, report = time_call(lambda: measure(read_bank(Path(folder)), Split()))
    write_receipt("cascade_next", {**report, "seconds": round(seconds, 1)})
    print(report)


if __name__ == "__main__":
    main()
