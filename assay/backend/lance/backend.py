"""The Lance backend: store and indexes in Lance tables, for large data and for tables that other programs read."""

from __future__ import annotations

import contextlib
import threading
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.contract import Check, ErasureReport
from assay.backend.lance.cache import PostingsCache, VectorCache
from assay.backend.lance.file_ledger import FileLedger
from assay.backend.lance.snapshot import LanceSnapshot, LanceView
from assay.backend.lance.store import LanceStore
from assay.backend.lance.tables import TAKEN_BACK, translate_lance_errors
from assay.backend.shared.postings_snapshot import RowCache
from assay.errors import AssayError, StoreError
from assay.store.locks import lock_file
from assay.store.validation import check_unit_vector, check_version, model_changed_error
from assay.text.analyser import Analyser
from assay.types import Chunk, Progress, Vector

FTS_FROM = 50_000
"""Rows from which Lance's text index gives the posting lists; fewer are held in memory, some 1.5 kB each."""
MAX_VECTOR_BYTES = 64_000_000
"""Bytes of vectors that are kept in memory; beyond, Lance searches them."""
COMPACT_FROM = 64
"""Versions since the last compaction from which another pays: each leaves files of its own."""
_MAX_TERM_LENGTH = 4_096
"""Characters of the longest spelt term; the text index must not leave any out."""


class LanceBackend:
    """Implements `contract.StoreBackend`. Safe for threads; processes write in turn. Never fork: spawn."""

    no_vectors = None
    wants_index = False

    def __init__(
        self, store: LanceStore, *, fts_from: int = FTS_FROM, max_vector_bytes: int = MAX_VECTOR_BYTES
    ) -> None:
        self._store = store
        self._fts_from, self._max_vector_bytes = fts_from, max_vector_bytes
        self.analyser = Analyser(language=store.settings["language"])
        if store.setting("analyser") != self.analyser.digest:
            store.rebuild_words(self.analyser)
        self._lock = threading.Lock()
        self._cache = RowCache()
        self._clear_caches()

    def _clear_caches(self) -> None:
        """Drop what was read: it may name rows that are gone."""
        self._cache.clear()
        self._newest: tuple[int, LanceView] | None = None
        self._words = PostingsCache(self._store)
        self._vectors = VectorCache.empty(self._store)
        self._current: LanceSnapshot | None = None

    @property
    def store(self) -> LanceStore:
        return self._store

    # -- reading

    def snapshot(self, version: int | None = None) -> LanceSnapshot:
        with self._lock, self._store.reading():
            catalogue = self._store.refresh()
            if catalogue.entries["setting"]["model"] != self._store.settings["model"]:
                raise model_changed_error(self._store.folder)
            newest = catalogue.version
            if self._newest is None or self._newest[0] != newest:
                self._newest, self._current = (newest, self._read()), None
            if version in (None, newest):
                if self._current is None:
                    self._current = self._view(newest)
                return self._current
            assert version is not None
            check_version(version, catalogue.oldest, newest)
            return self._view(version)

    def _read(self) -> LanceView:
        known = self._store.known
        in_memory = len(known.seqs) < self._fts_from or not self._has_index()
        if in_memory:
            self._words = self._words.extended(known.last_seq)
        small_vectors = 4 * self._store.settings["dim"] * len(known.seqs) <= self._max_vector_bytes
        if small_vectors and self._store.settings["dim"]:
            self._vectors = self._vectors.extended(known.last_seq, known.entries["setting"].get("filled", ""))
        return LanceView(
            np.array(known.seqs, np.int64),
            np.array(known.lengths, np.float64),
            bytes(known.marks),
            list(known.ids),
            words=self._words if in_memory else None,
            vectors=self._vectors if small_vectors else None,
        )

    def _has_index(self) -> bool:
        with translate_lance_errors(self._store.folder):
            return any(index.columns == ["body"] for index in self._store.tables["chunk"].list_indices())

    def _view(self, version: int) -> LanceSnapshot:
        assert self._newest is not None
        catalogue, known = self._store.known, self._newest[1]
        alive = np.array(catalogue.inserted_in, np.int64) <= version
        dead = [seq for seq, when in catalogue.deleted_in.items() if when <= version]
        alive &= ~np.isin(known.seqs, np.array(dead, np.int64))
        return LanceSnapshot(self._store, version, known, alive, self.analyser, self._cache)

    # -- writing

    def put(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str = "") -> int:
        with self._store.write("put") as writer:
            for chunk, vector in items:
                writer.put(chunk, check_unit_vector(chunk.id, vector, self._store.settings["dim"]), origin)
        return self._store.version()

    def remove(self, ids: Iterable[str]) -> int:
        with self._store.write("remove") as writer:
            for name in ids:
                writer.remove_chunk(name)
        return self._store.version()

    # -- upkeep

    @property
    def pending(self) -> int:
        known, since = self._store.refresh(), self._compacted()
        born = len(known.inserted_in) - bisect_right(known.inserted_in, since)
        return born + sum(when > since for when in known.deleted_in.values())

    @property
    def due(self) -> bool:
        return self._store.version() - self._compacted() >= COMPACT_FROM or self.pending >= self._fts_from

    def _compacted(self) -> int:
        """The version of the last compaction."""
        return int(self._store.setting("compacted") or 0)

    def index(self) -> Mapping[str, Any] | None:
        view = self.snapshot()
        kind = "in memory" if view._known.words else "Lance's text index"
        return {"name": kind, "chunks": view.size, "version": view.version}

    def sizes(self) -> Mapping[str, int]:
        return self._store.sizes()

    def compact(self, progress: Progress = lambda *_: None, force: bool = False) -> bool:
        """Merge the files of many small commits and update the text index; readers go on meanwhile."""
        if self._store.readonly or not (force or self.pending):
            return False
        with self._store.lock("compacting"):
            names = self._store.tables.names()
            for done, name in enumerate(names):
                progress("merging tables", done, len(names))
                self._merge(name)
            with self._store.write("compact") as writer:
                writer.set("compacted", writer.version)
        self._newest = None
        return True

    def _merge(self, name: str) -> None:
        """Index and merge one table; other processes write meanwhile."""
        try:
            self._index(name)
            self._store.tables.optimize(name)
        except BaseException:
            with contextlib.suppress(AssayError), self._store.lock("writing"):
                self._store.tables.take_back()
            raise

    def _index(self, name: str) -> None:
        """Create the text index once there are enough rows; `optimize` keeps it current from then on."""
        table = self._store.tables[name]
        if name != "chunk" or self._store.tables.count(name) < self._fts_from:
            return
        from lancedb.index import FTS

        with translate_lance_errors(self._store.folder):
            if not self._has_index():
                config = FTS(
                    with_position=False,
                    base_tokenizer="whitespace",
                    max_token_length=_MAX_TERM_LENGTH,
                    lower_case=False,
                    stem=False,
                    remove_stop_words=False,
                    ascii_folding=False,
                )
                table.create_index("body", config=config)
                self._store.tables.check_written(name)

    # -- forgetting

    def forget(self, version: int, progress: Progress = lambda *_: None) -> int:
        known = self._store.refresh()
        gone = [seq for seq, when in known.deleted_in.items() if when <= version]
        self._drop(gone, f"forget before v{version}", oldest=version)
        self.compact(progress, force=True)
        return len(gone)

    def erase(self, doc_ids: Sequence[str], note: str) -> ErasureReport:
        known = self._store.refresh()
        gone = [known.seqs[place] for name in doc_ids for place in known.by_doc.get(name, [])]
        for name in doc_ids:
            with self._store.write(note) as writer:
                for origin in dict.fromkeys(known.origins[place] for place in known.by_doc.get(name, [])):
                    writer.remove_file(origin)
        self._drop(gone, note, oldest=0)
        rows = "1 row" if len(gone) == 1 else f"{len(gone):,} rows"
        return ErasureReport([f"{self._store.folder.name}: {rows} of all versions and of their old files"], [])

    def _drop(self, seqs: Sequence[int], note: str, oldest: int) -> None:
        """Remove rows from the tables and the files that held them: older handles can no longer read."""
        store = self._store
        with store.write(note) as writer:
            writer.set("epoch", int(store.setting("epoch") or 0) + 1)
        with store.lock("writing"), store.tables.taking_back():
            for start in range(0, len(seqs), 1_000):
                listed = ", ".join(map(str, seqs[start : start + 1_000]))
                for name in store.tables.names():
                    if name in ("chunk", "death") or name.startswith("vector_"):
                        store.tables.delete(name, f"seq IN ({listed})")
            if oldest:
                store.tables.delete("version", f"number < {oldest}")
            for name in store.tables.names():
                store.tables.optimize(name, older_than=timedelta(milliseconds=1), unverified=True)
            store.tables.files.add_new()
        store.reload()
        self._clear_caches()

    def health(self) -> list[Check]:
        record = self._store.folder / TAKEN_BACK
        if not record.exists():
            return []
        lines = record.read_text("utf-8").splitlines()
        text = f"the disk cut files short, {len(lines)} unfinished steps were taken back, the last: {lines[-1]}"
        return [Check("tables", "ok", f"{text} ({record})")]

    def sweep(self) -> int:
        return 0

    def close(self) -> None:
        self._clear_caches()
        self._store.close()


class LanceFactory:
    """Implements `contract.BackendFactory` for folders of Lance tables."""

    no_vectors = None

    def exists(self, address: str) -> bool:
        return LanceStore.exists(_parse_folder(address))

    def create(self, address: str, settings: Mapping[str, Any]) -> LanceBackend:
        own = {**settings, "analyser": Analyser(language=settings["language"]).digest}
        return LanceBackend(LanceStore.create(_parse_folder(address), own))

    def open(self, address: str) -> LanceBackend:
        return LanceBackend(LanceStore.open(_parse_folder(address)))

    def accept(self, address: str) -> int:
        """Implements `contract.AcceptingFactory`: list the files as they are now."""
        folder = _parse_folder(address)
        with lock_file(folder / ".writing"):
            FileLedger(folder).accept()
        with contextlib.closing(LanceStore.open(folder)) as store:
            return store.version()


def _parse_folder(address: str) -> Path:
    if "://" in address:
        raise StoreError(
            f"{address} is no folder of this machine", "mount it, and name the folder: writers need its file locks"
        )
    return Path(address)


FACTORY = LanceFactory()
