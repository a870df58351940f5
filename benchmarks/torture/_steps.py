"""Takes steps on a store until one is refused, and compares the store with what was acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from assay.backend.addresses import open_backend
from assay.backend.contract import StoreBackend
from assay.errors import AssayError
from benchmarks.torture._stores import has_vectors, make_chunk, make_vector
from benchmarks.torture._writer import Step, plan_steps

State = dict[str, int]
"""Chunks that should be there: id → seed."""


def take_step(backend: StoreBackend, kind: str, step: Step) -> None:
    action, chunks = step
    if action == "put":
        vectors = has_vectors(kind)
        backend.put([(make_chunk(name, n), make_vector(n) if vectors else None) for name, n in chunks])
    elif action == "remove":
        backend.remove([name for name, _ in chunks])
    else:
        backend.compact(force=True)


def apply_step(state: State, step: Step) -> State:
    action, chunks = step
    gone = {name for name, _ in chunks} if action == "remove" else set()
    added = dict(chunks) if action == "put" else {}
    return {name: seed for name, seed in {**state, **added}.items() if name not in gone}


def take_steps(kind: str, address: str, seed: int, most: int) -> Iterator[tuple[str, Step | None, str]]:
    """Yield (what happened, the step, the error): `done` for each acknowledged step, at last `refused` or `crashed`
    when one failed. Opening and reading count as a step."""
    step: Step | None = None
    try:
        backend = open_backend(address)
        try:
            for step in islice(plan_steps(seed), most):
                take_step(backend, kind, step)
                yield "done", step, ""
                read_state(backend)
        finally:
            backend.close()
    except AssayError as error:
        yield ("refused" if error.cure else "crashed"), step, f"{error.message} → {error.cure}"
    except BaseException as error:
        if isinstance(error, GeneratorExit):
            raise
        yield "crashed", step, f"{type(error).__name__}: {error}"


def read_state(backend: StoreBackend) -> State:
    """What is in the store; ValueError for a chunk that is not what was written."""
    view = backend.snapshot()
    found: State = {}
    for chunk in view.chunks(view.live_rows(None)):
        seed = int(chunk.meta["n"])
        if chunk != make_chunk(chunk.id, seed):
            raise ValueError(f"{chunk.id} is not what was written")
        found[chunk.id] = seed
    return found


def judge_store(address: str, acknowledged: State, failed: Step | None) -> dict[str, Any]:
    """Whether a store holds what was acknowledged, with or without the step that failed."""
    try:
        backend = open_backend(address)
        try:
            found = read_state(backend)
            extra = ("after", 1)
            backend.put([(make_chunk(*extra), None)])
        finally:
            backend.close()
    except Exception as error:
        return {"outcome": "unreadable", "error": f"{type(error).__name__}: {error}"}
    allowed = [acknowledged, *([apply_step(acknowledged, failed)] if failed else [])]
    if found in allowed:
        return {"outcome": "kept"}
    lost = sorted(acknowledged.keys() - found.keys() - ({n for n, _ in failed[1]} if failed else set()))
    return {"outcome": "lost" if lost else "half there", "ids": lost[:5]}
