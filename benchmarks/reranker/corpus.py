"""The sampled questions and passages as files of a work folder, and the frozen states of their tokens.

    questions.json    questions with the numbers of their passages; written once, names its settings
    states/NNN.npz    the states of 1,024 texts: after the lower layers and after the last, and the offsets

Texts are numbered; passages come first. A state is computed once; an interrupted run continues with the next file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.text.wordpiece import encode_pieces
from assay.util.atomic_files import atomic_path
from benchmarks.reranker.sources import (
    LAB_SETS,
    SOURCES,
    Question,
    Source,
    TrainingError,
    join_questions,
    read_lab_set,
    read_source,
)

QUERY_PIECES, PASSAGE_PIECES = 40, 96
SHARD, BATCH = 512, 32


@dataclass(frozen=True)
class Corpus:
    """Sampled questions over numbered passages. `texts` are the passages, then the distinct questions."""

    settings: Mapping[str, Any]
    questions: Sequence[Mapping[str, Any]]
    texts: Sequence[str]
    passages: int
    passage_pieces: int = PASSAGE_PIECES

    @cached_property
    def pieces(self) -> list[list[int]]:
        limits = (self.passage_pieces if number < self.passages else QUERY_PIECES for number in range(len(self.texts)))
        return [encode_pieces(text)[:limit] for text, limit in zip(self.texts, limits, strict=True)]


def build_corpus(
    train: Path, work: Path, seed: int, share: float, sources: Sequence[str], labs: Sequence[str], joined: float
) -> Corpus:
    """Sample the questions and write them, or read what an earlier run with the same settings wrote."""
    settings = {"seed": seed, "share": share, "sources": sorted(sources), "lab_sets": sorted(labs), "joined": joined}
    path = work / "questions.json"
    if path.exists():
        return read_corpus(work, settings)
    questions = [q for name in sources for q in read_source(train, name, _scaled(SOURCES[name], share), seed)]
    questions += join_questions(questions, joined, seed)
    questions += [q for name in labs for q in read_lab_set(name, _scaled(LAB_SETS[name], share), seed)]
    numbers: dict[str, int] = {}
    records = [_numbered(question, numbers) for question in questions]
    passages = len(numbers)
    for record, question in zip(records, questions, strict=True):
        record["query"] = numbers.setdefault("\0" + question.text, len(numbers))
    content = {
        "settings": settings,
        "passages": passages,
        "texts": [text.removeprefix("\0") for text in numbers],
        "questions": records,
    }
    work.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as name:
        Path(name).write_text(json.dumps(content), "utf-8")
    return read_corpus(work, settings)


def read_corpus(work: Path, settings: Mapping[str, Any] | None = None) -> Corpus:
    path = work / "questions.json"
    try:
        content = json.loads(path.read_text("utf-8"))
        corpus = Corpus(content["settings"], content["questions"], content["texts"], content["passages"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{path} cannot be read: {error}", f"delete {work} and start again") from error
    if settings is not None and corpus.settings != settings:
        raise TrainingError(
            f"{work} was made with other settings: {dict(corpus.settings)}, now {dict(settings)}",
            "name another --work folder, or delete this one",
        )
    return corpus


def _scaled(source: Source, share: float) -> Source:
    return Source(max(1, round(source.questions * share)), source.weight)


def _numbered(question: Question, numbers: dict[str, int]) -> dict[str, Any]:
    def number(texts: Sequence[str]) -> list[int]:
        return [numbers.setdefault(text, len(numbers)) for text in texts]

    facts = asdict(question)
    return {
        "source": question.source,
        "text": question.text,
        "weight": question.weight,
        "positives": number(question.positives),
        "negatives": number(question.negatives),
        "other_answers": facts["other_answers"],
    }


class States:
    """Reads the states of texts by number; files are memory-mapped as they are needed."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size = folder, size
        self._shards: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def lower(self, number: int) -> np.ndarray:
        return self._part(number, 0)

    def last(self, number: int) -> np.ndarray:
        return self._part(number, 1)

    def vectors(self) -> np.ndarray:
        """The encoder's sentence vectors: the mean of the last states, of length 1; float32[texts, d]."""
        rows = np.stack([self.last(number).astype(np.float32).mean(axis=0) for number in range(self.size)])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _part(self, number: int, which: int) -> np.ndarray:
        shard, place = divmod(number, SHARD)
        if shard not in self._shards:
            base = self.folder / f"{shard:03d}"
            try:
                loaded = [np.load(f"{base}.{kind}.npy", mmap_mode="r") for kind in KINDS]
            except (OSError, ValueError, EOFError) as error:
                raise TrainingError(
                    f"the states {base} cannot be read: {error}",
                    f"delete {self.folder} and run the step `states` again",
                ) from error
            self._shards[shard] = (loaded[0], loaded[1], loaded[2])
        offsets = self._shards[shard][2]
        return self._shards[shard][which][offsets[place] : offsets[place + 1]]


KINDS = ("lower", "last", "offsets")


def compute_states(
    corpus: Corpus,
    work: Path,
    encode: Callable[..., list[tuple[np.ndarray, np.ndarray]]],
    report: Callable[[str], None],
) -> States:
    """Compute the states that the folder does not hold yet; `encode` is FrozenEncoder.states."""
    folder = work / "states"
    folder.mkdir(parents=True, exist_ok=True)
    size = len(corpus.texts)
    for shard, start in enumerate(range(0, size, SHARD)):
        if (folder / f"{shard:03d}.offsets.npy").exists():  # written last
            continue
        numbers = range(start, min(start + SHARD, size))
        order = sorted(numbers, key=lambda number: (len(corpus.pieces[number]), number))
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            found.update(zip(batch, encode([corpus.pieces[number] for number in batch]), strict=True))
        offsets = np.cumsum([0, *(len(found[number][0]) for number in numbers)])
        for kind, content in (
            ("lower", np.concatenate([found[number][0] for number in numbers])),
            ("last", np.concatenate([found[number][1] for number in numbers])),
            ("offsets", offsets),
        ):
            with atomic_path(folder / f"{shard:03d}.{kind}.npy") as name, open(name, "wb") as file:
                np.save(file, content)
        report(f"states: {numbers.stop} of {size} texts")
    return States(folder, size)
