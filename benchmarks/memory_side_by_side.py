"""Compares `recall` with other memories on conversations: mem0, LangChain's vector store, a plain BM25 store.

    python -m venv others && others/bin/pip install mem0ai langchain-core rank-bm25
    ASSAY_DATA=… PYTHONPATH=others/lib/python3.11/site-packages python -m benchmarks.memory_side_by_side

Everyone stores the same texts (title and text, as Assay indexes them), embeds with the same model, and answers the
confirming splits of LoCoMo (by turn) and BEAM, each question within its own conversation where the set says so, with
the best ten. mem0 stores without inference (`infer=False`), so no language model is asked. The figures of `recall` and
`default` come from receipts/memory. What is not installed is named in the receipt.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.datasets import load
from assay.bench.metrics.names import parse
from assay.bench.metrics.ranking import score_rankings
from assay.bench.receipt import read
from assay.bench.stats.paired import compare_pair
from assay.bench.types import Dataset, Topic, TopicResult
from assay.types import Vectors
from benchmarks.data import data_folder, model
from benchmarks.measure import RECEIPTS, write_receipt

SETS = ("locomo", "beam")
DEPTH = 10
METRIC = parse("nDCG@10")
OURS = ("recall", "default")
Find = Callable[[str, str], list[str]]
"""(question, scope) → ids of documents, best first."""


_WHERE = re.compile(r'(\w+) = "(.*)"')


class Corpus:
    """The texts of the conversations that the questions ask about, with the conversation of each."""

    def __init__(self, dataset: Dataset) -> None:
        wanted = {read_scope(topic) for topic in dataset.topics.values()}
        records = [(record, scope) for record in dataset.documents for scope in wanted & _scopes_of(record)]
        self.ids = [str(record["id"]) for record, _ in records]
        self.texts = [f"{record.get('title', '')}\n{record['text']}".strip() for record, _ in records]
        self.scopes = [scope for _, scope in records]

    def by_scope(self) -> Mapping[str, list[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for place, scope in enumerate(self.scopes):
            places[scope].append(place)
        return places


def read_scope(topic: Topic) -> str:
    """The conversation that a question is restricted to, as "field=value"; "" for none."""
    match = _WHERE.fullmatch(topic.where)
    return f"{match[1]}={match[2]}" if match else ""


def _scopes_of(record: Mapping[str, Any]) -> set[str]:
    """The scopes that a record belongs to: one for each of its facts, and "" for all."""
    return {f"{field}={value}" for field, value in record.get("metadata", {}).items()} | {""}


def open_bm25(corpus: Corpus, _: Path) -> Find:
    """rank_bm25 with its defaults over lower-case words."""
    from rank_bm25 import BM25Okapi

    split = re.compile(r"\w+").findall
    places = corpus.by_scope()
    stores = {scope: BM25Okapi([split(corpus.texts[i].lower()) for i in own]) for scope, own in places.items()}

    def find(question: str, scope: str) -> list[str]:
        scores = stores[scope].get_scores(split(question.lower()))
        return [corpus.ids[places[scope][i]] for i in np.argsort(-scores, kind="stable")[:DEPTH]]

    return find


def open_langchain(corpus: Corpus, _: Path) -> Find:
    """LangChain's InMemoryVectorStore, one for each conversation."""
    from langchain_core.vectorstores import InMemoryVectorStore

    stores = {}
    for scope, own in corpus.by_scope().items():
        stores[scope] = InMemoryVectorStore(_embeddings())
        stores[scope].add_texts([corpus.texts[i] for i in own], [{"id": corpus.ids[i]} for i in own])

    def find(question: str, scope: str) -> list[str]:
        return [str(document.metadata["id"]) for document in stores[scope].similarity_search(question, k=DEPTH)]

    return find


def open_mem0(corpus: Corpus, folder: Path) -> Find:
    """mem0 with `infer=False`, its default store (Qdrant, in memory) and the same embeddings. Its keyword search needs
    models that it downloads (spaCy, fastembed); without them it searches vectors alone."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("OPENAI_API_KEY", "unused")  # its language model is made, and never asked
    os.environ["MEM0_DIR"] = str(folder)
    from mem0 import Memory
    from qdrant_client import QdrantClient

    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "client": QdrantClient(":memory:"),
                    "embedding_model_dims": model().dim,
                    "collection_name": "memories",
                },
            },
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = _Mem0Embedder()
    for text, scope, name in zip(corpus.texts, corpus.scopes, corpus.ids, strict=True):
        memory.add(text, user_id=scope or "all", infer=False, metadata={"source": name})

    def find(question: str, scope: str) -> list[str]:
        found = memory.search(question, filters={"user_id": scope or "all"}, top_k=DEPTH)
        return [str(hit["metadata"]["source"]) for hit in found["results"]]

    return find


OTHERS: Mapping[str, tuple[tuple[str, ...], Callable[[Corpus, Path], Find]]] = {
    "bm25 (rank_bm25)": (("rank-bm25",), open_bm25),
    "LangChain InMemoryVectorStore": (("langchain-core",), open_langchain),
    "mem0, inference off": (("mem0ai",), open_mem0),
}
"""System → the packages it needs, and how it is opened."""


def _embeddings() -> Any:
    """The model of the benchmarks as LangChain knows one."""
    from langchain_core.embeddings import Embeddings

    class SharedEmbeddings(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return _as_lists(model().encode(texts))

        def embed_query(self, text: str) -> list[float]:
            return model().encode_query(text).tolist()

    return SharedEmbeddings()


class _Mem0Embedder:
    """The model of the benchmarks in the place of mem0's."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return model().encode_query(text).tolist()

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return _as_lists(model().encode(texts))


def _as_lists(vectors: Vectors) -> list[list[float]]:
    return np.asarray(vectors, np.float64).tolist()


def measure(name: str) -> dict[str, Any]:
    dataset = load(name, "test@end")
    corpus = Corpus(dataset)
    ours = {system: read(RECEIPTS / "memory" / f"{name}.test-end.{system}.json").canonical for system in OURS}
    queries = ours["recall"]["queries"]
    scores = {system: np.array(receipt["scores"]["nDCG@10"]) for system, receipt in ours.items()}
    missing = {}
    for system, (packages, open_system) in OTHERS.items():
        try:
            versions = [f"{package} {version(package)}" for package in packages]
        except PackageNotFoundError as error:
            missing[system] = f"not installed: {error.name}"
            continue
        with tempfile.TemporaryDirectory() as folder:
            find = open_system(corpus, Path(folder))
            scores[f"{system} ({', '.join(versions)})"] = _score(dataset, queries, find)
    compared = {
        system: {"nDCG@10": round(float(values.mean()), 4), **_compare(values, scores["recall"])}
        for system, values in scores.items()
    }
    return {"documents": len(corpus.ids), "questions": len(queries), "systems": compared, "missing": missing}


def _score(dataset: Dataset, queries: list[str], find: Find) -> np.ndarray:
    results, judgements = [], []
    for query in queries:
        topic = dataset.topics[query]
        found = find(topic.text, read_scope(topic))
        results.append(TopicResult(query, tuple(found), tuple(float(-place) for place in range(len(found)))))
        judgements.append(dataset.judgements[query])
    return score_rankings([METRIC], judgements, results)[METRIC]


def _compare(other: np.ndarray, recall: np.ndarray) -> dict[str, Any]:
    """What `recall` gains over a system, with a paired interval."""
    paired = compare_pair(other, recall)
    return {"recall minus it": [round(value, 4) for value in (paired.difference, paired.ci_low, paired.ci_high)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--receipt", default="memory_side_by_side")
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder())
    result = {name: measure(name) for name in options.sets}
    print(result)
    print(write_receipt(options.receipt, result))


if __name__ == "__main__":
    main()
