"""Builds what the router's receipts search beside the corpus: a LanceDB table, a small store, a recording.

    second.lance        the corpus's chunks and vectors, as `assay bench router --make-table` writes them
    small, small.toml   a store of every fourth document, and the pipeline that searches it
    slow.json           a recorded second stage (receipts/router/recordings), copied

The paths are relative, as in the pipelines of the receipts: `build_sources` writes into the current folder, and
`make replay` calls it for each dataset.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay import kb
from assay.bench.router_report import write_lance_table
from assay.bench.runner import Bench
from assay.bench.types import Dataset
from assay.bench.workspace import Workspace
from assay.config.load import from_dict, load
from assay.errors import StoreError
from assay.types import Progress
from assay.util.atomic_files import write_text
from benchmarks.measure import RECEIPTS

RECORDINGS = RECEIPTS / "router" / "recordings"
SMALL, SMALL_PIPELINE, SECOND, SLOW = "small", "small.toml", "second.lance", "slow.json"
SHARE = 4
"""One document of so many is in the small store; which ones is decided by a hash of the id."""
_SMALL_TOML = """[legs.bm25]
k = 20
[legs.dense]
k = 20
[fuse]
use = "rrf"
by = ["session_id", "doc_id"]
"""
SLOW_PIPELINE: Mapping[str, Any] = {
    "k": 20,
    "legs": {"bm25": {"k": 100, "norm": "ideal"}, "dense": {"k": 100, "norm": "clamp"}},
    "fuse": {"use": "weighted_merge", "weights": {"bm25": 0.6, "dense": 0.4}},
    "step": [{"use": "late_interaction", "pool": 50, "bits": 8}],
}
"""The pipeline of the recorded second stage: words and vectors, reranked by token vectors."""


def build_sources(dataset: Dataset, workspace: Workspace, progress: Progress = lambda *_: None) -> None:
    """Write all sources of a dataset into the current folder, in place of those of another."""
    for path in (Path(SECOND), Path(SMALL)):
        shutil.rmtree(path, ignore_errors=True)
    write_lance_table(workspace, load("router"), progress)
    _write_small_store(dataset, workspace, progress)
    recording = RECORDINGS / f"{dataset.name}.{SLOW}"
    if recording.is_file():
        shutil.copyfile(recording, SLOW)


def _write_small_store(dataset: Dataset, workspace: Workspace, progress: Progress) -> None:
    write_text(Path(SMALL_PIPELINE), _SMALL_TOML)
    records = [record for record in dataset.documents if is_in_small_store(str(record["id"]))]
    settings = workspace.describe()
    with kb.open(SMALL, embedder=settings["embedder"], language=settings["language"]) as store:
        report = store.add(iter(records), compact=False)
        if report.problems:
            raise StoreError(f"the small store lacks {report.problems[0]}", "mend the corpus")
        store.optimize(progress, force=True)


def is_in_small_store(document: str) -> bool:
    return int(hashlib.sha256(document.encode()).hexdigest()[:8], 16) % SHARE == 0


def record_slow_stage(bench: Bench, progress: Progress = lambda *_: None) -> Path:
    """Ask a reranking pipeline every question once and write its documents and its milliseconds, as they come."""
    pipeline, rows = from_dict(SLOW_PIPELINE, "slow"), []
    topics, view = bench.dataset.scored, bench.workspace.snapshot
    pipeline.run(bench.query(topics[0]), view, k=1)  # loads the model
    for done, topic in enumerate(topics, 1):
        query = bench.query(topic)
        start = time.perf_counter()
        answer = pipeline.run(query, view, k=100)
        ms = (time.perf_counter() - start) * 1000.0
        found = bench.collect(topic, answer, 20)
        rows.append(
            {
                "question_id": topic,
                "retrieved_session_ids": list(found.documents[:20]),
                "retrieved_scores": [round(score, 6) for score in found.scores[:20]],
                "latency_ms": round(ms, 1),
            }
        )
        progress("recording", done, len(topics))
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    path = RECORDINGS / f"{bench.dataset.name}.{SLOW}"
    write_text(path, json.dumps({"pipeline": dict(SLOW_PIPELINE), "results": rows}, indent=1) + "\n")
    return path
