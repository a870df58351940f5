"""A dataset small enough to score in one's head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.bench.receipt import compute_digest
from assay.bench.types import Dataset, Evidence, Topic

DOCUMENTS = [
    {"id": "keys", "title": "Signing keys", "text": "Rotate the signing key every ninety days with keyctl rotate."},
    {"id": "tea", "title": "Tea", "text": "Tea is brewed for three minutes. The kettle stands in the kitchen."},
    {"id": "leave", "title": "Leave", "text": "Holidays are asked for two weeks ahead. Leave is paid."},
    {"id": "bug", "title": "Release 4.2", "text": "Fixes ERR-4711, a crash when the signing key is missing."},
    {"id": "void", "title": "", "text": ""},
]
TOPICS = {
    "q1": Topic("q1", "how often is the signing key rotated?", strata=("kind=fact",)),
    "q2": Topic("q2", "ERR-4711", strata=("kind=identifier",)),
    "q3": Topic("q3", "kettle", strata=("kind=fact",)),
    "q4": Topic("q4", "who won the regatta?"),
}
JUDGEMENTS = {"q1": {"keys": 2, "bug": 1}, "q2": {"bug": 1, "tea": 0}, "q3": {"tea": 1}}


def dataset(**changes: Any) -> Dataset:
    result = Dataset(
        name="hand",
        split="test",
        digest="",
        label="human",
        documents=DOCUMENTS,
        document_count=len(DOCUMENTS),
        topics=TOPICS,
        judgements=JUDGEMENTS,
        evidence={"q3": (Evidence("tea", 33, 67, "The kettle stands in the kitchen.", 0),)},
        abstain=frozenset({"q4"}),
        source="hand",
    )
    result = replace(result, **changes)
    content = [list(result.documents), {t: result.topics[t].text for t in result.topics}, dict(result.judgements)]
    return replace(result, digest=compute_digest(content))
