"""Collects what is judged: the first candidates of the presets `default` and `learned` on samples of the lab's sets.

One JSON file per set and split: the texts, and per question the judged grades and each preset's ranking (chunk,
document, score). Only the first POOL candidates are reranked; those behind them keep their places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.bench.datasets import load
from assay.bench.workspace import prepare
from assay.config.load import load as load_pipeline
from assay.engine.pipeline import Pipeline
from assay.util.atomic_files import atomic_path
from benchmarks.reranker.sources import TrainingError

SETS = (
    "cranfield",
    "hotpotqa",
    "locomo",
    "multihoprag_facts",
    "nfcorpus",
    "scifact",
    "squad2_mini",
    "qed",
    "covidqa_long",
)
PRESETS = ("default", "learned")
POOL, DEPTH = 20, 60


def collect(folder: Path, name: str, split: str, report: Callable[[str], None]) -> None:
    """Write the candidates of one split, unless they are there."""
    path = _path(folder, name, split)
    if path.exists():
        return
    dataset = load(name, split)
    pipelines = {preset: load_pipeline(preset) for preset in PRESETS}
    texts: dict[str, str] = {}
    questions = []
    with prepare(dataset) as workspace:
        for topic in dataset.scored:
            query = workspace.query(dataset.topics[topic])
            rankings = {
                preset: _ranking(pipeline, query, workspace.snapshot, texts) for preset, pipeline in pipelines.items()
            }
            grades = {doc: grade for doc, grade in dataset.judgements[topic].items() if grade > 0}
            questions.append({"id": topic, "text": query.text, "grades": grades, "rankings": rankings})
    folder.mkdir(parents=True, exist_ok=True)
    content = {"set": name, "split": dataset.split, "digest": dataset.digest, "texts": texts, "questions": questions}
    with atomic_path(path) as target:
        Path(target).write_text(json.dumps(content), "utf-8")
    report(f"candidates: {name} {split}, {len(questions)} questions, {len(texts)} texts")


def _ranking(pipeline: Pipeline, query: Any, snapshot: Any, texts: dict[str, str]) -> list[tuple[str, str, float]]:
    chosen = pipeline.run(query, snapshot, k=DEPTH).chosen
    if not len(chosen):
        return []
    chunks = snapshot.chunks(snapshot.rows(chosen.ids) if chosen.rows is None else chosen.rows)
    texts.update({chunk.id: chunk.indexed_text for chunk in chunks[:POOL]})
    return [(chunk.id, chunk.doc_id, float(score)) for chunk, score in zip(chunks, chosen.score, strict=True)]


def read_candidates(folder: Path, name: str, split: str) -> Mapping[str, Any]:
    path = _path(folder, name, split)
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path} cannot be read: {error}", "delete it and run the step `candidates`") from error
    return content


def _path(folder: Path, name: str, split: str) -> Path:
    return folder / f"{name}.{split}.json"
