"""Measures how often walks down the tree lose the evidence, what they read, and what they cost.

On the simulated development world (`assay bench rb006 build --scale 10k …`), feasible queries in scope. Queries of the
templates that settings were chosen on, and of the others, are measured apart. Times alternate query by query; query
vectors are computed before, for all alike. A run may measure some worlds and parts; the receipt keeps the others.

    python -m benchmarks.routing --worlds dev10k dev50k dev200k
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load
from assay.bench.metrics.routing import (
    HopOutcome,
    list_ancestors,
    measure_hops,
    measure_levels,
    summarise_hops,
    summarise_levels,
)
from assay.bench.systems import load_system
from assay.bench.workspace import Workspace, prepare
from assay.config.load import load as load_pipeline
from assay.engine.pipeline import Pipeline
from assay.legs.beam import Beam
from assay.legs.hierarchy.query_entities import QueryEntities
from assay.legs.hierarchy.text_scorers import score_children
from assay.legs.hierarchy.walk import Walk, walk_down
from assay.legs.hierarchy.weights import ScoreWeights
from assay.protocols import TreeSnapshot, TreeView
from assay.types import Floats, Query
from benchmarks.measure import RECEIPTS, percentiles, write_receipt

SPLITS = {"tuning": "templates that settings were chosen on", "heldout": "templates that they were not chosen on"}
EXPANSIONS: dict[str, dict[str, Any]] = {
    "margin 1..4": {"most": 4},
    "margin 1..8": {"most": 8},
    "prefilter 3, top 2": {"expand": "top", "most": 2, "prefilter": 3},
    "prefilter 3, rerank, top 2": {"expand": "top", "most": 2, "prefilter": 3, "rerank": "late_interaction"},
}
ROUTERS: dict[str, dict[str, Any]] = {
    "nodes": {"router": "nodes"},
    "maxpool": {"router": "maxpool", "pool": 100},
    "maxpool of all chunks": {"router": "maxpool", "pool": 0},
}
FOUND = ("flat-strong", "flat-strong-xlink", "hcr, maxpool", "hcr-margin, nodes", "hcr-margin, nodes, beam only")
PARTS = ("walks", "rerank", "bridges", "found", "times", "shares")
NAME = "routing"


@dataclass(frozen=True)
class Evidence:
    """One feasible query: its rows of evidence by hop and group."""

    query: Query
    split: str
    tags: tuple[str, ...]
    groups: dict[int, dict[int, list[int]]]


def read_queries(folder: Path, workspace: Workspace) -> list[Evidence]:
    rows = {str(name): row for row, name in enumerate(workspace.documents)}
    groups: dict[str, dict[int, dict[int, list[int]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for line in (folder / "evidence.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        if item["doc_id"] in rows:
            groups[item["query_id"]][item["hop"]][item["group"]].append(rows[item["doc_id"]])
    found = []
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        meta = item["metadata"]
        if meta["answerability"] == "answerable" and meta["in_scope"] and groups[item["_id"]].get(1):
            vector = workspace.kb.embedder.encode_query(item["text"])  # type: ignore[union-attr]
            query = Query(item["text"], vector=vector, id=item["_id"])
            found.append(Evidence(query, meta["template_split"], tuple(meta["tags"]), dict(groups[item["_id"]])))
    return found


def walk_queries(
    queries: Sequence[Evidence],
    workspace: Workspace,
    tree: TreeView,
    routers: Sequence[str],
    expansions: Mapping[str, Mapping[str, Any]],
) -> dict[tuple[str, str, str], list[tuple[Evidence, Walk]]]:
    """Every query's walks, by router, expansion and split: those of the leg `beam`.

    The nodes are scored once for each query and router.
    """
    weights = ScoreWeights.make("beam", Beam().lexical, Beam().cosine, Beam().entity)
    walks: dict[tuple[str, str, str], list[tuple[Evidence, Walk]]] = defaultdict(list)
    for place, one in enumerate(queries, 1):
        if place % 20 == 0:
            print(f"walks of {place} of {len(queries)} queries", flush=True)
        entities = QueryEntities.find(one.query, workspace.snapshot)
        for router in routers:
            scores = Beam(**ROUTERS[router]).score_nodes(one.query, workspace.snapshot, tree, weights, entities)
            for name, settings in expansions.items():
                leg = Beam(**ROUTERS[router], **settings)
                reranker = None
                if leg.rerank:
                    reranker, _ = score_children(leg.rerank, one.query, workspace.snapshot, tree, scores)
                walks[router, name, one.split].append((one, walk_down(tree, scores, leg.expansion, reranker)))
    return walks


def measure_walks(
    queries: Sequence[Evidence], workspace: Workspace, tree: TreeView, routers: Sequence[str], rerank: bool
) -> list[dict[str, Any]]:
    """One line for each router and expansion, with ε by level, children and scored chunks of each split."""
    expansions = {name: settings for name, settings in EXPANSIONS.items() if rerank or "rerank" not in settings}
    logs = walk_queries(queries, workspace, tree, routers, expansions)
    sizes = np.bincount(tree.leaf_of_row[tree.leaf_of_row >= 0], minlength=tree.size)
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for (router, name, split), walks in logs.items():
        levels = [
            measure_levels({"levels": walk.decisions}, find_first_hop(one, tree), tree.depth) for one, walk in walks
        ]
        line = lines.setdefault((router, name), {"router": router, "expansion": name})
        line[split] = {
            "queries": len(levels),
            "levels": summarise_levels(levels),
            "children": round(float(np.mean([n for walk in levels for one in walk for n in one.children])), 3),
            "scanned": round(
                float(np.mean([sizes[walk.leaves].sum() for _, walk in walks])) / workspace.snapshot.size, 4
            ),
        }
    return list(lines.values())


def find_first_hop(one: Evidence, tree: TreeView) -> list[frozenset[int]]:
    """The nodes that lead to each group of the evidence that a walk is asked to find."""
    parent = tree.parent.tolist()
    return [list_ancestors(parent, tree.leaf_of_row[rows].tolist()) for rows in one.groups[1].values()]


def measure_bridges(queries: Sequence[Evidence], workspace: Workspace, tree: TreeView) -> dict[str, Any]:
    """The error of each hop of `hcr-margin`, by split."""
    leg, snapshot = Beam(hops=2), workspace.snapshot
    found: dict[str, list[list[HopOutcome]]] = defaultdict(list)
    for one in (one for one in queries if max(one.groups) > 1):
        log = leg.find(one.query, snapshot, 10).notes[-1].data["routing"]
        reached = np.concatenate([tree.rows(leaf) for leaf in log["leaves"]])
        names = {
            hop: [snapshot.ids(np.array(rows)).tolist() for rows in groups.values()]
            for hop, groups in one.groups.items()
        }
        found[one.split].append(measure_hops(log, snapshot.ids(reached).tolist(), names))
    return {split: summarise_hops(outcomes) for split, outcomes in found.items()}


def measure_found(pipeline: Pipeline, queries: Sequence[Evidence], workspace: Workspace) -> dict[str, Any]:
    """The share of queries with a chunk of every group of evidence among the first 6 and 10 results."""
    counts: dict[str, list[float]] = defaultdict(list)
    for one in queries:
        chosen = pipeline.run(one.query, workspace.snapshot, k=10).chosen
        rows = workspace.snapshot.rows(chosen.ids)
        groups = [set(rows) for by_group in one.groups.values() for rows in by_group.values()]
        kind = "several hops" if max(one.groups) > 1 else "one hop"
        for k in (6, 10):
            seen = set(rows[:k].tolist())
            for name in ("all", kind):
                counts[f"{one.split}, {name}, first {k}"].append(float(all(seen & group for group in groups)))
    return {
        name: {"queries": len(values), "share": round(float(np.mean(values)), 4)} for name, values in counts.items()
    }


def make_pipelines() -> dict[str, Pipeline]:
    """The presets, and hcr and hcr-margin with the other router."""
    flat, hybrid = load_pipeline("flat-strong"), load_system("hybrid+rerank").pipeline
    assert hybrid is not None
    made = {"flat-strong": flat, "hybrid+rerank": hybrid, "flat-strong-xlink": load_pipeline("flat-strong-xlink")}
    for name in ("hcr", "hcr-margin"):
        pipeline = load_pipeline(name)
        for router, settings in ROUTERS.items():
            legs = tuple(
                replace(plan, leg=replace(plan.leg, **settings)) if isinstance(plan.leg, Beam) else plan
                for plan in pipeline.legs
            )
            made[f"{name}, {router}"] = replace(pipeline, legs=legs)
            if name == "hcr-margin" and router == "nodes":
                beam = tuple(plan for plan in legs if isinstance(plan.leg, Beam))
                made[f"{name}, {router}, beam only"] = replace(pipeline, legs=beam, fuser=None)
    return made


def measure_times(queries: Sequence[Evidence], workspace: Workspace, rounds: int) -> dict[str, Any]:
    """Times the presets and the leg alone, alternating, and the ratios to the flat pipelines."""
    snapshot, pipelines = workspace.snapshot, make_pipelines()
    runs = {name: lambda i, p=pipeline: p.run(queries[i].query, snapshot) for name, pipeline in pipelines.items()}
    for router in ROUTERS:
        for name, settings in EXPANSIONS.items():
            leg = Beam(**ROUTERS[router], **settings)
            runs[f"leg beam, {router}, {name}"] = lambda i, one=leg: one.find(queries[i].query, snapshot, 100)
    for run in runs.values():  # load models, fill caches of token codes
        for place in range(len(queries)):
            run(place)
    times = time_both(runs, len(queries), rounds)
    ratios = {
        f"{name} over {flat}": {kind: round(times[name][kind] / times[flat][kind], 2) for kind in times[flat]}
        for flat in ("flat-strong", "hybrid+rerank")
        for name in times
        if name.startswith(("hcr", "leg"))
    }
    return {"timed_queries": len(queries), "times": times, "ratios": ratios}


def measure_shares(queries: Sequence[Evidence], workspace: Workspace, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of processor time for each part of `hybrid+rerank` and of `hcr-margin` with the router `nodes`: what
    the part adds to a run without it, the mean over the queries."""
    snapshot, pipelines = workspace.snapshot, make_pipelines()
    flat, race = pipelines["hybrid+rerank"], pipelines["hcr-margin, nodes"]
    runs: dict[str, Callable[[int], Any]] = {}
    for name, pipeline in (("flat", flat), ("race", race)):
        for part, one in (("all", pipeline), ("without steps", replace(pipeline, steps=()))):
            runs[f"{name}, {part}"] = lambda i, one=one: one.run(queries[i].query, snapshot)
        for plan in pipeline.legs:
            runs[plan.name] = lambda i, plan=plan: plan.leg.find(queries[i].query, snapshot, plan.k)
    walk = next(replace(plan.leg, hops=0) for plan in race.legs if isinstance(plan.leg, Beam))
    runs["walk"] = lambda i: walk.find(queries[i].query, snapshot, 100)
    for run in runs.values():
        for place in range(len(queries)):
            run(place)
    spent = {name: float(times[1].mean()) * 1000.0 for name, times in _time_each(runs, len(queries), rounds).items()}
    shares = {
        "hybrid+rerank": {
            "bm25 and dense": spent["bm25"] + spent["dense"],
            "fusion and trace": spent["flat, without steps"] - spent["bm25"] - spent["dense"],
            "rerank": spent["flat, all"] - spent["flat, without steps"],
        },
        "hcr-margin, nodes": {
            "walk": spent["walk"],
            "bridge hop": spent["beam"] - spent["walk"],
            "flat search of the race": spent["collapsed"],
            "race and trace": spent["race, without steps"] - spent["beam"] - spent["collapsed"],
            "rerank": spent["race, all"] - spent["race, without steps"],
        },
    }
    return {name: {part: round(value, 3) for part, value in parts.items()} for name, parts in shares.items()}


def time_both(runs: dict[str, Callable[[int], Any]], count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Wall time and processor time of every run on every query, alternating; the fastest round of each query counts.

    Processor time hardly depends on what else the machine does, but adds up the threads of a run.
    """
    best = _time_each(runs, count, rounds)
    return {
        name: {
            **percentiles(best[name][0].tolist()),
            **{f"cpu_{kind}": value for kind, value in percentiles(best[name][1].tolist()).items()},
        }
        for name in runs
    }


def _time_each(runs: dict[str, Callable[[int], Any]], count: int, rounds: int) -> dict[str, Floats]:
    """Seconds of wall time (line 0) and of processor time (line 1) of every run on every query."""
    names = list(runs)
    best = {name: np.full((2, count), np.inf) for name in names}
    for turn in range(rounds):
        for place in range(count):
            shift = (turn * 2 + place) % len(names)
            for name in names[shift:] + names[:shift]:
                start = time.perf_counter(), time.process_time()
                runs[name](place)
                spent = time.perf_counter() - start[0], time.process_time() - start[1]
                best[name][:, place] = np.minimum(best[name][:, place], spent)
    return best


def measure_world(
    folder: Path, known: dict[str, Any], parts: Sequence[str], routers: Sequence[str], rounds: int, most: int
) -> dict[str, Any]:
    """Measure some parts of a world; the others are kept as they are known."""
    with prepare(load(str(folder), "dev")) as workspace:
        snapshot = workspace.snapshot
        assert isinstance(snapshot, TreeSnapshot)
        tree = snapshot.tree()
        queries = read_queries(folder, workspace)
        some = queries[:: max(1, len(queries) // most)]
        print(f"{folder.name}: {snapshot.size:,} chunks, {len(queries)} queries", flush=True)
        world: dict[str, Any] = {**known, "chunks": snapshot.size, "nodes": np.bincount(tree.level).tolist()}
        if "walks" in parts:
            kept = [line for line in known.get("walks", ()) if line["router"] not in routers]
            world["walks"] = kept + measure_walks(queries, workspace, tree, routers, "rerank" in parts)
        if "bridges" in parts:
            world["bridges"] = measure_bridges(queries, workspace, tree)
        if "found" in parts:
            pipelines = make_pipelines()
            world["found"] = {name: measure_found(pipelines[name], queries, workspace) for name in FOUND}
        if "times" in parts:
            world |= measure_times(some, workspace, rounds)
        if "shares" in parts:
            world["shares"] = measure_shares(some, workspace, rounds)
        print(json.dumps(world), flush=True)
        return world


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--routers", nargs="+", choices=ROUTERS, default=list(ROUTERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timed", type=int, default=200, help="queries whose times are measured")
    options = parser.parse_args()
    path = RECEIPTS / f"{NAME}.json"
    worlds = json.loads(path.read_text("utf-8"))["measured"]["worlds"] if path.exists() else {}
    for folder in options.worlds:
        worlds[folder.name] = measure_world(
            folder, worlds.get(folder.name, {}), options.parts, options.routers, options.rounds, options.timed
        )
        settings = {"splits": SPLITS, "expansions": EXPANSIONS, "margin": Beam().margin}
        print(write_receipt(NAME, {**settings, "worlds": dict(sorted(worlds.items()))}), flush=True)


if __name__ == "__main__":
    main()
