"""What does a recall cost beside what it cannot do without? The memory service at 100k memories.

    python -m benchmarks.recall --memories 100000

In turns, question by question: `Memory.recall` with the rerank off, and by hand what it calls: the embedding of the
question and the two legs at the preset's depth under the same filter for scope and moment. Once with questions the
model never saw (as an agent asks them), once with questions whose vectors are in the cache: there nothing hides what
the service itself costs. The clock moves on from call to call, as it does for an agent. Memories are real passages cut
to a few sentences, spread over three scopes and two years.
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
from assay.embed.cache import CachedEmbedder
from assay.ingest.chunk import PROFILES
from assay.memory import service
from assay.memory.config import convert
from assay.memory.entries import chunks_of, made, new_id
from assay.memory.service import MemoryService
from assay.types import DAY, Query
from benchmarks.data import questions, text_of, vectors
from benchmarks.measure import in_turns, timed, write_receipt

NOW = 20_700.0 * DAY
SCOPES = ("global", "agent:heron", "user:ann")
BATCH = 5_000


def fill(memory: MemoryService, size: int) -> None:
    """Memories as the service writes them, many at a time: storing one by one asks for duplicates each time."""
    profile = PROFILES["default"]
    for start in range(0, size, BATCH):
        part = min(BATCH, size - start)
        items = []
        for number, vector in zip(range(start, start + part), vectors(start, part), strict=True):
            text = f"{text_of(number)[:300]} (note {number})"
            then = NOW - (number * 7919 % 730) * DAY
            entry = made(text, SCOPES[number % 3], "fact", number % 10 / 10, (), then, None, then)
            entry = replace(entry, id=new_id(entry))
            items += [(chunk, vector) for chunk in chunks_of(entry, profile)[:1]]
        memory.kb.backend.put(items)


def measure(memory: MemoryService) -> dict[str, Any]:
    asked, _ = questions()
    pipeline = from_dict(convert({"rerank": "none"}).pipeline, "memory")
    model = memory.kb.embedder
    assert isinstance(model, CachedEmbedder)
    run, number = secrets.token_hex(4), count()

    def new(i: int) -> str:
        """A question nobody asked before, in this run or another: no cache of vectors knows it."""
        return f"{asked[i]} ({run} {next(number)})"

    def known(i: int) -> str:
        return asked[i]

    window = memory._window(SCOPES)
    where = window.filter(*window.asked(None, (), NOW))

    def whole(text: str) -> None:
        memory.recall(text, scopes=SCOPES, at=NOW + next(number), pipeline=pipeline, adaptive=False)

    def needed(text: str) -> None:
        query = Query(text, vector=model.encode_query(text), at=NOW + next(number), where=where)
        view = memory.kb.snapshot()
        for plan in pipeline.legs:
            plan.leg.find(query, view, plan.k)

    found: dict[str, Any] = {}
    for said, text_of_question in (("new questions", new), ("vectors in the cache", known)):
        for text in asked:
            model.encode_query(text)
        misses = model.misses
        times = in_turns(
            {
                "recall": lambda i, text=text_of_question: whole(text(i)),
                "embedding and legs": lambda i, text=text_of_question: needed(text(i)),
            },
            len(asked),
        )
        ratios = {p: round(times["recall"][p] / times["embedding and legs"][p], 3) for p in ("p50_ms", "p95_ms")}
        found[said] = {"embedded": model.misses - misses, "times": times, "recall / embedding and legs": ratios}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--receipt", default="recall")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, service.open(Path(folder) / "memory") as memory:
        filling, _ = timed(lambda: fill(memory, options.memories))
        indexing, _ = timed(lambda: memory.kb.optimize())
        result = {"memories": options.memories, "fill_s": round(filling, 1), "index_s": round(indexing, 1)}
        result |= measure(memory)
    print(result)
    print(write_receipt(options.receipt, result))


if __name__ == "__main__":
    main()
