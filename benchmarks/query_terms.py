"""Measures how BM25 should count the words of a query: repeated words (k3), and the digits of identifiers.

nDCG@10 of the lexical leg alone, for values of k3 (0: a repeated word counts once; 1000: nearly every time anew), with
and without the bare digits of identifiers, on the dev and test splits of the open sets, and on two sets of long queries
made from them: the first half of a SciFact abstract must find its second half, and a Wikipedia paragraph the other
paragraphs of its article. The dev splits choose, the test splits confirm.

    python -m benchmarks.query_terms
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.bench.datasets import load, sample
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import System, make_system
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings, prepare
from assay.cli.progress import progress_bars
from assay.config.load import from_dict
from assay.text.analyser import Analyser
from benchmarks.data import data_folder
from benchmarks.measure import write_receipt

SETS = (
    "cranfield",
    "scifact",
    "nfcorpus",
    "chunking_eval",
    "squad2_mini",
    "multihoprag_facts",
    "hotpotqa",
    "locomo",
    "qed",
    "covidqa_long",
    "k8s_changelog",
    "beam",
)
K3 = (0.0, 1.0, 2.0, 4.0, 8.0, 1000.0)
MOST_QUERIES = 300
"""Of a larger split a stratified sample."""
LONG_QUERIES = 400
SEED = 1
_LEAST_PARAGRAPHS = 8


def variants() -> list[System]:
    """A pipeline of the lexical leg alone for each k3, with and without the digits of identifiers."""
    legs = [(k3, split) for k3 in K3 for split in (True, False)]
    return [
        make_system(
            from_dict({"k": 10, "legs": {"bm25": {"k": 100, "k3": k3, "split_identifiers": split}}}), name_of(k3, split)
        )
        for k3, split in legs
    ]


def name_of(k3: float, split: bool) -> str:
    return f"k3={k3:g}{' split' if split else ''}"


def measure(dataset: Dataset, label: str) -> dict[str, Any]:
    """Mean nDCG@10 of every variant, and how many queries repeat a term."""
    with progress_bars() as bar, prepare(dataset, IndexSettings(embedder="none"), progress=bar.step) as workspace:
        bench = Bench(dataset, workspace, RunPlan(("nDCG@10",)))
        scores = {}
        for number, system in enumerate(variants()):
            bar.step(f"{label}: variants", number, len(K3) * 2)
            receipt = bench.receipt(system, bench.run(system))
            scores[system.name] = round(receipt.canonical["aggregates"]["all"]["nDCG@10"], 6)
    texts = [dataset.topics[topic].text for topic in dataset.scored]
    counts = [Analyser().query_term_counts(text) for text in texts]
    repeating = sum(max(one.values(), default=0) > 1 for one in counts)
    print(f"{label:28}", " ".join(f"{name} {value:.4f}" for name, value in scores.items()), flush=True)
    return {"queries": len(texts), "repeating": repeating, "digest": dataset.digest, "nDCG@10": scores}


def load_sample(name: str, split: str) -> Dataset:
    dataset = load(name, split)
    return sample(dataset, MOST_QUERIES) if len(dataset.scored) > MOST_QUERIES else dataset


def write_beir(
    folder: Path,
    documents: Iterable[Mapping[str, str]],
    queries: Mapping[str, str],
    judged: Iterable[tuple[str, str]],
) -> Path:
    """A dataset folder in BEIR's layout with the one split `test`."""
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(document) + "\n" for document in documents)
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"_id": name, "text": text}) + "\n" for name, text in queries.items())
    lines = ["query-id\tcorpus-id\tscore\n", *(f"{query}\t{document}\t1\n" for query, document in judged)]
    (folder / "qrels" / "test.tsv").write_text("".join(lines), "utf-8")
    return folder


def read_corpus(name: str) -> list[dict[str, Any]]:
    with (data_folder() / name / "corpus.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def make_halves(folder: Path) -> Path:
    """The first half of an abstract asks for its second half."""
    words = {row["_id"]: row["text"].split() for row in read_corpus("scifact")}
    documents = [{"_id": name, "text": " ".join(text[len(text) // 2 :])} for name, text in words.items()]
    chosen = random.Random(SEED).sample(sorted(words), LONG_QUERIES)
    queries = {name: " ".join(words[name][: len(words[name]) // 2]) for name in chosen}
    return write_beir(folder, documents, queries, [(name, name) for name in chosen])


def make_same_article(folder: Path) -> Path:
    """A paragraph asks for the other paragraphs of its article; it is itself not in the corpus."""
    articles: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_corpus("wiki_gensim"):
        articles[row["title"]].append(row)
    usable = [row for rows in articles.values() if len(rows) > _LEAST_PARAGRAPHS for row in rows]
    asked = {row["_id"]: row for row in random.Random(SEED).sample(usable, LONG_QUERIES)}
    others = {title: [row for row in rows if row["_id"] not in asked] for title, rows in articles.items()}
    documents = [{"_id": row["_id"], "text": row["text"]} for rows in others.values() for row in rows]
    judged = [(name, row["_id"]) for name in asked for row in others[asked[name]["title"]]]
    return write_beir(folder, documents, {name: row["text"] for name, row in asked.items()}, judged)


def mean_by_split(sets: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """The macro mean of every variant over the sets of a split, and over the sets of long queries."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    numbers: Counter[str] = Counter()
    for label, result in sets.items():
        split = label.rpartition(".")[2]
        numbers[split] += 1
        totals[split].update(result["nDCG@10"])
    return {split: {name: round(v / numbers[split], 6) for name, v in found.items()} for split, found in totals.items()}


def main() -> None:
    os.environ["ASSAY_DATA"] = str(data_folder())
    labels = [(name, split) for name in SETS for split in ("dev", "test")]
    sets = {f"{name}.{split}": measure(load_sample(name, split), f"{name}.{split}") for name, split in labels}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("scifact_halves", make_halves), ("wiki_same_article", make_same_article)):
            sets[f"{name}.long"] = measure(load(str(make(Path(folder) / name)), "test"), f"{name}.long")
    print(write_receipt("query_terms", {"k3": K3, "sets": sets, "mean": mean_by_split(sets)}))


if __name__ == "__main__":
    main()
