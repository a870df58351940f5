"""A dataset's documents as a compacted knowledge base, built once and kept beside the other caches.

Every system of a run reads the same chunks: documents are cut as `assay add` cuts them, and a document takes the
place of its best chunk. The folder's name is a digest of the corpus and of the settings, so a changed corpus or
another model never meets an old index.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay import embed
from assay.backend.contract import StoreSnapshot
from assay.bench.types import Dataset, Topic
from assay.embed.home import home
from assay.errors import AssayError, StoreError
from assay.ingest.files import tidy
from assay.kb import KnowledgeBase
from assay.kb import open as open_kb
from assay.store.locks import in_turn
from assay.types import Ids, Progress, Query
from assay.util.closing import Closing
from assay.where import parse

FORMAT = 1
"""Raised when the same documents and settings would give other chunks than before."""


@dataclass(frozen=True)
class IndexSettings:
    """How documents become chunks and vectors; the same for every system of a run."""

    embedder: str = "auto"
    language: str = "english"
    profile: str = "default"

    def resolved(self) -> IndexSettings:
        """With "auto" spelt out, so that a receipt says what was used."""
        spec = embed.default_spec() if self.embedder == "auto" else self.embedder
        return IndexSettings(spec, self.language, self.profile)


class Workspace(Closing):
    """An indexed corpus, ready to be asked. Close it, or use it as a context manager."""

    def __init__(self, kb: KnowledgeBase, settings: IndexSettings) -> None:
        self.kb = kb
        self.settings = settings
        self.snapshot: StoreSnapshot = kb.snapshot()

    def close(self) -> None:
        self.kb.close()

    def describe(self) -> dict[str, Any]:
        """What a receipt says about the index."""
        return {
            "digest": self.snapshot.digest,
            "chunks": self.snapshot.size,
            "profile": self.settings.profile,
            "language": self.settings.language,
            "embedder": self.settings.embedder,
            "model": self.kb.store.settings["model"],
        }

    def query(self, topic: Topic) -> Query:
        """A topic as the engine takes it, its vector filled in where the store has a model."""
        vector = topic.vector
        if vector is None and topic.text.strip() and self.kb.store.settings["dim"]:
            vector = self._embedder.encode_query(topic.text)
        where = parse(topic.where) if topic.where else None
        return Query(tidy(topic.text), vector=vector, at=topic.at, where=where, scope=topic.scope, id=topic.id)

    @cached_property
    def _embedder(self) -> Any:
        return self.kb.embedder

    @cached_property
    def documents(self) -> Ids:
        """The document of every row of the snapshot."""
        rows = self.snapshot.live_rows(None)
        found = np.empty(len(rows), object)
        for start in range(0, len(rows), 1_000):
            part = rows[start : start + 1_000]
            found[part] = [chunk.doc_id for chunk in self.snapshot.chunks(part)]
        return found.astype(np.str_)


def prepare(
    dataset: Dataset,
    settings: IndexSettings | None = None,
    progress: Progress = lambda *_: None,
    cache: Path | None = None,
) -> Workspace:
    """The dataset's corpus under these settings: opened where it was built before, built where it was not.

    It is kept in `cache` (the user's cache when none is named). A build that was killed leaves nothing that a later
    one would take for whole.
    """
    chosen = (settings or IndexSettings()).resolved()
    folder = (cache or home() / "bench") / _key(dataset, chosen)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with in_turn(folder.with_suffix(".lock")):
        if folder.exists():
            try:
                return Workspace(open_kb(folder, create=False), chosen)
            except AssayError:
                shutil.rmtree(folder)  # a cache: what cannot be opened is built anew
        draft = folder.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        _build(dataset, chosen, draft, progress)
        os.replace(draft, folder)
    return Workspace(open_kb(folder, create=False), chosen)


def _build(dataset: Dataset, settings: IndexSettings, folder: Path, progress: Progress) -> None:
    with open_kb(folder, embedder=settings.embedder, language=settings.language, profile=settings.profile) as kb:
        report = kb.add(_counted(dataset, progress), compact=False)
        if report.problems:
            name, reason = report.problems[0]
            raise StoreError(
                f"{len(report.problems)} documents of {dataset.name} could not be added, first {name}: {reason}",
                "mend the corpus; the lab leaves no document out silently",
            )
        kb.optimize(progress, force=True)


def _counted(dataset: Dataset, progress: Progress) -> Iterator[Mapping[str, Any]]:
    """The documents that have something to find; one without text and title is judged, but cannot be found."""
    for done, record in enumerate(dataset.documents, 1):
        progress("adding documents", done, dataset.document_count)
        if str(record.get("text") or "").strip() or str(record.get("title") or "").strip():
            yield record


def _key(dataset: Dataset, settings: IndexSettings) -> str:
    model = embed.load(settings.embedder)
    said = [FORMAT, model.digest if model else "", settings.language, settings.profile]
    return hashlib.sha256(f"{corpus_digest(dataset)} {json.dumps(said)}".encode()).hexdigest()[:32]


def corpus_digest(dataset: Dataset) -> str:
    """The documents alone, in their order; splits of one dataset share it."""
    digest = hashlib.sha256()
    for record in dataset.documents:
        digest.update(json.dumps(record, sort_keys=True, ensure_ascii=True, default=str).encode() + b"\n")
    return digest.hexdigest()
