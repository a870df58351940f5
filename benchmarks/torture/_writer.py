"""A process that writes to a store until it is killed, and reports what was acknowledged."""

from __future__ import annotations

import random
from multiprocessing.connection import Connection
from typing import Any

from assay.backend.addresses import open_backend
from benchmarks.torture._stores import has_vectors, make_chunk, make_vector

Step = tuple[str, list[tuple[str, int]]]
"""What a step does and the chunks it concerns, as (id, seed)."""


def plan_steps(seed: int) -> Any:
    """Steps without an end: mostly puts of one to four chunks, removals of earlier ones, compactions."""
    drawn = random.Random(seed)
    written: list[tuple[str, int]] = []
    number = 0
    while True:
        choice = drawn.random()
        if choice < 0.2 and written:
            gone = [written.pop(drawn.randrange(len(written))) for _ in range(min(len(written), drawn.randint(1, 3)))]
            yield "remove", gone
        elif choice < 0.3 and written:
            yield "compact", []
        else:
            batch = [(f"w{seed}-{number}-{place}", drawn.randrange(100_000)) for place in range(drawn.randint(1, 4))]
            number += 1
            written += batch
            yield "put", batch


def write_until_killed(kind: str, address: str, seed: int, pipe: Connection) -> None:
    """Announce each step before it is taken, and say when it was acknowledged."""
    backend = open_backend(address)
    vectors = has_vectors(kind)
    for action, chunks in plan_steps(seed):
        pipe.send(("begin", action, chunks))
        if action == "put":
            backend.put([(make_chunk(name, n), make_vector(n) if vectors else None) for name, n in chunks])
        elif action == "remove":
            backend.remove([name for name, _ in chunks])
        else:
            backend.compact(force=True)
        pipe.send(("done", action, chunks))
