"""Summaries by a language model, cached by (sentences that were summarised, version of the prompt, model).

A node's text is looked up by its present sentences. When one of them is deleted or replaced, its key changes and the
extractive summary is shown again, so no text outlives what it was written from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.util.disk_cache import DiskCache

PROMPT_VERSION = 1
PROMPT = (
    "The following sentences come from one part of a collection of documents. Say in at most two sentences what this "
    "part is about. Name the subjects, use only what the sentences say, and answer with the summary alone.\n\n"
    "{sentences}"
)
MAX_BYTES = 64_000_000


def make_prompt(sentences: Sequence[str]) -> str:
    """Return what a model is asked for a node with these sentences."""
    return PROMPT.format(sentences="\n".join(f"- {sentence}" for sentence in sentences))


def compute_key(sentences: Sequence[str]) -> bytes:
    """Return the digest of sentences and prompt version."""
    return hashlib.sha256(json.dumps([PROMPT_VERSION, *sentences]).encode()).digest()


class SummaryCache:
    """The summaries of one store and one model, in a file that any process may read and write."""

    def __init__(self, path: Path, model: str) -> None:
        self.model = model
        self._cache = DiskCache(path, MAX_BYTES)

    def get(self, sentences: Sequence[str]) -> str:
        """Return the summary of these sentences; "" where there is none."""
        key = compute_key(sentences)
        raw = self._cache.get(self.model, [key]).get(key, b"")
        return raw.decode("utf-8", "replace")

    def put(self, summaries: Mapping[tuple[str, ...], str]) -> None:
        """Store summaries by their sentences."""
        fresh = {compute_key(sentences): text.encode("utf-8", "replace") for sentences, text in summaries.items()}
        self._cache.put(self.model, fresh)

    def close(self) -> None:
        self._cache.close()
