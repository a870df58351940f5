"""The same questions under other hash seeds and numbers of threads, cold and warm, before and after compaction.

Their answers must have the same digests."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from assay.backend.addresses import open_backend
from benchmarks.torture._stores import create_store, has_vectors, make_chunk, make_vector
from benchmarks.torture.task import Task, summarise

ABOUT = "replay across hash seeds, threads, cold and warm, before and after compaction: the same digests"
TRIALS, SHORT = 60, 3
KINDS = ("folder", "one file", "lance")
_SUFFIX = {"folder": "", "one file": ".sqlite", "lance": ".lance"}
_CHUNKS, _TAIL, _DEAD = 300, 40, 30


def campaign(task: Task) -> dict[str, Any]:
    """Trial n draws a kind of store, one of its states, and how the questions are asked."""
    home = task.stores
    kinds = KINDS if not task.short else KINDS[:1]
    stores = {kind: _build_states(kind, home) for kind in kinds}
    expected = {kind: _ask(kind, states["half indexed"], "0", 1, "cold")[0] for kind, states in stores.items()}

    def trial(number: int) -> dict[str, Any]:
        drawn = random.Random(number)
        kind = kinds[number % len(kinds)]
        state = sorted(stores[kind])[(number // len(kinds)) % len(stores[kind])]
        seed, threads = str(drawn.randrange(1, 4_000_000)), drawn.choice((1, 1, 3))
        temperature = drawn.choice(("cold", "warm"))
        found = _ask(kind, stores[kind][state], seed, threads, temperature)
        other = [key for one in found for key in expected[kind] if one.get(key) != expected[kind][key]]
        what = f"{number}, {kind}, {state}, seed {seed}, {threads} threads, {temperature}: {', '.join(other[:2])}"
        return {"what": what, "outcome": "other digests" if other else "the same", "answers": sum(map(len, found))}

    results = task.each(task.count(TRIALS, SHORT), trial)
    states = {kind: sorted(stores[kind]) for kind in kinds}
    answers = sum(result["answers"] for result in results)
    return {**summarise(results, ["other digests"]), "answers": answers, "states": states}


def _build_states(kind: str, home: Path) -> dict[str, str]:
    """Stores with the same contents and another history: written in one go, in parts, with removals, compacted."""
    states: dict[str, str] = {}
    for state in ("half indexed", "compacted", "in one go", "no index"):
        place = home / f"{kind}-{state}".replace(" ", "-")
        address = str(place) + _SUFFIX[kind]
        with contextlib.closing(create_store(kind, address)) as backend:
            if state == "in one go":
                _put(backend, kind, [n for n in range(_CHUNKS + _TAIL) if n % 5 or n >= 5 * _DEAD])
                backend.compact(force=True)
            else:
                _put(backend, kind, range(_CHUNKS))
                if state != "no index":
                    backend.compact(force=True)
                _put(backend, kind, range(_CHUNKS, _CHUNKS + _TAIL))
                backend.remove([f"c{n:04d}" for n in range(0, 5 * _DEAD, 5)])
        if state == "compacted":
            with contextlib.closing(open_backend(address)) as backend:
                backend.compact(force=True)
        states[state] = address
    return states


def _put(backend: Any, kind: str, numbers: Any) -> None:
    scopes = ("user:a", "user:b")
    pairs = [(make_chunk(f"c{n:04d}", n, scopes[n % 2]), make_vector(n)) for n in numbers]
    backend.put([(chunk, vector if has_vectors(kind) else None) for chunk, vector in pairs])


def _ask(kind: str, address: str, seed: str, threads: int, temperature: str) -> list[dict[str, str]]:
    command = [sys.executable, "-m", "benchmarks.torture._answers", kind, address, str(threads), temperature]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": str(threads)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    results: list[dict[str, str]] = json.loads(ran.stdout.splitlines()[-1])
    return results
