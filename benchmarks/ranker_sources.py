"""Makes small datasets of the public training pairs, one per source, so that the lab can index and search them.

A source is a gzip file of JSON lines (see benchmarks/reranker/sources.py). A dataset has a seeded sample of its
questions, their passages, and passages of further questions, so that a question has something to be confused with.
Passages have no titles and are documents of their own.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from benchmarks.reranker.sources import SOURCES, Question, Source, read_source

QUESTIONS, PASSAGES, SEED = 100, 400, 0
UNLICENSED = ("conditionalqa", "wikiqa")
"""Sources that state no licence: weights that learned from them could not be shipped."""


def write_sources(train: Path, folder: Path) -> list[Path]:
    """Write the datasets that are not there yet; their folders, one per source."""
    return [_write(train, folder, name) for name in sorted(SOURCES) if name not in UNLICENSED]


def _write(train: Path, folder: Path, name: str) -> Path:
    target = folder / name
    if (target / "qrels" / "test.tsv").exists():
        return target
    found = read_source(train, name, Source(QUESTIONS + PASSAGES), SEED)
    numbers: dict[str, str] = {}
    for place, question in enumerate(found):
        if place >= QUESTIONS and len(numbers) >= PASSAGES:
            break
        for text in (*question.positives, *question.negatives):
            numbers.setdefault(text, f"p{_digest(text)}")
    asked = found[:QUESTIONS]
    (target / "qrels").mkdir(parents=True, exist_ok=True)
    corpus = [
        {"_id": key, "title": "", "text": text} for text, key in sorted(numbers.items(), key=lambda item: item[1])
    ]
    _write_lines(target / "corpus.jsonl", corpus)
    _write_lines(target / "queries.jsonl", [{"_id": f"q{i}", "text": one.text} for i, one in enumerate(asked)])
    rows = ["query-id\tcorpus-id\tscore", *_judgements(asked, numbers)]
    (target / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return target


def _judgements(asked: list[Question], numbers: dict[str, str]) -> list[str]:
    """A row per answer; an answer beyond those that are taken counts too where another question brought it."""
    return [
        f"q{place}\t{numbers[text]}\t1"
        for place, question in enumerate(asked)
        for text in dict.fromkeys((*question.positives, *question.other_answers))
        if text in numbers
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:14]


def _write_lines(path: Path, records: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
