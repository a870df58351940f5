"""Measures late interaction on top of the default pipeline: quality by size of the stored vectors, and time.

nDCG@10 on splits that are not the test split (cranfield has no other): the default preset alone, and with MaxSim
blended in at full precision and from stored codes of 8 bits and of 1 bit, for three weights and three pools.
Then the time per query, contenders alternating: vectors computed on the fly, read from the file, held in memory.

    python -m benchmarks.rerank
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures import nDCG

import assay
from assay.embed.bert import BertEncoder, open_encoder
from assay.embed.token_cache import CachedTokens
from assay.embed.token_codes import BITS, open_coder, quantise_vectors
from assay.rerank.late_interaction import MATCHES, LateInteraction
from assay.rerank.max_sim import max_sim
from assay.rerank.standard_blend import blend_in
from assay.types import Floats, Ranking
from benchmarks.data import data_folder, model, records
from benchmarks.measure import time_in_turns, write_receipt

SETS = {"cranfield": ("test", 225), "scifact": ("train", 75), "nfcorpus": ("dev", 75)}  # split, questions
WEIGHTS = (0.25, 0.5, 1.0)
POOLS = (20, 50, 100)
BATCH = 256
TIMED = 10

Run = dict[str, list[str]]  # question → documents, best first


class JudgedQuery:
    """One query: the ranking of the default pipeline and the texts of its first candidates."""

    def __init__(self, kb: assay.KnowledgeBase, text: str, vector: Any) -> None:
        answer = kb.search(text, k=400, vector=vector)
        assert answer.chosen.rows is not None
        chunks = answer.snapshot.chunks(answer.chosen.rows)
        self.text = text
        self.found = answer.chosen
        self.document = {chunk.id: chunk.doc_id for chunk in chunks}
        self.texts = [chunk.indexed_text for chunk in chunks[: max(POOLS)]]

    def documents(self, ranking: Ranking) -> list[str]:
        """Documents in the order of their best chunks."""
        return list(dict.fromkeys(self.document[name] for name in ranking.ids.tolist()))[:100]


def judgements(folder: Path, split: str) -> list[ir_measures.Qrel]:
    with (folder / "qrels" / f"{split}.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t")
        next(rows)
        return [ir_measures.Qrel(query, document, int(score)) for query, document, score in rows]


def questions(kb: assay.KnowledgeBase, folder: Path, split: str, count: int) -> dict[str, JudgedQuery]:
    """A seeded sample of the questions that have an answer."""
    texts = {r["_id"]: r["text"] for r in map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))}
    known = sorted({q.query_id for q in judgements(folder, split) if q.relevance > 0})
    chosen = [known[i] for i in np.sort(np.random.default_rng(0).permutation(len(known))[:count])]
    vectors = model().encode([texts[name] for name in chosen])
    return {name: JudgedQuery(kb, texts[name], vector) for name, vector in zip(chosen, vectors, strict=True)}


def measure_quality(folder: Path, split: str, queries: dict[str, JudgedQuery], encoder: BertEncoder) -> dict[str, Any]:
    """nDCG@10 per system, and its mean difference to the default pipeline with the standard error."""
    texts = sorted({text for question in queries.values() for text in (question.text, *question.texts)})
    vectors: dict[str, Any] = {}
    for start in range(0, len(texts), BATCH):
        vectors |= zip(texts[start : start + BATCH], encoder.token_vectors(texts[start : start + BATCH]), strict=True)
        print(folder.name, len(vectors), "of", len(texts), "texts read", flush=True)
    codes: dict[str, Callable[[str], Any]] = {"full": vectors.__getitem__}
    for bits in BITS:
        codes[f"{bits} bit"] = {text: quantise_vectors(rows, bits) for text, rows in vectors.items()}.__getitem__
    runs: dict[str, Run] = {"default": {name: q.documents(q.found) for name, q in queries.items()}}
    for name, question in queries.items():
        for code, lookup in codes.items():
            for match in MATCHES:
                query = vectors[question.text] if code == "full" else quantise_vectors(vectors[question.text], 8)
                similarity = max_sim(query, [lookup(t) for t in question.texts], both=match == "both")
                for system, ranking in rerank_variants(question.found, similarity):
                    runs.setdefault(f"{code} {match} {system}", {})[name] = question.documents(ranking)
    qrels = [q for q in judgements(folder, split) if q.query_id in queries]
    scores = {system: score_per_query(run, qrels) for system, run in runs.items()}
    return {
        "queries": len(queries),
        "chunks read": len(texts) - len(queries),
        "tokens per text": round(float(np.mean([len(rows) for rows in vectors.values()])), 1),
        "nDCG@10": {system: round(float(values.mean()), 4) for system, values in scores.items()},
        "difference": {system: mean_and_error(values - scores["default"]) for system, values in scores.items()},
    }


def rerank_variants(ranking: Ranking, similarity: Floats) -> Iterable[tuple[str, Ranking]]:
    for weight in WEIGHTS:
        for pool in POOLS:
            yield f"weight={weight} pool={pool}", blend_in(ranking, similarity[:pool], weight, "late_interaction")


def score_per_query(run: Run, qrels: list[ir_measures.Qrel]) -> Floats:
    # ir_measures sorts by score, so the negative rank is passed as the score
    scored = [ir_measures.ScoredDoc(q, d, -float(i)) for q, documents in run.items() for i, d in enumerate(documents)]
    values = {value.query_id: value.value for value in ir_measures.iter_calc([nDCG @ 10], qrels, scored)}
    return np.array([values.get(name, 0.0) for name in run])


def mean_and_error(values: Floats) -> list[float]:
    """Mean and its standard error."""
    return [round(float(values.mean()), 4), round(float(values.std(ddof=1) / np.sqrt(len(values))), 4)]


def measure_times(queries: list[JudgedQuery], encoder: BertEncoder, folder: Path) -> dict[str, Any]:
    """Times one query over 50 candidates; every contender encodes the query, the texts are already fetched."""
    stage, coder8 = LateInteraction(pool=50), open_coder(encoder, 8)
    contenders: dict[str, Callable[[int], Any]] = {}

    def add_contender(name: str, codes: Callable[[list[str]], Any]) -> None:
        def run(number: int) -> None:
            question = queries[number]
            (query,) = coder8.encode([question.text])
            likeness = max_sim(query, codes(question.texts[:50]), both=stage.match == "both")
            blend_in(question.found, likeness, stage.weight, "late_interaction")

        contenders[name] = run

    contenders["the query's model call alone"] = lambda number: encoder.token_vectors([queries[number].text])
    add_contender("on the fly", coder8.encode)
    for bits in BITS:
        coder = open_coder(encoder, bits)
        in_memory = CachedTokens(coder, folder / "tokens.sqlite")
        on_disk = CachedTokens(coder, folder / "tokens.sqlite", memory=0)
        in_memory.fill(text for question in queries for text in question.texts[:50])
        add_contender(f"{bits} bit, from the file", on_disk.codes)
        add_contender(f"{bits} bit, in memory", in_memory.codes)
    return time_in_turns(contenders, len(queries), rounds=2)


def main() -> None:
    encoder = open_encoder("minilm")
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, (split, count) in SETS.items():
            folder = data_folder() / name
            with assay.open(Path(temporary) / name, embedder="minilm") as kb:
                kb.add(records(folder))
                kb.optimize()
                queries = questions(kb, folder, split, count)
            if name == "cranfield":
                measured = measure_times(list(queries.values())[:TIMED], encoder, Path(temporary))
                print(json.dumps(measured, indent=1), flush=True)
            results[name] = measure_quality(folder, split, queries, encoder)
            print(name, json.dumps(results[name]["difference"]), flush=True)
    systems = results["cranfield"]["difference"]
    mean = {s: round(float(np.mean([values["difference"][s][0] for values in results.values()])), 4) for s in systems}
    tokens = float(np.mean([values["tokens per text"] for values in results.values()]))
    receipt = {
        "mean difference in nDCG@10": mean,
        "best": max(mean, key=lambda s: mean[s]),
        "bytes per 100 tokens": {"full": 400 * encoder.dim, **{f"{b} bit": 100 * encoder.dim * b // 8 for b in BITS}},
        "tokens per text": round(tokens, 1),
        "times": measured,
        "sets": results,
    }
    print(json.dumps(mean, indent=1))
    print("best:", receipt["best"], write_receipt("rerank", receipt))


if __name__ == "__main__":
    main()
