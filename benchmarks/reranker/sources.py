"""Reads training questions: a gzip file of JSON lines per source, and the training splits of lab sets.

A line of a source file is `{"q": text, "pos": [passage, …], "neg": [passage, …]}`. A lab set gives the questions of its
split `train`, which never holds a question of its dev half (see assay/bench/datasets/splits.py).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.bench.datasets import load
from assay.errors import AssayError, nearest

WEAK = 0.3
"""Weight of a question that is a title, a heading or a summary: it shares words with its text."""


@dataclass(frozen=True, slots=True)
class Source:
    """How many questions are taken, and how much each counts."""

    questions: int
    weight: float = 1.0


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "medquad": Source(1_100),
        "docs_faq": Source(700),
        "docs_sections": Source(500, WEAK),
        "acl_titles": Source(300, WEAK),
        "boolq": Source(1_000),
        "pubmedqa": Source(800),
        "ares_synthetic": Source(500, 0.5),  # machine-made questions, some without an answer in their passage
        "scitldr": Source(200, WEAK),
        "conditionalqa": Source(700),
        "friendsqa": Source(700),
        "fm2": Source(700),
        "ni_qasper": Source(250),
        "ni_sciq": Source(250),
        "ni_doqa": Source(250),
        "ni_aquamuse": Source(250),
        "covid_faq": Source(300),
        "wikiqa": Source(500),
        "qmsum": Source(250),
    }
)
LAB_SETS: Mapping[str, Source] = MappingProxyType(
    {"qed": Source(1_000), "scifact": Source(500), "nfcorpus": Source(700)}
)
JOINED = 0.5
"""Weight of a question that is two questions of one source in one sentence."""
JOINED_WORDS = 14  # at most, of each of the two
MAX_POSITIVES, MAX_NEGATIVES = 2, 2  # passages taken of one question; mining adds negatives of other questions
SHORTEST = 30  # characters of a passage


class TrainingError(AssayError):
    """A training step cannot go on: a missing or damaged file, other settings than before, no torch."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, passages that answer it, passages known not to, and further answers, which are no negatives."""

    source: str
    text: str
    weight: float
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    other_answers: tuple[str, ...] = ()


def read_source(folder: Path, name: str, source: Source, seed: int) -> list[Question]:
    """A seeded sample of the questions of one source file, in an order that depends on their text alone."""
    questions = []
    for record in _records(folder / f"{name}.jsonl.gz"):
        query, answers = _clean(record.get("q")), _passages(record.get("pos"))
        if query and answers:
            negatives = _passages(record.get("neg"))[:MAX_NEGATIVES]
            questions.append(_question(name, query, source.weight, answers, negatives))
    return _sample(questions, source.questions, seed)


def read_lab_set(name: str, source: Source, seed: int) -> list[Question]:
    """A seeded sample of the training questions of a lab set; the best grades first, no negatives."""
    dataset = load(name, "train")
    texts = {str(d["id"]): f"{d.get('title') or ''} {d.get('text') or ''}".strip() for d in dataset.documents}
    questions = []
    for topic, judged in dataset.judgements.items():
        relevant = sorted((doc for doc, grade in judged.items() if grade > 0), key=lambda doc: (-judged[doc], doc))
        answers = _passages([texts.get(doc) for doc in relevant])
        if answers and (query := _clean(dataset.topics[topic].text)):
            questions.append(_question(name, query, source.weight, answers, ()))
    return _sample(questions, source.questions, seed)


def join_questions(questions: Sequence[Question], share: float, seed: int) -> list[Question]:
    """Make questions of two parts, whose passages answer one part each, as those of a multi-hop question do.

    Two questions of one source, both short and neither weak, become "first and second?". An answer of either is an
    answer, a negative of either is a negative, and further answers of either are no negatives. The pairs are neighbours
    in a seeded order.
    """
    by_source: dict[str, list[Question]] = {}
    for one in questions:
        if one.weight > WEAK and len(one.text.split()) <= JOINED_WORDS:
            by_source.setdefault(one.source, []).append(one)
    made = []
    for name, own in by_source.items():
        order = _sample(own, len(own), seed + 1)
        for one, other in zip(order[::2], order[1::2], strict=False):
            made.append(
                Question(
                    name,
                    f"{one.text.rstrip(' ?.')} and {other.text}",
                    JOINED * min(one.weight, other.weight),
                    (one.positives[0], other.positives[0]),
                    (*one.negatives[:1], *other.negatives[:1]),
                    (*one.positives[1:], *other.positives[1:], *one.other_answers, *other.other_answers),
                )
            )
    return _sample(made, round(share * len(questions)), seed)


def _question(name: str, query: str, weight: float, answers: tuple[str, ...], negatives: tuple[str, ...]) -> Question:
    return Question(name, query, weight, answers[:MAX_POSITIVES], negatives, answers[MAX_POSITIVES:])


def _sample(questions: list[Question], size: int, seed: int) -> list[Question]:
    def key(question: Question) -> bytes:
        return hashlib.sha256(f"{seed}:{question.text}:{question.positives[0]}".encode("utf-8", "replace")).digest()

    return sorted(questions, key=key)[:size]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    cure = f"fetch it again, or name the sources to use: --sources {nearest(path.name.partition('.')[0], SOURCES)}"
    if not path.is_file():
        raise TrainingError(f"there is no source file {path}", "set --train to the folder of the training pairs")
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise TrainingError(f"{path}, line {number}, is not JSON: {error}", cure) from error
                if not isinstance(record, dict):
                    raise TrainingError(f"{path}, line {number}, is not an object", cure)
                yield record
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise TrainingError(f"{path} is damaged: {error}", cure) from error


def _passages(texts: Any) -> tuple[str, ...]:
    cleaned = (_clean(text) for text in texts or ())
    return tuple(dict.fromkeys(text for text in cleaned if len(text) >= SHORTEST))


def _clean(text: Any) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""
