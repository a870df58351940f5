"""Data for the benchmarks: real texts and questions from ASSAY_DATA with vectors of the real model, grown to any size.

Beyond the number of real passages, a text joins the halves of two real ones. The first ANCHORS chunks have real
vectors; the others have a seeded mixture of an anchor and two of its nearest neighbours, so that they lie where real
vectors lie (noise in all directions would give neighbourhoods that no real store has).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from assay import embed
from assay.embed.cache_home import cache_home
from assay.embed.vector_cache import CachedEmbedder
from assay.types import Chunk, Vector, Vectors

ANCHORS = 8_000
NEAR = 20
CORPORA = ("gitlab_handbook", "k8s_changelog", "keps", "peps", "scifact", "hotpotqa", "nfcorpus", "wiki_gensim")
QUESTIONS = ("gitlab_handbook", "k8s_changelog", "scifact", "hotpotqa", "nfcorpus")
_WORDS = 90


def data_folder() -> Path:
    results = os.environ.get("ASSAY_DATA", "")
    if not results or not Path(results).is_dir():
        raise SystemExit("the benchmarks need real data: set ASSAY_DATA to a folder with the BEIR sets")
    return Path(results)


@cache
def texts() -> list[str]:
    """Real passages of about ninety words, in a seeded order."""
    results = []
    for name in CORPORA:
        for line in (data_folder() / name / "corpus.jsonl").open(encoding="utf-8"):
            record = json.loads(line)
            words = re.split(r"(\s+)", record["text"])
            for start in range(0, len(words), 2 * _WORDS):
                passage = "".join(words[start : start + 2 * _WORDS]).strip()
                if len(passage) > 40:
                    results.append(f"{record.get('title', '')}\n{passage}")
    order = np.random.default_rng(1).permutation(len(results))
    return [results[i] for i in order]


def text_of(number: int) -> str:
    pool = texts()
    if number < len(pool):
        return pool[number]
    first, second = pool[number % len(pool)], pool[(number * 7919) % len(pool)]
    return first[: len(first) // 2] + " " + second[len(second) // 2 :]


@cache
def model() -> CachedEmbedder:
    inner = embed.load("minilm")
    assert inner is not None
    return CachedEmbedder(inner, cache_home() / "vectors.sqlite")


@cache
def anchors() -> Vectors:
    return np.asarray(model().encode([text_of(i)[:2000] for i in range(ANCHORS)]), np.float32)


def vectors(start: int, count: int) -> Vectors:
    """Unit vectors of chunks start … start + count."""
    number = np.arange(start, start + count)
    rng = np.random.default_rng(start + 7)
    anchor_of = number % ANCHORS
    near = neighbours()[anchor_of[:, None], rng.integers(0, NEAR, (count, 2))]
    share = rng.dirichlet((2.0, 1.0, 1.0), count).astype(np.float32)
    members = np.concatenate([anchor_of[:, None], near], axis=1)
    mixed = np.einsum("nk,nkd->nd", share, anchors()[members])
    mixed += rng.standard_normal(mixed.shape).astype(np.float32) * (0.05 / np.sqrt(mixed.shape[1]))
    mixed = np.where((number < ANCHORS)[:, None], anchors()[anchor_of], mixed)
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


@cache
def neighbours() -> np.ndarray:
    """For every anchor the rows of its NEAR nearest others."""
    similar = anchors() @ anchors().T
    np.fill_diagonal(similar, -1.0)
    return np.argpartition(-similar, NEAR, axis=1)[:, :NEAR]


def chunks(size: int, block: int = 5_000) -> Iterator[list[tuple[Chunk, Vector]]]:
    """Chunks with vectors, a block at a time; `bucket` (0 … 999) is what filters select by."""
    for start in range(0, size, block):
        count = min(block, size - start)
        block_vectors = vectors(start, count)
        part = []
        for i in range(count):
            number = start + i
            text = text_of(number)
            title, _, body = text.partition("\n")
            meta = {"title": title, "section": "", "bucket": (number * 2654435761) % 1000}
            part.append((Chunk(f"{number:016x}", f"d{number // 8}", body, len(body) // 4, meta=meta), block_vectors[i]))
        yield part


@cache
def questions(count: int = 300) -> tuple[tuple[str, ...], Vectors]:
    """Real questions with their real vectors, equally many from each set."""
    results: list[str] = []
    rng = np.random.default_rng(2)
    for name in QUESTIONS:
        lines = (data_folder() / name / "queries.jsonl").read_text("utf-8").splitlines()
        picked = rng.permutation(len(lines))[: count // len(QUESTIONS)]
        results += [json.loads(lines[i])["text"] for i in picked]
    return tuple(results), np.asarray(model().encode(results), np.float32)


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """The documents of a dataset as records; those without text and title are left out."""
    for line in (folder / "corpus.jsonl").open(encoding="utf-8"):
        record = json.loads(line)
        if record["text"].strip() or record.get("title"):
            yield {"id": record["_id"], "title": record.get("title", ""), "text": record["text"]}
