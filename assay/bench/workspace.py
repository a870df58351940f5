"""Builds a dataset's documents into a compacted knowledge base once, and keeps it in the user's cache.

Every system of a run reads the same chunks: documents are chunked as `assay add` does, and a document is ranked by its
best chunk. The folder's name is a digest of the corpus and the settings, so a changed corpus or another model gets an
index of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay import embed
from assay.backend.contract import StoreSnapshot
from assay.bench.types import Dataset, Topic
from assay.embed.cache_home import cache_home
from assay.errors import AssayError, StoreError
from assay.index.recall import approximate_facts
from assay.index.similarity import K1, B, Bm25Similarity
from assay.ingest.files import clean_text
from assay.kb import KnowledgeBase
from assay.kb import open as open_kb
from assay.store.locks import lock_file
from assay.types import Ids, Progress, Query, Vector
from assay.util.closeable import Closeable
from assay.where import parse

FORMAT = 1
"""Increased when the same documents and settings would give other chunks than before."""

_RECALL_FACTS = ("kind", "ef", "recall", "recall_depth", "recall_at_10", "recall_queries")


@dataclass(frozen=True)
class IndexSettings:
    """How documents become chunks and vectors; the same for every system of a run."""

    embedder: str = "auto"
    language: str = "english"
    profile: str = "default"
    k1: float = K1
    b: float = B

    def resolve(self) -> IndexSettings:
        """With "auto" spelt out, so that a receipt says what was used."""
        spec = embed.default_spec() if self.embedder == "auto" else self.embedder
        return replace(self, embedder=spec)

    @property
    def similarity(self) -> Bm25Similarity:
        return Bm25Similarity(self.k1, self.b)


class Workspace(Closeable):
    """An indexed corpus, ready for queries. Close it, or use it as a context manager."""

    def __init__(self, kb: KnowledgeBase, settings: IndexSettings) -> None:
        self.kb = kb
        self.settings = settings
        self.snapshot: StoreSnapshot = kb.snapshot()
        self._vectors: dict[str, Vector] = {}

    def close(self) -> None:
        self.kb.close()

    def describe(self) -> dict[str, Any]:
        """The index as a receipt describes it."""
        return {
            "digest": self.snapshot.digest,
            "chunks": self.snapshot.size,
            "profile": self.settings.profile,
            "language": self.settings.language,
            "embedder": self.settings.embedder,
            "model": self.kb.store.settings["model"],
            **self.settings.similarity.settings,
        }

    @cached_property
    def approximation(self) -> dict[str, Any] | None:
        """The kind and the measured recall of an approximate vector search; None where it is exact."""
        facts = approximate_facts((self.kb.backend.index() or {}).get("vectors"))
        return None if facts is None else {key: facts[key] for key in _RECALL_FACTS if key in facts}

    def query(self, topic: Topic, with_vector: bool = True) -> Query:
        """A topic as the engine takes it; with a vector where it is asked for and the store has a model.

        Each text is embedded once.
        """
        vector = topic.vector
        if with_vector and vector is None and topic.text.strip() and self.kb.store.settings["dim"]:
            if topic.text not in self._vectors:
                self._vectors[topic.text] = self._embedder.encode_query(topic.text)
            vector = self._vectors[topic.text]
        where = parse(topic.where) if topic.where else None
        return Query(clean_text(topic.text), vector=vector, at=topic.at, where=where, scope=topic.scope, id=topic.id)

    @cached_property
    def _embedder(self) -> Any:
        return self.kb.embedder

    @cached_property
    def documents(self) -> Ids:
        """The document of every row of the snapshot."""
        rows = self.snapshot.live_rows(None)
        names = np.full(int(rows.max(initial=-1)) + 1, "", object)  # rows of a server have gaps
        for start in range(0, len(rows), 1_000):
            part = rows[start : start + 1_000]
            names[part] = [chunk.doc_id for chunk in self.snapshot.chunks(part)]
        return names.astype(np.str_)


def prepare(
    dataset: Dataset,
    settings: IndexSettings | None = None,
    progress: Progress = lambda *_: None,
    cache: Path | None = None,
) -> Workspace:
    """Open the index of the dataset's corpus under these settings, or build it.

    It is kept in `cache` (default: the user's cache). An interrupted build is started again.
    """
    chosen = (settings or IndexSettings()).resolve()
    folder = (cache or cache_home() / "bench") / _key(dataset, chosen)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with lock_file(folder.with_suffix(".lock")):
        if folder.exists():
            try:
                return Workspace(open_kb(folder, create=False), chosen)
            except AssayError:
                shutil.rmtree(folder)  # a cache: rebuild what cannot be opened
        draft = folder.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        _build(dataset, chosen, draft, progress)
        os.replace(draft, folder)
    return Workspace(open_kb(folder, create=False), chosen)


def prepare_store(
    dataset: Dataset, address: str, settings: IndexSettings | None = None, progress: Progress = lambda *_: None
) -> Workspace:
    """Open the dataset's corpus in a store of your choice, on a server too; a new store is filled first.

    An interrupted filling goes on. A store that holds anything else is refused: the lab writes into its own only.
    """
    chosen = (settings or IndexSettings()).resolve()
    key = _key(dataset, chosen)
    kb = open_kb(address, **asdict(chosen))
    try:
        state = kb.store.setting(_CORPUS)
        is_other = state not in (None, key, f"{key} filling")
        if is_other or (state is None and kb.store.count_chunks().chunks):
            what = "another corpus, or this one with other settings" if is_other else "other documents"
            raise StoreError(f"{kb.store.address} holds {what}", "name a store that does not exist yet")
        if state != key:
            _note_corpus(kb, f"{key} filling")
            _fill(kb, dataset, progress)
            _note_corpus(kb, key)
    except BaseException:
        kb.close()
        raise
    return Workspace(kb, chosen)


_CORPUS = "corpus"
"""The setting of a store that `prepare_store` fills: the digest of corpus and settings."""


def _note_corpus(kb: KnowledgeBase, state: str) -> None:
    with kb.store.write("corpus of the lab") as writer:
        writer.set(_CORPUS, state)


def _build(dataset: Dataset, settings: IndexSettings, folder: Path, progress: Progress) -> None:
    with open_kb(folder, **asdict(settings)) as kb:
        _fill(kb, dataset, progress)


def _fill(kb: KnowledgeBase, dataset: Dataset, progress: Progress) -> None:
    report = kb.add(_report_progress(dataset, progress), compact=False)
    if report.problems:
        name, reason = report.problems[0]
        raise StoreError(
            f"{len(report.problems)} documents of {dataset.name} could not be added, first {name}: {reason}",
            "mend the corpus; the lab leaves no document out silently",
        )
    kb.optimize(progress, force=True)


def _report_progress(dataset: Dataset, progress: Progress) -> Iterator[Mapping[str, Any]]:
    """The documents with a text or a title; others may be judged, but cannot be found."""
    for done, record in enumerate(dataset.documents, 1):
        progress("adding documents", done, dataset.document_count)
        if str(record.get("text") or "").strip() or str(record.get("title") or "").strip():
            yield record


def _key(dataset: Dataset, settings: IndexSettings) -> str:
    model = embed.load(settings.embedder)
    parts = [
        FORMAT,
        model.digest if model else "",
        settings.language,
        settings.profile,
        *settings.similarity.settings.items(),
    ]
    return hashlib.sha256(f"{compute_corpus_digest(dataset)} {json.dumps(parts)}".encode()).hexdigest()[:32]


def compute_corpus_digest(dataset: Dataset) -> str:
    """The documents alone, in their order; splits of one dataset share it."""
    digest = hashlib.sha256()
    for record in dataset.documents:
        digest.update(json.dumps(record, sort_keys=True, ensure_ascii=True, default=str).encode() + b"\n")
    return digest.hexdigest()
