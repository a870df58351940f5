"""Dates questions that have no date, because recency and decay need a reference time.

A question about a conversation gets the date of its last document, any other the date of the last document of the
corpus. This hides no document. A question with its own date keeps it.
"""

from __future__ import annotations

from dataclasses import replace

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.question_metadata import CONVERSATION
from assay.bench.receipt import compute_digest
from assay.bench.types import Dataset

END = "@end"
"""`load("locomo", "test@end")`."""


def date_questions_at_end(dataset: Dataset) -> Dataset:
    """Return the dataset with a date for every question. The new digest covers the old one and the split's name."""
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
    digest = compute_digest({"of": dataset.digest, "split": split})
    return replace(dataset, split=split, digest=digest, topics=topics, notes=(*dataset.notes, note))
