"""Compares a recall of the memory service with its necessary parts, at 100k memories.

    python -m benchmarks.recall --memories 100000

Alternating, question by question: `recall` without the rerank step, and what it calls directly: the embedding of the
question and the two legs at the preset's depth under the same filter for scope and time. Once with new questions (as an
agent asks them), once with questions whose vectors are cached, which shows the cost of the service itself. The scoring
clock advances from call to call. Memories are real passages of a few sentences, spread over three scopes and two years.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from assay.config.load import from_dict
from assay.embed.vector_cache import CachedEmbedder
from assay.ingest.chunker import PROFILES
from assay.memory import service
from assay.memory.config import convert
from assay.memory.entries import chunks_from_entry, derive_id, new_entry
from assay.memory.service import MemoryService
from assay.types import DAY, Query
from benchmarks.data import questions, text_of, vectors
from benchmarks.measure import time_call, time_in_turns, write_receipt

NOW = 20_700.0 * DAY
SCOPES = ("global", "agent:heron", "user:ann")
BATCH = 5_000


def fill(memory: MemoryService, size: int) -> None:
    """Writes memories in bulk; storing them one by one would check each for duplicates."""
    profile = PROFILES["default"]
    for start in range(0, size, BATCH):
        part = min(BATCH, size - start)
        items = []
        for number, vector in zip(range(start, start + part), vectors(start, part), strict=True):
            text = f"{text_of(number)[:300]} (note {number})"
            then = NOW - (number * 7919 % 730) * DAY
            entry = new_entry(text, SCOPES[number % 3], "fact", number % 10 / 10, (), then, None, then)
            entry = replace(entry, id=derive_id(entry))
            items += [(chunk, vector) for chunk in chunks_from_entry(entry, profile)[:1]]
        memory.kb.backend.put(items)


def measure(memory: MemoryService) -> dict[str, Any]:
    texts, _ = questions()
    pipeline = from_dict(convert({"rerank": "none"}).pipeline, "memory")
    model = memory.kb.embedder
    assert isinstance(model, CachedEmbedder)
    run, number = secrets.token_hex(4), count()

    def new_question(i: int) -> str:
        """A question that no vector cache contains."""
        return f"{texts[i]} ({run} {next(number)})"

    def cached_question(i: int) -> str:
        return texts[i]

    scoped_view = memory._view(SCOPES)
    where = scoped_view.filter(*scoped_view.conditions(None, (), NOW))

    def recall(text: str) -> None:
        memory.recall(text, scope=SCOPES, at=NOW + next(number), pipeline=pipeline, adaptive=False)

    def run_legs(text: str) -> None:
        query = Query(text, vector=model.encode_query(text), at=NOW + next(number), where=where)
        view = memory.kb.snapshot()
        for plan in pipeline.legs:
            plan.leg.find(query, view, plan.k)

    results: dict[str, Any] = {}
    for kind, text_of_question in (("new questions", new_question), ("vectors in the cache", cached_question)):
        for text in texts:
            model.encode_query(text)
        misses = model.misses
        times = time_in_turns(
            {
                "recall": lambda i, text=text_of_question: recall(text(i)),
                "embedding and legs": lambda i, text=text_of_question: run_legs(text(i)),
            },
            len(texts),
        )
        ratios = {p: round(times["recall"][p] / times["embedding and legs"][p], 3) for p in ("p50_ms", "p95_ms")}
        results[kind] = {"embedded": model.misses - misses, "times": times, "recall / embedding and legs": ratios}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--receipt", default="recall")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, service.open(Path(folder) / "memory") as memory:
        filling, _ = time_call(lambda: fill(memory, options.memories))
        indexing, _ = time_call(lambda: memory.kb.optimize())
        result = {"memories": options.memories, "fill_s": round(filling, 1), "index_s": round(indexing, 1)}
        result |= measure(memory)
    print(result)
    print(write_receipt(options.receipt, result))


if __name__ == "__main__":
    main()
