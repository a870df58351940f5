"""Pools the routing errors of several simulated worlds: one world has too few queries to tell .02 from .05.

A seed makes another organisation with the same query templates, so the split between templates that settings were
chosen on and the others stays. The receipt has the counts of every world, and for each scale the sums of all worlds
that were measured, with an exact interval (Clopper and Pearson) of ε_any at every level; queries of one template are
alike, so the true intervals are wider. A run adds worlds to the receipt, or replaces them.

    assay bench rb006 build --scale 10k --seed 8 --out dev10k-seed8        # and so on
    python -m benchmarks.routing_seeds dev10k-seed8 …
    python -m benchmarks.routing_seeds dev10k-seed8 … --margins .22 .24 .26 --splits tuning    # to choose a setting
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load
from assay.bench.metrics.routing import LevelOutcome, measure_levels
from assay.bench.stats import clopper_pearson
from assay.bench.workspace import Workspace, prepare
from assay.legs.beam import Beam
from assay.protocols import TreeSnapshot, TreeView
from benchmarks.measure import RECEIPTS, percentiles, write_receipt
from benchmarks.routing import ROUTERS, SPLITS, Evidence, find_first_hop, read_queries, time_both, walk_queries

NAME = "routing_seeds"
MOST = {"margin 1..4": 4, "margin 1..8": 8}
Line = dict[str, Any]


def list_expansions(margins: Sequence[float]) -> dict[str, dict[str, Any]]:
    """The expansions to measure; the margin is in the name unless it is the leg's own."""
    return {
        name if margin == Beam().margin else f"{name}, {margin:g}": {"most": most, "margin": margin}
        for margin in margins
        for name, most in MOST.items()
    }


def count_misses(levels: Sequence[Sequence[LevelOutcome]]) -> list[Line]:
    """For each level the queries that reached it, and those of them that were lost there."""
    lines = []
    for level in sorted({outcome.level for walk in levels for outcome in walk}):
        reached = [one for walk in levels for one in walk if one.level == level and one.reached]
        lines.append({"level": level, "queries": len(reached), "misses": sum(one.any for one in reached)})
    return lines


def measure_world(
    queries: Sequence[Evidence],
    workspace: Workspace,
    tree: TreeView,
    routers: Sequence[str],
    expansions: Mapping[str, Mapping[str, Any]],
    rounds: int,
) -> list[Line]:
    """One line for each router, expansion and split: counts, and the processor time of the leg for each query."""
    sizes = np.bincount(tree.leaf_of_row[tree.leaf_of_row >= 0], minlength=tree.size)
    milliseconds = time_legs(queries, workspace, routers, expansions, rounds) if rounds else {}
    lines = []
    for (router, name, split), walks in walk_queries(queries, workspace, tree, routers, expansions).items():
        levels = [
            measure_levels({"levels": walk.decisions}, find_first_hop(one, tree), tree.depth) for one, walk in walks
        ]
        children = [number for walk in levels for one in walk for number in one.children]
        lines.append(
            {
                "router": router,
                "expansion": name,
                "split": split,
                "queries": len(walks),
                "levels": count_misses(levels),
                "children": sum(children),
                "expanded": len(children),
                "scanned": sum(int(sizes[walk.leaves].sum()) for _, walk in walks),
                "ms": [milliseconds[router, name, str(one.query.id)] for one, _ in walks] if rounds else [],
                "lost": [str(one.query.id) for (one, _), walk in zip(walks, levels, strict=True) if walk[-1].lost],
            }
        )
    return lines


def time_legs(
    queries: Sequence[Evidence],
    workspace: Workspace,
    routers: Sequence[str],
    expansions: Mapping[str, Mapping[str, Any]],
    rounds: int,
) -> dict[tuple[str, str, str], float]:
    """Milliseconds of processor time of the leg `beam` without hops, by router, expansion and query.

    The fastest of some rounds counts. Wall time would measure what else the machine does.
    """
    fastest: dict[tuple[str, str, str], float] = {}
    legs = {(r, name): Beam(**ROUTERS[r], **settings) for r in routers for name, settings in expansions.items()}
    for one in queries:
        runs = {
            str(key): lambda _, leg=leg, query=one.query: leg.find(query, workspace.snapshot, 100)
            for key, leg in legs.items()
        }
        times = time_both(runs, 1, rounds)
        fastest.update(((*key, str(one.query.id)), times[str(key)]["cpu_p50_ms"]) for key in legs)
    return fastest


def pool(worlds: Mapping[str, Line]) -> list[Line]:
    """The lines of all worlds of one scale, added."""
    groups: dict[tuple[int, str, str, str], list[tuple[int, Line]]] = defaultdict(list)
    for world in worlds.values():
        for line in world["walks"]:
            groups[world["scale"], line["router"], line["expansion"], line["split"]].append((world["chunks"], line))
    pooled = []
    for (scale, router, expansion, split), members in sorted(groups.items()):
        lines = [line for _, line in members]
        milliseconds = [number for line in lines for number in line["ms"]]
        read = sum(line["scanned"] for line in lines) / sum(chunks * line["queries"] for chunks, line in members)
        pooled.append(
            {
                "scale": scale,
                "worlds": len(lines),
                "router": router,
                "expansion": expansion,
                "split": split,
                "queries": sum(line["queries"] for line in lines),
                "levels": [_pool_level(parts) for parts in zip(*(line["levels"] for line in lines), strict=False)],
                "children": round(sum(line["children"] for line in lines) / sum(line["expanded"] for line in lines), 3),
                "scanned": round(read, 4),
                "cpu_p95_ms": percentiles([number / 1000.0 for number in milliseconds])["p95_ms"]
                if milliseconds
                else None,
            }
        )
    return pooled


def _pool_level(parts: Sequence[Line]) -> Line:
    misses, queries = sum(part["misses"] for part in parts), sum(part["queries"] for part in parts)
    interval = clopper_pearson(misses, queries)
    return {
        "level": parts[0]["level"],
        "queries": queries,
        "misses": misses,
        "eps_any": round(misses / queries, 4),
        "interval": [round(interval.low, 4), round(interval.high, 4)],
    }


def describe(line: Line) -> str:
    levels = "  ".join(f"{one['misses']}/{one['queries']} = {one['eps_any']:.4f}" for one in line["levels"])
    name = f"{line['scale']:>7,} {line['router']:22s} {line['expansion']:18s} {line['split']:8s}"
    return f"{name} {levels}  children {line['children']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="+", type=Path)
    parser.add_argument("--routers", nargs="+", choices=ROUTERS, default=["nodes", "maxpool"])
    parser.add_argument("--margins", nargs="+", type=float, default=[Beam().margin])
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--rounds", type=int, default=3, help="of the timing; 0 leaves it out")
    options = parser.parse_args()
    expansions, path = list_expansions(options.margins), RECEIPTS / f"{NAME}.json"
    is_whole = options.margins == [Beam().margin] and set(options.splits) == set(SPLITS)
    worlds = json.loads(path.read_text("utf-8"))["measured"]["worlds"] if is_whole and path.exists() else {}
    for folder in options.worlds:
        meta = json.loads((folder / "meta.json").read_text("utf-8"))
        with prepare(load(str(folder), "dev")) as workspace:
            assert isinstance(workspace.snapshot, TreeSnapshot)
            queries = [one for one in read_queries(folder, workspace) if one.split in options.splits]
            tree = workspace.snapshot.tree()
            walks = measure_world(queries, workspace, tree, options.routers, expansions, options.rounds)
            worlds[folder.name] = {
                "seed": meta["seed"],
                "scale": meta["scale"],
                "chunks": workspace.snapshot.size,
                "nodes": np.bincount(tree.level).tolist(),
                "walks": walks,
            }
        pooled = pool(worlds)
        print("\n".join(map(describe, pooled)), flush=True)
        if is_whole:  # what a setting was chosen by is no receipt
            settings = {"splits": SPLITS, "margin": Beam().margin, "pooled": pooled}
            print(write_receipt(NAME, {**settings, "worlds": dict(sorted(worlds.items()))}), flush=True)


if __name__ == "__main__":
    main()
