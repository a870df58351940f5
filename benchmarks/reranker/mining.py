"""Mines hard negatives: passages of the same source that BM25 or the encoder ranks high for a question.

BM25 is the engine's own, over one store per source; the dense ranks are exact inner products of the encoder's vectors.
A passage is no negative if it answers the question, contains or nearly repeats an answer, or is contained in one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from assay.kb import open as open_kb
from assay.util.atomic_files import atomic_path
from benchmarks.reranker.corpus import Corpus
from benchmarks.reranker.sources import TrainingError

DEPTH = 12  # ranks read of each leg
KEPT = 12  # negatives kept of a question, those given by the source among them
SHINGLE = 3  # words
NEAR_DUPLICATE = 0.5  # share of the shorter text's shingles that the other one has
SAME_MEANING = 0.95  # cosine above which two passages say the same


def mine_lists(corpus: Corpus, vectors: np.ndarray, work: Path, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """One list per question: its number, an answer, its hard negatives. Written once to lists.json."""
    path = work / "lists.json"
    if path.exists():
        return read_lists(work)
    found: list[dict[str, Any]] = []
    for source in sorted({question["source"] for question in corpus.questions}):
        questions = [question for question in corpus.questions if question["source"] == source]
        found += _mine_source(corpus, questions, vectors)
        report(f"negatives: {len(found)} lists, {source} done")
    with atomic_path(path) as name:
        Path(name).write_text(json.dumps(found), "utf-8")
    return found


def read_lists(work: Path) -> list[dict[str, Any]]:
    path = work / "lists.json"
    try:
        lists: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path} cannot be read: {error}", "delete it and run the step `mine` again") from error
    return lists


def _mine_source(
    corpus: Corpus, questions: Sequence[Mapping[str, Any]], vectors: np.ndarray
) -> Iterable[dict[str, Any]]:
    own = sorted({number for q in questions for number in (*q["positives"], *q["negatives"])})
    proposed = _bm25_ranks(corpus, questions, own)
    passages = vectors[own]
    for question, by_words in zip(questions, proposed, strict=True):
        similar = passages @ vectors[question["query"]]
        by_vector = [own[place] for place in np.argsort(-similar, kind="stable")[:DEPTH]]
        merged = dict.fromkeys([*question["negatives"], *_interleave(by_words, by_vector)])
        answers = question["positives"]
        texts = [*(corpus.texts[number] for number in answers), *question["other_answers"]]
        negatives = [
            number
            for number in merged
            if number not in answers
            and float((vectors[answers] @ vectors[number]).max()) < SAME_MEANING
            and not any(is_near_duplicate(corpus.texts[number], text) for text in texts)
        ][:KEPT]
        if len(negatives) >= 2:
            yield {
                "query": question["query"],
                "positives": list(answers),
                "negatives": negatives,
                "weight": question["weight"],
                "source": question["source"],
            }


def _bm25_ranks(corpus: Corpus, questions: Sequence[Mapping[str, Any]], own: Sequence[int]) -> list[list[int]]:
    with tempfile.TemporaryDirectory(prefix="assay-mine-") as folder, open_kb(folder, embedder="none") as kb:
        kb.add({"id": str(number), "text": corpus.texts[number]} for number in own)
        answers = (kb.search(question["text"], DEPTH, pipeline="bm25") for question in questions)
        return [list(dict.fromkeys(int(hit.chunk.doc_id) for hit in answer)) for answer in answers]


def _interleave(one: Sequence[int], other: Sequence[int]) -> list[int]:
    longest = max(len(one), len(other))
    return [row[place] for place in range(longest) for row in (one, other) if place < len(row)]


def is_near_duplicate(one: str, other: str) -> bool:
    """Whether most of the shorter text's word triples occur in the other; a text contained in another is one too."""
    left, right = _shingles(one), _shingles(other)
    return len(left & right) >= NEAR_DUPLICATE * max(min(len(left), len(right)), 1)


@cache
def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = text.lower().split()
    return frozenset(tuple(words[i : i + SHINGLE]) for i in range(max(len(words) - SHINGLE + 1, 1)))
