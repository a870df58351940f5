"""Measures storing many memories: `store_many` in an empty memory, and beside `store` one by one in a filled one.

    ASSAY_DATA=… python -m benchmarks.memory_store --memories 10000

Memories are turns of LoCoMo, what users say in BEAM, and the statements of changing_facts. Each ends with a word of its
own, so that no cache has its vector. Noise, secrets, duplicates and conflicts are checked as by default. After the
first filling, blocks of new memories are stored in turns, one way and the other, in the same memory. Seconds on a
busy machine say little, so processor time (of all threads) and the load of the machine stand beside them.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from assay.bench.datasets import load
from assay.memory import service
from assay.memory.service import MemoryService
from assay.memory.types import StoreOutcome
from benchmarks.data import data_folder
from benchmarks.measure import write_receipt

BLOCKS, BLOCK = 2, 100
SETS = ("locomo", "beam", "changing_facts")
MOST = 1_000
"""Characters of a memory; longer turns are cut."""


def read_texts() -> Iterator[str]:
    for name in SETS:
        for record in load(name, "test").documents:
            text = str(record["text"]).strip()
            if not text.startswith("assistant:"):
                yield text[:MOST]


def unique_words() -> Iterator[str]:
    """Words that no text has: letters of this run, and of a number."""
    run = "".join(secrets.choice(ascii_lowercase) for _ in range(4))
    for letters in product(ascii_lowercase, repeat=3):
        yield f"{run}{''.join(letters)}"


def count_outcomes(outcomes: list[StoreOutcome]) -> dict[str, int]:
    counts = Counter(outcome.action for outcome in outcomes)
    return {**counts, "with conflicts": sum(bool(outcome.conflicts) for outcome in outcomes)}


def measure(memory: MemoryService, texts: list[str], filling: int) -> dict[str, Any]:
    load, start, processor = os.getloadavg()[0], time.perf_counter(), time.process_time()
    outcomes = list(memory.store_many(texts[:filling]))
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    result: dict[str, Any] = {
        "memories": filling,
        "characters (mean)": round(sum(map(len, texts[:filling])) / filling),
        "store_many": {"seconds": round(seconds, 1), "ms each": round(seconds / filling * 1000, 2)},
        "processor": {"seconds": round(processor, 1), "ms each": round(processor / filling * 1000, 2)},
        "load before": round(load, 1),
        "outcomes": count_outcomes(outcomes),
        "held": memory.stats("global").memories,
    }
    rest = iter(texts[filling:])
    spent = {"store": 0.0, "store_many": 0.0}
    for _ in range(BLOCKS):
        for name in spent:
            block = [next(rest) for _ in range(BLOCK)]
            start = time.perf_counter()
            if name == "store":
                for text in block:
                    memory.store(text)
            else:
                memory.store_many(block)
            spent[name] += time.perf_counter() - start
    each = {f"{name}, ms each": round(total / BLOCKS / BLOCK * 1000, 2) for name, total in spent.items()}
    return {**result, "in turns": {**each, "store / store_many": round(spent["store"] / spent["store_many"], 2)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--receipt", default="memory_store")
    options = parser.parse_args()
    data_folder()
    wanted = options.memories + 2 * BLOCKS * BLOCK
    texts = [f"{text} {mark}" for text, mark in zip(read_texts(), unique_words(), strict=False)]
    if len(texts) < wanted:
        parser.error(f"there are only {len(texts):,} texts")
    with tempfile.TemporaryDirectory() as folder, service.open(Path(folder) / "memory") as memory:
        result = measure(memory, texts[:wanted], options.memories)
    print(result)
    print(write_receipt(options.receipt, result))


if __name__ == "__main__":
    main()
