"""Which fusion should be the default? nDCG@10 and recall@100 of candidate pipelines on human-judged sets.

Candidates are compared on splits that are not the test split; the test split only confirms (the lab, once it
exists, takes this over with tests of significance and gates). Documents are chunked as `assay add` chunks them;
a document takes its best chunk, in every system alike.

    python -m benchmarks.quality
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import R, nDCG

import assay
from assay.config import loads
from assay.pipeline import Pipeline
from benchmarks.data import data_folder, model
from benchmarks.measure import write_receipt

SPLITS = {"scifact": ("train", "test"), "nfcorpus": ("dev", "test"), "cranfield": (None, "test")}
LEGS = "k = 10\n[legs.bm25]\nk = 100\n[legs.dense]\nk = 100\n[fuse]\n"
SYSTEMS = {
    "bm25": "[legs.bm25]\nk = 100",
    "dense": "[legs.dense]\nk = 100",
    **{f"rrf c={c}": f"{LEGS}use = 'rrf'\nc = {c}.0" for c in (5, 10, 20, 60, 100)},
    "dbsf": f"{LEGS}use = 'dbsf'",
    **{
        f"{norm} dense={w}": f"{LEGS}use = 'convex'\nnorm = '{norm}'\nweights = {{bm25 = {1 - w:.1f}, dense = {w:.1f}}}"
        for norm in ("min-max", "tm2c2")
        for w in (0.3, 0.4, 0.5, 0.6, 0.7)
    },
}
UNIT_LEGS = "k = 10\n[legs.bm25]\nnorm = 'ideal'\n[legs.dense]\nnorm = 'clamp'\n[fuse]\nuse = 'weighted_merge'\n"
SYSTEMS |= {
    f"unit merge dense={w}": f"{UNIT_LEGS}weights = {{bm25 = {1 - w:.1f}, dense = {w:.1f}}}"
    for w in (0.3, 0.4, 0.5, 0.6, 0.7)
}
MEASURES = (nDCG @ 10, R @ 100)


def records(folder: Path) -> Iterator[dict[str, Any]]:
    for line in (folder / "corpus.jsonl").open(encoding="utf-8"):
        record = json.loads(line)
        if record["text"].strip() or record.get("title"):
            yield {"id": record["_id"], "title": record.get("title", ""), "text": record["text"]}


def judgements(folder: Path, split: str) -> list[ir_measures.Qrel]:
    with (folder / "qrels" / f"{split}.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t")
        next(rows)
        return [ir_measures.Qrel(query, document, int(score)) for query, document, score in rows]


def ranked(kb: assay.KnowledgeBase, pipeline: Pipeline, text: str, vector: Any) -> list[str]:
    """Documents in the order of their best chunks."""
    answer = kb.search(text, k=400, pipeline=pipeline, vector=vector)
    rows = answer.chosen.rows
    assert rows is not None
    return list(dict.fromkeys(chunk.doc_id for chunk in answer.snapshot.chunks(rows)))[:100]


def measure(kb: assay.KnowledgeBase, folder: Path, split: str) -> dict[str, dict[str, float]]:
    wanted = judgements(folder, split)
    texts = {r["_id"]: r["text"] for r in map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))}
    asked = sorted({q.query_id for q in wanted if q.relevance > 0})
    vectors = dict(zip(asked, model().encode([texts[q] for q in asked]), strict=True))
    found: dict[str, dict[str, float]] = {}
    for name, config in SYSTEMS.items():
        pipeline = loads(config, name)
        run = []
        for query in asked:
            documents = ranked(kb, pipeline, texts[query], vectors[query])
            # ir_measures sorts by score, so a rank is handed over as a score that falls with it
            run += [ir_measures.ScoredDoc(query, d, -float(i)) for i, d in enumerate(documents)]
        scores = ir_measures.calc_aggregate(MEASURES, [q for q in wanted if q.query_id in vectors], run)
        found[name] = {str(m): round(float(scores[m]), 4) for m in MEASURES}
        print(folder.name, split, name, found[name], flush=True)
    return found


def main() -> None:
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, (tuning, confirming) in SPLITS.items():
            folder = data_folder() / name
            with assay.open(Path(temporary) / name, embedder="minilm") as kb:
                kb.add(records(folder))
                kb.optimize()
                results[name] = {s: measure(kb, folder, s) for s in (tuning, confirming) if s}
                results[name]["chunks"] = kb.snapshot().size
    tuned = {
        system: round(sum(results[d][t][system]["nDCG@10"] for d, (t, _) in SPLITS.items() if t) / 2, 4)
        for system in SYSTEMS
    }
    best = max(tuned, key=lambda s: tuned[s])
    print("best on the tuning splits:", best, tuned[best])
    print(write_receipt("quality", {"mean_ndcg_on_tuning_splits": tuned, "best": best, "sets": results}))


if __name__ == "__main__":
    main()
