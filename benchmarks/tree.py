"""Measures building the tree of chunks: seconds, processor seconds, memory and disk, from 10k to 200k chunks.

The corpus is the simulated organisation, written by its generator and embedded by the local model (from the cache where
it has been embedded before; not part of any number). Then the look-ups of a tree and those of a flat search run in
turns. Seconds depend on what else the machine does, processor seconds much less.

Each size runs in a process of its own, so that its peak of memory is its own.

    python -m benchmarks.tree --sizes 10000 50000 200000
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench import datasets, workspace
from assay.bench.rb006.world import build_world, write_world
from assay.index.tree.layout import TreeSettings
from assay.types import Query
from benchmarks.measure import private_mb, time_in_turns, write_receipt

SEED = 6
ASKED = 100


class StageClock:
    """Sums the seconds of each stage that a builder reports."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._stage, self._since = "", time.perf_counter()

    def step(self, stage: str, done: int, total: int) -> None:
        del done, total
        now = time.perf_counter()
        self.stages[self._stage or stage] = self.stages.get(self._stage or stage, 0.0) + now - self._since
        self._stage, self._since = stage, now

    def rounded(self) -> dict[str, float]:
        return {name: round(seconds, 1) for name, seconds in self.stages.items()}


def time_both(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """(seconds, processor seconds of this process and its children, result)."""
    start, spent = time.perf_counter(), _processor_seconds()
    result = work()
    return time.perf_counter() - start, _processor_seconds() - spent, result


def _processor_seconds() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def measure(size: int, folder: Path) -> dict[str, Any]:
    """Build the tree of one size, then time look-ups."""
    write_world(build_world(SEED, "dev", size), folder / "world")
    dataset = datasets.load(str(folder / "world"), "dev")
    with workspace.prepare(dataset) as prepared:
        kb = prepared.kb
        backend, generation = kb.backend, kb.backend.generation  # type: ignore[attr-defined]
        shutil.rmtree(generation.tree_folder, ignore_errors=True)
        clock, before = StageClock(), private_mb()
        tree_s, tree_cpu, _ = time_both(lambda: kb.build_tree(TreeSettings(), clock.step))
        built = backend.snapshot().tree().index
        leaves = np.bincount(built.leaf_of_row)[built.first_leaf :]
        facts = {
            "chunks": size,
            "nodes_by_level": np.bincount(built.level).tolist(),
            "leaf_chunks": {
                "least": int(leaves.min()),
                "mean": round(float(leaves.mean()), 1),
                "most": int(leaves.max()),
            },
            "tree_s": round(tree_s, 1),
            "tree_cpu_s": round(tree_cpu, 1),
            "chunks_per_s": round(size / tree_s),
            "chunks_per_cpu_s": round(size / tree_cpu),
            "stages_s": clock.rounded(),
            "tree_mb_on_disk": round(sum(p.stat().st_size for p in generation.tree_folder.iterdir()) / 1e6, 1),
            "private_mb_more": round(private_mb() - before, 1),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }
        queries = [prepared.query(topic) for topic in list(dataset.topics.values())[:ASKED]]
        snapshot = backend.snapshot()
        facts["look_ups"] = measure_look_ups(snapshot, queries)
    return facts


def measure_look_ups(snapshot: Any, queries: list[Query]) -> dict[str, Any]:
    """Time what routers read, and the two searches of a flat pipeline, in turns."""
    tree = snapshot.tree()
    nodes = np.arange(tree.size)
    top = np.array(tree.children(0))
    times = time_in_turns(
        {
            "flat: bm25 and dense, 100 each": lambda i: (
                snapshot.lexical(queries[i], 100),
                snapshot.nearest(queries[i], 100),
            ),
            "scores of all rows": lambda i: tree.row_scores(queries[i]),
            "bounds of all nodes": lambda i: tree.impacts(nodes, queries[i]),
            "prototypes of the root's children": lambda _: tree.prototypes(top),
        },
        len(queries),
    )
    payloads = [time_both(lambda node=node: tree.payload(node))[0] for node in range(0, tree.size, tree.size // 50 + 1)]
    return {"times": times, "payload_ms": round(1000 * float(np.median(payloads)), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000, 200_000])
    parser.add_argument("--one", type=int, help="Measure this size only and print it as JSON.")
    chosen = parser.parse_args()
    if chosen.one:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(chosen.one, Path(folder))))
        return
    sizes = []
    for size in chosen.sizes:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.tree", "--one", str(size)], check=True, stdout=subprocess.PIPE
        )
        sizes.append(json.loads(done.stdout))
        print(json.dumps(sizes[-1], indent=1))
    first, last = sizes[0], sizes[-1]
    growth = {
        "chunks": round(last["chunks"] / first["chunks"], 1),
        "tree_cpu_s": round(last["tree_cpu_s"] / first["tree_cpu_s"], 1),
        "tree_s": round(last["tree_s"] / first["tree_s"], 1),
        "tree_mb_on_disk": round(last["tree_mb_on_disk"] / first["tree_mb_on_disk"], 1),
    }
    print(write_receipt("tree", {"sizes": sizes, "growth": growth}))


if __name__ == "__main__":
    main()
