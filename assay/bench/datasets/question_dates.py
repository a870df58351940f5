"""Dates questions that have no date, because recency and decay need a reference time.

"test@end": a question about a conversation gets the date of its last document, any other the date of the last document
of the corpus. This hides no document. "test@2024-06-01": every question gets this date, and later documents are hidden
from it. A question with its own date keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.question_metadata import CONVERSATION
from assay.bench.receipt import compute_digest
from assay.bench.types import Dataset, Topic
from assay.ingest.dates import parse_moment

END = "end"


def date_questions(dataset: Dataset, moment: str) -> Dataset:
    """Return the dataset with a date for every question: `end`, or a date. The new digest covers the old one and the
    split's name."""
    if moment == END:
        return _date_at_end(dataset)
    at = parse_moment(moment)
    topics = {n: topic if topic.at is not None else replace(topic, at=at) for n, topic in dataset.topics.items()}
    return _with_topics(dataset, topics, moment, f"questions without a date are asked at {moment}")


def _date_at_end(dataset: Dataset) -> Dataset:
    last: dict[object, float] = {}
    for record in dataset.documents:
        created = record.get("created")
        if isinstance(created, int | float):
            for key in (None, record.get("metadata", record).get(CONVERSATION)):
                last[key] = max(last.get(key, float(created)), float(created))
    if not last:
        raise DatasetError(f"{dataset.name} has no dated document, so it has no end", f"leave out @{END}")
    topics = {
        name: topic if topic.at is not None else replace(topic, at=last.get(topic.meta.get(CONVERSATION), last[None]))
        for name, topic in dataset.topics.items()
    }
    return _with_topics(dataset, topics, END, "questions without a date are asked when their conversation ends")


def _with_topics(dataset: Dataset, topics: Mapping[str, Topic], moment: str, note: str) -> Dataset:
    split = f"{dataset.split}@{moment}"
    digest = compute_digest({"of": dataset.digest, "split": split})
    return replace(dataset, split=split, digest=digest, topics=topics, notes=(*dataset.notes, note))
