"""Questions without a date, asked when the last word was said: recency and decay need a moment to count from.

A question within a conversation is asked when that conversation ends, any other when the whole corpus does. Nothing is
hidden by it: every document was there by then. A question with a date of its own keeps it.
"""

from __future__ import annotations

from dataclasses import replace

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.rules import CONVERSATION
from assay.bench.receipt import digest_of
from assay.bench.types import Dataset

END = "@end"
"""`load("locomo", "test@end")`."""


def at_the_end(dataset: Dataset) -> Dataset:
    """The same dataset with a moment for every question. Its digest covers the dataset's own and the rule's name."""
    last: dict[object, float] = {}
    for record in dataset.documents:
        created = record.get("created")
        if isinstance(created, int | float):
            for key in (None, record.get("metadata", record).get(CONVERSATION)):
                last[key] = max(last.get(key, float(created)), float(created))
    if not last:
        raise DatasetError(f"{dataset.name} has no dated document, so it has no end", f"leave out {END}")
    topics = {
        name: topic if topic.at is not None else replace(topic, at=last.get(topic.meta.get(CONVERSATION), last[None]))
        for name, topic in dataset.topics.items()
    }
    split = f"{dataset.split}{END}"
    note = "questions without a date are asked when their conversation ends"
    digest = digest_of({"of": dataset.digest, "split": split})
    return replace(dataset, split=split, digest=digest, topics=topics, notes=(*dataset.notes, note))
