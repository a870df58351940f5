"""Compares a recall of the memory service with a search by the preset `default`, at 100k memories.

    python -m benchmarks.recall --memories 100000
    python -m benchmarks.recall --store FOLDER             # fills the folder once, and measures what it holds

Alternating, question by question: `recall` as an agent calls it (scopes, clock, preset `recall`), and
`KnowledgeBase.search` with `default` under the same filter for scope and time. Once with new questions (as an agent
asks them), once with questions whose vectors are cached, which shows the cost beside the embedding. The scoring clock
advances from call to call. Memories are real passages of a few sentences, spread over three scopes and two years; the
vectors of the first 8,000 are the model's, the others are mixtures of these (benchmarks/data.py). Times are taken by
the wall clock and by the processor time of the process.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
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


def measure(memory: MemoryService, count_of_questions: int) -> dict[str, Any]:
    texts = questions()[0][:count_of_questions]
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
        contenders = {
            "recall": lambda i, text=text_of_question: recall(text(i)),
            "default": lambda i, text=text_of_question: search(text(i)),
        }
        results[kind] = {}
        for name, clock in (("wall", time.perf_counter), ("processor", time.process_time)):
            times = time_in_turns(contenders, len(texts), clock=clock)
            ratios = {p: round(times["recall"][p] / times["default"][p], 3) for p in ("p50_ms", "p95_ms")}
            results[kind][name] = {"times": times, "recall / default": ratios}
        results[kind]["embedded"] = model.misses - misses
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--store", type=Path, help="a folder to keep the store in")
    parser.add_argument("--receipt", default="recall")
    options = parser.parse_args()
    result: dict[str, Any] = {"memories": options.memories}
    with tempfile.TemporaryDirectory() as folder, service.open(options.store or Path(folder) / "memory") as memory:
        if not memory.kb.snapshot().size:
            filling, _ = time_call(lambda: fill(memory, options.memories))
            indexing, _ = time_call(lambda: memory.kb.optimize())
            result |= {"fill_s": round(filling, 1), "index_s": round(indexing, 1)}
        result["memories"] = memory.kb.snapshot().size
        result |= measure(memory, options.questions)
    print(result)
    print(write_receipt(options.receipt, result))


if __name__ == "__main__":
    main()
