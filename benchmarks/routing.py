"""Measures how often walks down the tree lose the evidence, what they read, and what they cost.

On the simulated development world (`assay bench rb006 build --scale 10k …`), feasible queries in scope. Queries of the
templates that settings were chosen on, and of the others, are measured apart. Times alternate query by query; query
vectors are computed before, for all alike. A run may measure some of the worlds; the receipt keeps the others.

    python -m benchmarks.routing --worlds dev10k dev50k dev200k
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load
from assay.bench.metrics.routing import (
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
from assay.protocols import TreeSnapshot, TreeView
from assay.types import Query
from benchmarks.measure import RECEIPTS, time_in_turns, write_receipt

SPLITS = {"tuning": "templates that settings were chosen on", "heldout": "templates that they were not chosen on"}
EXPANSIONS: dict[str, dict[str, Any]] = {
    "margin 1..4": {"most": 4},
    "margin 1..8": {"most": 8},
    "prefilter 3, top 2": {"expand": "top", "most": 2, "prefilter": 3},
    "prefilter 3, rerank, top 2": {"expand": "top", "most": 2, "prefilter": 3, "rerank": "late_interaction"},
}
ROUTERS = ("nodes", "maxpool")
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


def measure_walks(leg: Beam, queries: Sequence[Evidence], workspace: Workspace, tree: TreeView) -> dict[str, Any]:
    """ε by level and hop, children for each expanded node and the share of chunks that were scored, by split."""
    snapshot = workspace.snapshot
    lines: dict[str, Any] = {}
    for split in SPLITS:
        levels, hops, scanned, children = [], [], [], []
        for one in (one for one in queries if one.split == split):
            log = leg.find(one.query, snapshot, 10).notes[-1].data["routing"]
            first = [list_ancestors(tree.parent.tolist(), tree.leaf_of_row[rows]) for rows in one.groups[1].values()]
            levels.append(measure_levels(log, first, tree.depth))
            children += [number for outcome in levels[-1] for number in outcome.children]
            scanned.append(log["rows"] / snapshot.size)
            if leg.hops:
                reached = np.concatenate([tree.rows(leaf) for leaf in log["leaves"]])
                names = {
                    hop: [snapshot.ids(np.array(rows)).tolist() for rows in groups.values()]
                    for hop, groups in one.groups.items()
                }
                hops.append(measure_hops(log, snapshot.ids(reached).tolist(), names))
        lines[split] = {
            "queries": len(levels),
            "levels": summarise_levels(levels),
            "children": round(float(np.mean(children)), 3),
            "scanned": round(float(np.mean(scanned)), 4),
            **({"hops": summarise_hops(hops)} if leg.hops else {}),
        }
    return lines


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
        for router in ROUTERS:
            legs = tuple(
                replace(plan, leg=replace(plan.leg, router=router)) if isinstance(plan.leg, Beam) else plan
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
            leg = Beam(router, **settings)
            runs[f"leg beam, {router}, {name}"] = lambda i, one=leg: one.find(queries[i].query, snapshot, 100)
    for run in runs.values():  # load models, fill caches of token codes
        for place in range(len(queries)):
            run(place)
    times = time_in_turns(runs, len(queries), rounds)
    ratios = {
        f"{name} over {flat}": {p: round(times[name][p] / times[flat][p], 2) for p in ("p50_ms", "p95_ms")}
        for flat in ("flat-strong", "hybrid+rerank")
        for name in times
        if name.startswith(("hcr", "leg"))
    }
    return {"timed_queries": len(queries), "times": times, "ratios": ratios}


def measure_world(folder: Path, rounds: int, timed_queries: int) -> dict[str, Any]:
    with prepare(load(str(folder), "dev")) as workspace:
        snapshot = workspace.snapshot
        assert isinstance(snapshot, TreeSnapshot)
        tree = snapshot.tree()
        queries = read_queries(folder, workspace)
        print(f"{folder.name}: {snapshot.size:,} chunks, {len(queries)} queries", flush=True)
        walks = []
        for router in ROUTERS:
            for name, settings in EXPANSIONS.items():
                leg = Beam(router, hops=1 if name == "margin 1..8" else 0, **settings)
                walks.append({"router": router, "expansion": name, **measure_walks(leg, queries, workspace, tree)})
                print(json.dumps(walks[-1]), flush=True)
        found = {
            name: measure_found(pipeline, queries, workspace)
            for name, pipeline in make_pipelines().items()
            if name in ("flat-strong", "flat-strong-xlink", "hcr, maxpool", "hcr-margin, nodes")
            or name == "hcr-margin, nodes, beam only"
        }
        print(json.dumps(found), flush=True)
        step = max(1, len(queries) // timed_queries)
        timed = measure_times(queries[::step], workspace, rounds)
        print(json.dumps(timed), flush=True)
        return {
            "chunks": snapshot.size,
            "nodes": np.bincount(tree.level).tolist(),
            "walks": walks,
            "found": found,
            **timed,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timed", type=int, default=200, help="queries whose times are measured")
    options = parser.parse_args()
    path = RECEIPTS / f"{NAME}.json"
    worlds = json.loads(path.read_text("utf-8"))["measured"]["worlds"] if path.exists() else {}
    for folder in options.worlds:
        worlds[folder.name] = measure_world(folder, options.rounds, options.timed)
        settings = {"splits": SPLITS, "expansions": EXPANSIONS, "margin": Beam().margin}
        print(write_receipt(NAME, {**settings, "worlds": dict(sorted(worlds.items()))}), flush=True)


if __name__ == "__main__":
    main()
