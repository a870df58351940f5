"""Late interaction: what does it add to the default pipeline, how small may its vectors be, and what does it cost?

nDCG@10 on splits that are not the test split (cranfield has no other): the default preset alone, and with MaxSim
blended in at full precision and from stored codes of 8 bits and of 1 bit, for three weights and three pools.
Then the time per query, contenders in turns: vectors made on the fly, read from the file, held in memory.

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
from assay.embed.minilm import MiniLM, open_minilm
from assay.embed.token_cache import CachedTokens
from assay.embed.tokens import BITS, coder_of, compact
from assay.rerank.late_interaction import MATCHES, LateInteraction
from assay.rerank.max_sim import max_sim
from assay.types import Floats, Ranking
from benchmarks.data import data_folder, model, records
from benchmarks.measure import in_turns, write_receipt

SETS = {"cranfield": ("test", 225), "scifact": ("train", 75), "nfcorpus": ("dev", 75)}  # split, questions
WEIGHTS = (0.25, 0.5, 1.0)
POOLS = (20, 50, 100)
BATCH = 256
TIMED = 10

Run = dict[str, list[str]]  # question → documents, best first


class Asked:
    """One question: what the default pipeline found, and the texts of its first candidates."""

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


def questions(kb: assay.KnowledgeBase, folder: Path, split: str, count: int) -> dict[str, Asked]:
    """A seeded sample of the questions that have an answer."""
    texts = {r["_id"]: r["text"] for r in map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))}
    known = sorted({q.query_id for q in judgements(folder, split) if q.relevance > 0})
    chosen = [known[i] for i in np.sort(np.random.default_rng(0).permutation(len(known))[:count])]
    vectors = model().encode([texts[name] for name in chosen])
    return {name: Asked(kb, texts[name], vector) for name, vector in zip(chosen, vectors, strict=True)}


def quality(folder: Path, split: str, asked: dict[str, Asked], encoder: MiniLM) -> dict[str, Any]:
    """nDCG@10 per system, and its mean difference to the default alone with the standard error of that mean."""
    texts = sorted({text for question in asked.values() for text in (question.text, *question.texts)})
    vectors: dict[str, Any] = {}
    for start in range(0, len(texts), BATCH):
        vectors |= zip(texts[start : start + BATCH], encoder.token_vectors(texts[start : start + BATCH]), strict=True)
        print(folder.name, len(vectors), "of", len(texts), "texts read", flush=True)
    codes: dict[str, Callable[[str], Any]] = {"full": vectors.__getitem__}
    for bits in BITS:
        codes[f"{bits} bit"] = {text: compact(rows, bits) for text, rows in vectors.items()}.__getitem__
    runs: dict[str, Run] = {"default": {name: q.documents(q.found) for name, q in asked.items()}}
    for name, question in asked.items():
        for code, of in codes.items():
            for match in MATCHES:
                query = vectors[question.text] if code == "full" else compact(vectors[question.text], 8)
                likeness = max_sim(query, [of(t) for t in question.texts], both=match == "both")
                for system, ranking in reranked(question.found, likeness):
                    runs.setdefault(f"{code} {match} {system}", {})[name] = question.documents(ranking)
    wanted = [q for q in judgements(folder, split) if q.query_id in asked]
    scores = {system: per_question(run, wanted) for system, run in runs.items()}
    return {
        "queries": len(asked),
        "chunks read": len(texts) - len(asked),
        "tokens per text": round(float(np.mean([len(rows) for rows in vectors.values()])), 1),
        "nDCG@10": {system: round(float(found.mean()), 4) for system, found in scores.items()},
        "difference": {system: difference(found - scores["default"]) for system, found in scores.items()},
    }


def reranked(found: Ranking, likeness: Floats) -> Iterable[tuple[str, Ranking]]:
    for weight in WEIGHTS:
        for pool in POOLS:
            stage = LateInteraction(pool=pool, weight=weight)
            yield f"weight={weight} pool={pool}", stage.blended(found, likeness[:pool])


def per_question(run: Run, wanted: list[ir_measures.Qrel]) -> Floats:
    # ir_measures sorts by score, so a rank is handed over as a score that falls with it
    scored = [ir_measures.ScoredDoc(q, d, -float(i)) for q, documents in run.items() for i, d in enumerate(documents)]
    found = {value.query_id: value.value for value in ir_measures.iter_calc([nDCG @ 10], wanted, scored)}
    return np.array([found.get(name, 0.0) for name in run])


def difference(values: Floats) -> list[float]:
    """Mean and its standard error."""
    return [round(float(values.mean()), 4), round(float(values.std(ddof=1) / np.sqrt(len(values))), 4)]


def times(asked: list[Asked], encoder: MiniLM, folder: Path) -> dict[str, Any]:
    """One query over 50 candidates, its own tokens encoded anew in every contender; texts already fetched."""
    stage, whole = LateInteraction(pool=50), coder_of(encoder, 8)
    contenders: dict[str, Callable[[int], Any]] = {}

    def contend(name: str, codes: Callable[[list[str]], Any]) -> None:
        def run(number: int) -> None:
            question = asked[number]
            (query,) = whole.encode([question.text])
            stage.blended(question.found, max_sim(query, codes(question.texts[:50]), both=stage.match == "both"))

        contenders[name] = run

    contenders["the query's model call alone"] = lambda number: encoder.token_vectors([asked[number].text])
    contend("on the fly", whole.encode)
    for bits in BITS:
        coder = coder_of(encoder, bits)
        near = CachedTokens(coder, folder / "tokens.sqlite")
        far = CachedTokens(coder, folder / "tokens.sqlite", memory=0)
        near.fill(text for question in asked for text in question.texts[:50])
        contend(f"{bits} bit, from the file", far.codes)
        contend(f"{bits} bit, in memory", near.codes)
    return in_turns(contenders, len(asked), rounds=2)


def main() -> None:
    encoder = open_minilm()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, (split, count) in SETS.items():
            folder = data_folder() / name
            with assay.open(Path(temporary) / name, embedder="minilm") as kb:
                kb.add(records(folder))
                kb.optimize()
                asked = questions(kb, folder, split, count)
            if name == "cranfield":
                measured = times(list(asked.values())[:TIMED], encoder, Path(temporary))
                print(json.dumps(measured, indent=1), flush=True)
            results[name] = quality(folder, split, asked, encoder)
            print(name, json.dumps(results[name]["difference"]), flush=True)
    systems = results["cranfield"]["difference"]
    mean = {s: round(float(np.mean([found["difference"][s][0] for found in results.values()])), 4) for s in systems}
    tokens = float(np.mean([found["tokens per text"] for found in results.values()]))
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
