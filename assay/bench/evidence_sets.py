"""Sets of real text with marked evidence, on which contexts are measured, chunked at 40 to 90 tokens.

Topics are drawn by the hash of their ids. From the large corpora a part is indexed: every document that is judged for
a drawn topic, and others by the hash of their ids, up to a fixed number; both splits share it. Documents of
multihoprag_facts are the facts themselves, so their whole texts are the evidence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from assay.bench.datasets import load
from assay.bench.receipt import compute_digest
from assay.bench.types import Dataset, Evidence

SPLITS = ("dev", "test")


@dataclass(frozen=True)
class EvaluationSet:
    """A dataset, how many topics of each split are drawn, and how many documents are indexed (None: all)."""

    name: str
    topics: int = 200
    documents: int | None = None


SETS = (
    EvaluationSet("hotpotqa"),
    EvaluationSet("chunking_eval", 250),
    EvaluationSet("covidqa_long"),
    EvaluationSet("qed"),
    EvaluationSet("fever_eraser"),
    EvaluationSet("multihoprag_facts", 250),
)


def load_splits(chosen: EvaluationSet) -> dict[str, Dataset]:
    """Return split → dataset with the drawn topics, over one corpus."""
    splits = {split: draw_topics(with_facts(load(chosen.name, split)), chosen.topics) for split in SPLITS}
    if chosen.documents is None:
        return splits
    judged = {name for dataset in splits.values() for found in dataset.judgements.values() for name in found}
    return {split: limit_corpus(dataset, judged, chosen.documents) for split, dataset in splits.items()}


def with_facts(dataset: Dataset) -> Dataset:
    """Where a dataset marks no evidence, each relevant document is a fact of its own."""
    if dataset.evidence:
        return dataset
    texts = {record["id"]: record["text"] for record in dataset.documents}
    evidence = {
        topic: tuple(
            Evidence(name, 0, len(texts[name]), texts[name], group)
            for group, name in enumerate(sorted(name for name, grade in judged.items() if grade > 0))
        )
        for topic, judged in dataset.judgements.items()
    }
    return replace(dataset, evidence={topic: found for topic, found in evidence.items() if found})


def draw_topics(dataset: Dataset, count: int, abstain: int = 0) -> Dataset:
    """Keep `count` topics that have evidence, and `abstain` that have no answer in the corpus."""
    usable = [topic for topic in dataset.scored if dataset.evidence.get(topic)]
    without = frozenset(order_by_hash(dataset.abstain)[:abstain])
    kept = frozenset(order_by_hash(usable)[:count]) | without
    return replace(
        dataset,
        digest=compute_digest({"of": dataset.digest, "topics": sorted(kept)}),
        topics={name: topic for name, topic in dataset.topics.items() if name in kept},
        judgements={name: found for name, found in dataset.judgements.items() if name in kept},
        evidence={name: found for name, found in dataset.evidence.items() if name in kept},
        abstain=without,
    )


def limit_corpus(dataset: Dataset, judged: Iterable[str], count: int) -> Dataset:
    """Keep the judged documents and others up to `count`."""
    names = [record["id"] for record in dataset.documents]
    needed = frozenset(judged)
    others = order_by_hash(name for name in names if name not in needed)
    kept = needed | set(others[: max(0, count - len(needed))])
    records = [record for record in dataset.documents if record["id"] in kept]
    digest = compute_digest({"of": dataset.digest, "documents": sorted(kept)})
    return replace(dataset, digest=digest, documents=records, document_count=len(records))


def order_by_hash(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
