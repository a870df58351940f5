"""Compares two trees over the same chunks: similar chunks together, or the tree that documents already have.

For each tree: how many queries have a chunk of a judged document in the leaves that the leg `beam` reaches, how much of
the store those leaves are, and how often a judged document is among the first results of the flat pipeline, of the race
of `hcr-margin` and of its walk alone, all without the rerank. The trees are built in copies of the lab's store.

    python -m benchmarks.heading_tree DATASET [--folders people-group product]

`--folders` keeps the documents below some folders (the second part of their ids) and the queries that they answer.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from assay import kb
from assay.bench.datasets import load
from assay.bench.types import Dataset
from assay.bench.workspace import Workspace, prepare
from assay.config.load import load as load_pipeline
from assay.engine.pipeline import Pipeline
from assay.index.tree.layout import TreeKind, TreeSettings
from assay.legs.beam import Beam
from assay.rerank.late_interaction import LateInteraction
from assay.types import Query
from benchmarks.measure import write_receipt

SPLIT, FIRST = "test", 10


def keep_folders(dataset: Dataset, folders: Collection[str]) -> Dataset:
    """The part of a dataset below some folders."""
    if not folders:
        return dataset
    documents = [one for one in dataset.documents if _folder(str(one["id"])) in folders]
    known = {one["id"] for one in documents}
    judged = {
        topic: {name: grade for name, grade in grades.items() if name in known}
        for topic, grades in dataset.judgements.items()
    }
    return replace(
        dataset,
        documents=documents,
        document_count=len(documents),
        judgements={topic: grades for topic, grades in judged.items() if grades},
    )


def _folder(name: str) -> str:
    """The second part of a document's id."""
    return name.split("/")[1] if "/" in name else ""


def make_pipelines() -> dict[str, Pipeline]:
    """The flat pipeline, the race, and its walk alone, without the rerank that all of them share."""
    flat, race = (
        replace(pipeline, steps=tuple(plan for plan in pipeline.steps if not isinstance(plan.step, LateInteraction)))
        for pipeline in map(load_pipeline, ("flat-strong", "hcr-margin"))
    )
    walk = tuple(plan for plan in race.legs if isinstance(plan.leg, Beam))
    return {"flat": flat, "race": race, "beam only": replace(race, legs=walk, fuser=None)}


def measure_tree(
    folder: Path, kind: TreeKind, queries: Mapping[str, Query], judgements: Mapping[str, Mapping[str, int]]
) -> dict[str, Any]:
    """Build one tree in this store and walk it for every query."""
    with kb.open(folder, create=False) as base:
        base.build_tree(TreeSettings(kind=kind))
        snapshot = base.snapshot()
        tree: Any = snapshot.tree()  # type: ignore[attr-defined]
        names = np.array([chunk.doc_id for chunk in snapshot.chunks(snapshot.live_rows(None))])
        leg, reached, scanned, children = Beam(), [], [], []
        for topic, query in queries.items():
            log = leg.find(query, snapshot, FIRST).notes[-1].data["routing"]
            rows = np.unique(np.concatenate([tree.rows(leaf) for leaf in log["leaves"]]))
            reached.append(bool(set(names[rows].tolist()) & judgements[topic].keys()))
            scanned.append(len(rows) / snapshot.size)
            children += [len(one["chosen"]) for one in log["levels"]]
        return {
            "tree": kind,
            "nodes": np.bincount(tree.level).tolist(),
            "reached": round(float(np.mean(reached)), 4),
            "scanned": round(float(np.mean(scanned)), 4),
            "children": round(float(np.mean(children)), 2),
            "found": {
                name: round(
                    float(
                        np.mean(
                            [_finds(pipeline, query, snapshot, judgements[topic]) for topic, query in queries.items()]
                        )
                    ),
                    4,
                )
                for name, pipeline in make_pipelines().items()
            },
        }


def _finds(pipeline: Pipeline, query: Query, snapshot: Any, judged: Mapping[str, int]) -> bool:
    """Whether a judged document is among the first results."""
    answer = pipeline.run(query, snapshot, k=FIRST)
    return any(hit.chunk.doc_id in judged for hit in answer)


def measure(dataset: Dataset) -> dict[str, Any]:
    with prepare(dataset) as workspace:
        queries = {topic: workspace.query(dataset.topics[topic]) for topic in dataset.scored}
        judgements = {topic: {n: g for n, g in dataset.judgements[topic].items() if g > 0} for topic in dataset.scored}
        chunks = workspace.snapshot.size
        with tempfile.TemporaryDirectory() as scratch:
            trees = []
            for kind in get_args(TreeKind):
                copy = Path(scratch) / kind
                shutil.copytree(_folder_of(workspace), copy)
                trees.append(measure_tree(copy, kind, queries, judgements))
                print(trees[-1], flush=True)
    return {"set": dataset.name, "label": dataset.label, "chunks": chunks, "queries": len(queries), "trees": trees}


def _folder_of(workspace: Workspace) -> Path:
    return Path(str(workspace.kb.store.address))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--folders", nargs="+", default=[], help="keep documents below these folders only")
    options = parser.parse_args()
    dataset = keep_folders(load(options.dataset, SPLIT), options.folders)
    print(write_receipt("heading_tree", {**measure(dataset), "split": SPLIT, "folders": sorted(options.folders)}))


if __name__ == "__main__":
    main()
