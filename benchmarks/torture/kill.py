"""Kills a writing process with SIGKILL and compares the store with what was acknowledged."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from typing import Any

from assay.backend.addresses import open_backend
from benchmarks.torture._stores import PRELOADED, addresses, create_store, make_chunk
from benchmarks.torture._writer import write_until_killed
from benchmarks.torture.task import Task, summarise

ABOUT = "kill -9 of a writer: every acknowledged write is there, and none is half there"
ROUNDS = 200
"""Rounds for each kind of store."""


def campaign(task: Task) -> dict[str, Any]:
    rounds = task.count(ROUNDS, 2)
    context = multiprocessing.get_context("forkserver")  # fork would share connections, spawn would import each time
    context.set_forkserver_preload(["benchmarks.torture._writer", *PRELOADED])
    with addresses(task.stores) as places:
        kinds = list(places)
        for kind, address in places.items():
            create_store(kind, address).close()
        state: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
        results = task.each(
            rounds * len(kinds),
            lambda number: _round(context, kinds[number % len(kinds)], places, state, number),
        )
    report = summarise(results, ["lost", "half there", "unreadable"])
    by_kind = {kind: summarise((r for r in results if r["kind"] == kind), [])["outcomes"] for kind in kinds}
    acknowledged = sum(result["acknowledged"] for result in results)
    return {**report, "stores": by_kind, "acknowledged_writes": acknowledged, "rounds_per_store": rounds}


def _round(
    context: Any, kind: str, places: dict[str, str], state: dict[str, dict[str, int]], number: int
) -> dict[str, Any]:
    """One writer, killed after a few acknowledged steps, at a moment of its next ones."""
    drawn = random.Random(number)
    here, there = context.Pipe(duplex=False)
    writer = context.Process(target=write_until_killed, args=(kind, places[kind], number, there), daemon=True)
    writer.start()
    there.close()
    wanted, done, begun = drawn.randint(1, 12), 0, None
    expected = state[kind]
    until: float | None = None
    while True:
        if until is not None and time.monotonic() >= until:
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
            until = None
        try:
            if not here.poll(0.0 if writer.exitcode is not None else 0.0005):
                if writer.exitcode is not None:
                    break
                continue
            what, action, chunks = here.recv()
        except EOFError:
            break
        begun = (action, chunks) if what == "begin" else None
        if what == "done":
            done += 1
            _apply(expected, action, chunks)
            if done == wanted:
                until = time.monotonic() + drawn.random() * 0.03
    writer.join()
    found = _compare(kind, places[kind], state, begun)
    return {"what": f"round {number}, {kind}", "kind": kind, "acknowledged": done, **found}


def _apply(expected: dict[str, int], action: str, chunks: list[tuple[str, int]]) -> None:
    expected.update(chunks if action == "put" else ())
    for name, _ in chunks if action == "remove" else ():
        expected.pop(name)


def _compare(kind: str, address: str, state: dict[str, dict[str, int]], begun: Any) -> dict[str, Any]:
    """Open the store and compare it with the acknowledged state, with or without the step that was under way."""
    try:
        backend = open_backend(address)
        try:
            view = backend.snapshot()
            found = {chunk.id: chunk for chunk in view.chunks(view.live_rows(None))}
        finally:
            backend.close()
    except Exception as error:
        return {"outcome": "unreadable", "error": f"{type(error).__name__}: {error}"}
    without = state[kind]
    with_step = dict(without)
    if begun is not None:
        _apply(with_step, *begun)
    for expected in (without, with_step):
        if found.keys() == expected.keys():
            state[kind] = dict(expected)
            wrong = [name for name, seed in expected.items() if found[name] != make_chunk(name, seed)]
            return {"outcome": "half there" if wrong else "kept"}
    lost = sorted(without.keys() & with_step.keys() - found.keys())
    state[kind] = {name: int(chunk.meta["n"]) for name, chunk in found.items()}
    return {"outcome": "lost" if lost else "half there", "ids": lost[:5]}
