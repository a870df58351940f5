"""The digest of a dataset: sha256 over its documents, then the questions, judgements and evidence of one split.

Documents are covered in the order of the file and one at a time, so memory stays constant; questions, judgements
and evidence in id order. Each is a line of canonical JSON. How a format lays out its files does not matter: the
same documents in the same order give the same digest from JSON Lines, gzip or TREC.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.bench.datasets.raw_dataset import Record
from assay.bench.receipt import canonical_bytes
from assay.bench.types import Evidence, Topic


class DatasetDigest:
    """Accumulates the digest of one dataset."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def _line(self, kind: str, *values: Any) -> None:
        self._sha.update(canonical_bytes([kind, *values]) + b"\n")

    def document(self, record: Record) -> None:
        self._line("document", record)

    def questions(
        self,
        split: str,
        topics: Mapping[str, Topic],
        judgements: Mapping[str, Mapping[str, int]],
        evidence: Mapping[str, tuple[Evidence, ...]],
        abstain: frozenset[str],
    ) -> None:
        self._line("split", split)
        for name in sorted(topics):
            topic = topics[name]
            vector = "" if topic.vector is None else _hash_vector(topic.vector)
            self._line("topic", name, topic.text, vector, topic.at, topic.where, topic.scope, topic.strata)
            self._line("judged", name, sorted(judgements.get(name, {}).items()), name in abstain)
            for passage in evidence.get(name, ()):
                self._line("evidence", passage.doc_id, passage.start, passage.end, passage.text, passage.group)

    def hexdigest(self) -> str:
        return self._sha.hexdigest()


def _hash_vector(vector: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(vector, "<f4").tobytes()).hexdigest()
