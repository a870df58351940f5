"""Compares a recall of the memory service with a search by the preset `default`, at 100k memories.

    python -m benchmarks.recall --memories 100000

Alternating, question by question: `recall` as an agent calls it (scopes, clock, preset `recall`), and
`KnowledgeBase.search` with `default` under the same filter for scope and time. Once with new questions (as an agent
asks them), once with questions whose vectors are cached, which shows the cost beside the embedding. The scoring clock
advances from call to call. Memories are real passages of a few sentences, spread over three scopes and two years.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from assay.embed.vector_cache import CachedEmbedder
from assay.ingest.chunker import PROFILES
from assay.memory import service
from assay.memory.entries import chunks_from_entry, derive_id, new_entry
from assay.memory.service import MemoryService
from assay.types import DAY
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
        memory.recall(text, scope=SCOPES, at=NOW + next(number), adaptive=False)

    def search(text: str) -> None:
        memory.kb.search(text, 5, where=where, at=NOW + next(number)).hits  # noqa: B018  hits read their texts

    results: dict[str, Any] = {}
    for kind, text_of_question in (("new questions", new_question), ("vectors in the cache", cached_question)):
        for text in texts:
            model.encode_query(text)
        misses = model.misses
        times = time_in_turns(
            {
                "recall": lambda i, text=text_of_question: recall(text(i)),
                "default": lambda i, text=text_of_question: search(text(i)),
            },
            len(texts),
        )
        ratios = {p: round(times["recall"][p] / times["default"][p], 3) for p in ("p50_ms", "p95_ms")}
        results[kind] = {"embedded": model.misses - misses, "times": times, "recall / default": ratios}
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
