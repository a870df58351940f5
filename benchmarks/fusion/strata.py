"""A suite generated from documents, so that no system helped to choose its questions.

    exact        identifiers and runs of words drawn from documents, the runs also between quotation marks
    paraphrase   sentences of documents, asked of a corpus in which every document was written anew

Multi-hop questions and questions in people's own words are in the public sets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench.collection import Collection, CollectionDocument, Passage
from assay.bench.datasets import load
from assay.bench.synth.suite import KINDS, build_suite
from assay.bench.synth.synthetic_query import seeded_hash
from assay.bench.types import Dataset, Topic
from assay.text.sentences import split_sentences
from benchmarks.data import data_folder

EXACT = ("scifact", "nfcorpus", "hotpotqa", "squad2_mini")
EACH = 80
"""Queries of each corpus, by kind on average."""
SENTENCES = 400
WORDS = (8, 30)
SPLITS = ("dev", "test")


def exact(corpus: str, split: str) -> Dataset:
    """Identifiers, phrases and quoted phrases of a corpus's own documents."""
    whole = load(corpus, "test")
    documents = tuple(_document(record) for record in whole.documents)
    kinds = {name: KINDS[name] for name in ("identifier", "phrase")}
    suite = build_suite(Collection(documents), 2 * EACH, 0, kinds=kinds)
    topics, judged = {}, {}
    for kind, queries in suite.queries.items():
        for place, one in enumerate(queries):
            if SPLITS[place % 2] != split:
                continue
            relevant = {documents[r.document].id: r.grade for r in one.relevant if r.grade}
            texts = {kind: one.text} if kind == "identifier" else {kind: one.text, "quoted": f'"{one.text}"'}
            for stratum, text in texts.items():
                name = f"{stratum}-{place:04d}"
                topics[name] = Topic(name, text, strata=(f"kind={stratum}",))
                judged[name] = relevant
    return _dataset(f"exact_{corpus}", split, _Documents(whole.documents, whole.document_count), topics, judged)


def _document(record: Mapping[str, Any]) -> CollectionDocument:
    """A document with its whole text as one passage."""
    text = str(record.get("text") or "")
    return CollectionDocument(
        record["id"], str(record.get("title") or ""), text, (Passage(record["id"], 0, text, ""),), {}
    )


def paraphrase(split: str) -> Dataset:
    """One sentence of each drawn document; its rewriting is the only right answer."""
    folder = data_folder() / "nfcorpus"
    originals = _lines(folder / "corpus.jsonl")
    rewritten = {r["_id"]: r for r in _lines(folder / "corpus_llm_rewrite.jsonl")}
    drawn_ids = sorted(
        (r["_id"] for r in originals if r["_id"] in rewritten), key=lambda i: seeded_hash(0, "paraphrase", i)
    )
    text = {r["_id"]: r["text"] for r in originals}
    topics, judged = {}, {}
    for place, name in enumerate(drawn_ids[:SENTENCES]):
        fitting = [
            text[name][a:b]
            for a, b in split_sentences(text[name])
            if WORDS[0] <= len(text[name][a:b].split()) <= WORDS[1]
        ]
        if SPLITS[place % 2] == split and fitting:
            topics[name] = Topic(name, fitting[seeded_hash(0, "sentence", name) % len(fitting)])
            judged[name] = {name: 1}
    records = [{"id": r["_id"], "title": "", "text": r["text"]} for r in rewritten.values()]
    return _dataset("paraphrase_nfcorpus", split, _Documents(records, len(records)), topics, judged)


@dataclass(frozen=True)
class _Documents:
    documents: Iterable[Mapping[str, Any]]
    count: int


def _dataset(
    name: str, split: str, corpus: _Documents, topics: dict[str, Topic], judged: dict[str, dict[str, int]]
) -> Dataset:
    content = json.dumps([name, split, {t.id: t.text for t in topics.values()}, judged], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    notes = ("made from the documents by benchmarks/fusion/strata.py",)
    return Dataset(name, split, digest, "synthetic", corpus.documents, corpus.count, topics, judged, notes=notes)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open(encoding="utf-8")]
