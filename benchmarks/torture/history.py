"""Several writers and readers of one store in processes of their own; a checker compares what they saw with what was
acknowledged."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

from benchmarks.torture._history import History, check_history, read, write
from benchmarks.torture._stores import PRELOADED, addresses, create_store
from benchmarks.torture.task import Task, summarise

ABOUT = "writers and readers at the same time: no write lost, torn, seen too early or brought back"
ROUNDS, SECONDS = 6, 8.0
"""Rounds for each kind of store, and how long each takes."""
WRITERS, READERS = 3, 2
_SHORT = ("folder", "one file")


def campaign(task: Task) -> dict[str, Any]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.torture._history", *PRELOADED])
    seconds = SECONDS if not task.short else 1.0
    totals = {"writes": 0, "reads": 0}
    with addresses(task.stores, *([_SHORT] if task.short else [])) as places:
        kinds = list(places)

        def trial(number: int) -> dict[str, Any]:
            kind = kinds[number % len(kinds)]
            place = Path(places[kind])  # a store of its own for each round: the checker knows one round's writes
            own = str(place.with_name(f"round{number}{place.suffix}"))
            address = f"{places[kind]}{number}" if kind == "postgres" else own
            create_store(kind, address).close()
            history = _run(context, kind, address, number, seconds)
            wrong = check_history(history)
            return {
                "what": f"round {number}, {kind}: {'; '.join(wrong[:3])}",
                "outcome": "contradiction" if wrong else "consistent",
                "writes": len(history.writes),
                "reads": len(history.reads),
            }

        results = task.each(task.count(ROUNDS * len(kinds), 2), trial)
    totals = {name: sum(result[name] for result in results) for name in totals}
    return {**summarise(results, ["contradiction"]), **totals, "writers": WRITERS, "readers": READERS}


def _run(context: Any, kind: str, address: str, number: int, seconds: float) -> History:
    """Let writers and readers work for some seconds; everything they did and saw."""
    pipes, children = [], []
    for place in range(WRITERS + READERS):
        here, there = context.Pipe(duplex=False)
        work = write if place < WRITERS else read
        child = context.Process(target=work, args=(kind, address, number * 10 + place, seconds, there), daemon=True)
        child.start()
        there.close()
        pipes.append(here)
        children.append(child)
    history = History()
    for pipe, child in zip(pipes, children, strict=True):
        try:
            writes, reads, errors = pipe.recv()
        except EOFError:
            history.errors.append(f"a process ended with {child.exitcode}")
            continue
        history.writes += writes
        history.reads += reads
        history.errors += errors
        child.join()
    return history
