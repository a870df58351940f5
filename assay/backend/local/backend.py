"""The local backend: a folder with a SQLite store and generations of derived indexes."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.contract import Check, ErasureReport, SummaryReport
from assay.backend.local import derived, tree_summaries
from assay.backend.local import forget as local_forget
from assay.backend.local.background_checks import BackgroundChecks
from assay.backend.local.generation_folders import PastIndexes, remove_unused, translate_index_errors
from assay.backend.local.health import check_index_files, health, sweep
from assay.backend.local.recovery import DamagedGenerations, recovering
from assay.backend.local.snapshot import LocalSnapshot
from assay.backend.shared.limits import COMPACT_FROM, MOST_TAIL
from assay.embed.chat import ChatModel
from assay.errors import Reason, StoreError
from assay.index.checksums import DamagedIndex
from assay.index.generation import Generation, build_generation
from assay.index.similarity import Bm25Similarity
from assay.index.tail import Tail
from assay.index.tree.layout import TreeSettings
from assay.index.vectors_builder import IVF_FROM
from assay.index.words import TANTIVY_FROM
from assay.store.damage import check_live
from assay.store.db_errors import translate_errors
from assay.store.disk_usage import count_bytes
from assay.store.locks import try_lock_file
from assay.store.rows import ChunkRow
from assay.store.sqlite import SqliteStore
from assay.store.validation import check_unit_vector, check_version, model_changed_error
from assay.text.analyser import Analyser
from assay.types import Chunk, Progress, Rows, Vector, Vectors
from assay.where import Mask

MAX_TAIL_ROWS = 100_000
"""The limit on tail rows beside a usable generation: a tail of so many rows takes some 500 MB."""

NO_VECTORS = Reason("this store holds no vectors")


class LocalBackend:
    """Implements `contract.StoreBackend` over a folder. One per process and store; safe for threads."""

    def __init__(
        self,
        store: SqliteStore,
        analyser: Analyser,
        model: str = "",
        dim: int = 0,
        no_vectors: Reason = NO_VECTORS,
        *,
        tantivy_from: int = TANTIVY_FROM,
        ivf_from: int = IVF_FROM,
    ) -> None:
        self.store = store
        self._tantivy_from, self._ivf_from = tantivy_from, ivf_from
        self.analyser = analyser
        self._model, self._dim, self._no_vectors = model, dim, no_vectors
        self._similarity = Bm25Similarity.from_settings(store.settings)
        self._lock = threading.RLock()
        self._current: LocalSnapshot | None = None
        self._stamp: tuple[int, str | None] = (-1, None)
        self._past_indexes = PastIndexes(self)
        self._model_at_opening = store.settings["model"]
        self._damaged = DamagedGenerations(self)
        self._background = BackgroundChecks()
        self._trouble: Reason | None = None
        self._reset_to(None)

    def _reset_to(self, generation: Generation | None) -> None:
        """Drop the tail; rows that the generation does not hold are read again."""
        self._generation = generation
        self._tail = Tail(self.analyser, self._dim)
        self._seen_seq = generation.last_seq if generation else 0
        self._seen_version = generation.version if generation else 0
        self._dead: set[int] = set()  # rows of the generation
        self._tail_dead: set[int] = set()  # positions in the tail

    # -- reading

    def snapshot(self, version: int | None = None) -> LocalSnapshot:
        """The newest state, or the store as it was at a version."""
        newest = self._newest()
        # Compared with the snapshot, not with the store: another process may have written since.
        return newest if version in (None, newest.version) else self._past(version)

    @recovering
    def _newest(self) -> LocalSnapshot:
        with self._lock:
            version_now, name, model = self.store.state()
            stamp = (version_now, name)
            if model != self._model_at_opening:
                raise model_changed_error(self.store.folder)
            if self._current is None or stamp != self._stamp:
                self._open_generation(name)
                self._current = self._read_tail()
                self._stamp = stamp
                if self._generation is not None and self._generation.folder.parent == self.folder:
                    self._trouble = None  # rebuilt for good: only the first answer tells of it
            self._background.watch(self._generation)
            return self._current

    def _open_generation(self, name: str | None) -> None:
        """Switch to the generation the store names; without a usable one, build one or start with none."""
        current = self._generation.folder.name if self._generation else None
        if name != current or name is None:
            generation = self._usable(name)
            while generation is None and name != (newer := self.store.setting("generation")):
                name, generation = newer, self._usable(newer)  # replaced and removed between our two reads
            if generation is not None:
                self._reset_to(generation)
        most = MOST_TAIL if self._generation is None else MAX_TAIL_ROWS
        if name is not None and self._generation is None and self._trouble and not self.store.readonly:
            with contextlib.suppress(StoreError):  # the tail answers until it can be rebuilt
                self._reset_to(self.rebuild(name))
        if len(self._tail) + self.store.count_since(self._seen_seq) > most and not self.store.readonly:
            # The index was lost, a killed process never built it, or much was added at once. The store is complete,
            # so build it now; where that fails (a full disk, another process builds) the tail answers, slowly.
            with contextlib.suppress(StoreError):
                built = self._usable(self._build(force=self._generation is None))
                if built is not None:
                    self._reset_to(built)

    @property
    def damage(self) -> DamagedIndex | None:
        return None if self._generation is None else self._generation.checks.damage

    def recover(self, error: BaseException) -> bool:
        """Replace the current generation, if it is damaged."""
        with self._lock:
            if self._generation is None:
                return False
            replaced = self._damaged.replace(self._generation, error)
            if replaced is not None:
                self._generation, self._trouble = replaced
                self._reset_to(self._generation)
            return replaced is not None

    def rebuild(self, name: str) -> Generation | None:
        """The generation with this name, built anew for good; None when another process builds one."""
        version = int(name.partition("-")[0])
        with translate_errors(self.store.folder), try_lock_file(self.store.folder / ".compacting") as locked:
            if not locked or self.store.setting("generation") != name:
                return None
            built = self.build_index(version, self._free_folder(version))
            derived.build_as_before(self, self.folder / name, built, lambda *_: None)
            with self.store.write("compact") as writer:
                writer.set("generation", built.folder.name)
            return built

    def _usable(self, name: str | None) -> Generation | None:
        """The named generation, if this backend can use it."""
        return None if name is None else self.open_usable(self.folder / name)

    def open_usable(self, folder: Path) -> Generation | None:
        """The generation in a folder, if it is there, whole, and made with this analyser and model."""
        with contextlib.suppress(OSError, ValueError):
            try:
                generation = Generation(folder)
            except DamagedIndex as error:
                self._trouble = error.reason
                raise
            made_with = (generation.manifest["analyser"], generation.manifest["model"], generation.manifest["dim"])
            if made_with == (self.analyser.digest, self._model, self._dim):
                return generation
        return None

    def _read_tail(self) -> LocalSnapshot:
        """Add to the tail what was committed since the last snapshot, by this process or another."""
        with self.store.reading():
            version = self.store.version()
            new_rows = self.store.rows_since(self._seen_seq)
            vectors = self.store.vectors([row.seq for row in new_rows], self._dim) if self._dim else None
            deaths = self.store.deaths_since(self._seen_version)
            live_now = self.store.setting("live")
        try:
            self._extend_tail(new_rows, vectors, deaths)
        except BaseException:  # Ctrl-C too: half of it may be in the tail, so start over
            self._reset_to(self._generation)
            raise
        self._seen_version = version
        live = np.ones(len(self._tail), np.bool_)
        live[sorted(self._tail_dead)] = False
        indexed = self._generation.size - len(self._dead) if self._generation else 0
        check_live(self.store, live_now, indexed + int(np.count_nonzero(live)))
        return self._view(self._generation, self._tail, version, np.array(sorted(self._dead), np.int64), live)

    def _extend_tail(
        self, new_rows: list[ChunkRow], vectors: Vectors | None, deaths: list[tuple[str, int, int]]
    ) -> None:
        for i, row in enumerate(new_rows):
            self._tail.add(row, None if vectors is None else vectors[i])
        if deaths:
            positions = {row.seq: i for i, row in enumerate(self._tail.rows)}
            for name, seq, _ in deaths:
                if seq in positions:
                    self._tail_dead.add(positions[seq])
                elif self._generation is not None and (row_number := self._generation.row_of(name, seq)) >= 0:
                    self._dead.add(row_number)
        self._seen_seq = new_rows[-1].seq if new_rows else self._seen_seq

    def _view(
        self, generation: Generation | None, tail: Tail, version: int, dead: Rows, tail_live: Mask
    ) -> LocalSnapshot:
        return LocalSnapshot(
            self.store,
            generation,
            tail,
            version=version,
            dead=dead,
            tail_live=tail_live,
            analyser=self.analyser,
            model=self._model,
            dim=self._dim,
            no_vectors=self._no_vectors,
            similarity=self._similarity,
            tree_settings=self.store.setting("tree") or {},
            damaged=self._damaged,
            trouble=self._trouble,
        )

    def _past(self, version: int) -> LocalSnapshot:
        """An older version: masks over the current generation if that is old enough, else an index of its own."""
        with self._lock:
            check_version(version, self.store.oldest(), self.snapshot().version)
            generation = self._generation
            if generation is None or version >= generation.version:
                since = generation.version if generation else 0
                died = {seq: when for _, seq, when in self.store.deaths_since(since)}
                live = [r.inserted_in <= version < died.get(r.seq, version + 1) for r in self._tail.rows]
                seqs = generation.seqs if generation else np.empty(0, np.int64)
                dead = [row for row in sorted(self._dead) if died[int(seqs[row])] <= version]
                return self._view(generation, self._tail, version, np.array(dead, np.int64), np.array(live, np.bool_))
        empty = np.empty(0, np.int64)  # without the lock: other threads search while this index is built
        tail = Tail(self.analyser, self._dim)
        return self._view(self._past_indexes.get(version), tail, version, empty, empty.astype(np.bool_))

    # -- writing

    def put(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str = "") -> int:
        """Add or replace chunks by id, all of them or none; the version from which they are there."""
        with self.store.write("put") as writer:
            for chunk, vector in items:
                writer.put(chunk, check_unit_vector(chunk.id, vector, self._dim), origin)
        return writer.version if writer.changed else self.store.version()

    def remove(self, ids: Iterable[str]) -> int:
        """Delete chunks by id; the version from which they are gone."""
        with self.store.write("remove") as writer:
            for name in ids:
                writer.remove_chunk(name)
        return writer.version if writer.changed else self.store.version()

    # -- compacting

    @property
    def folder(self) -> Path:
        return self.store.folder / "generations"

    @property
    def generation(self) -> Generation | None:
        self.snapshot()
        return self._generation

    @property
    def due(self) -> bool:
        return self.pending >= COMPACT_FROM

    @property
    def wants_index(self) -> bool:
        return self.store.setting("generation") is None and self.store.count_since(0) > MOST_TAIL

    def index(self) -> dict[str, Any] | None:
        generation = self.generation
        return None if generation is None else {"name": generation.folder.name, **generation.manifest}

    def sizes(self) -> dict[str, int]:
        folders = {"index": self.folder, "older snapshots": self.store.place / "snapshots"}
        return {**self.store.sizes(), **{name: count_bytes(folder) for name, folder in folders.items()}}

    @property
    def pending(self) -> int:
        """Rows that the next generation would add or drop."""
        self.snapshot()
        return len(self._tail) + len(self._dead)

    def compact(self, progress: Progress = lambda *_: None, force: bool = False) -> bool:
        """Build the next generation. Readers and writers go on meanwhile; False when there is nothing to do.

        Only one process compacts at a time; a second one returns at once.
        """
        return not self.store.readonly and self._build(progress, force) is not None

    def _is_behind(self) -> bool:
        current = self._usable(self.store.setting("generation"))
        return current is None or current.version < self.store.version() or not current.checks.known

    def _build(self, progress: Progress = lambda *_: None, force: bool = False) -> str | None:
        """Build the next generation and record its name; None when another process builds it, or none is needed."""
        with translate_errors(self.store.folder), try_lock_file(self.store.folder / ".compacting") as locked:
            if not locked:
                return None
            before = self.store.setting("generation")
            remove_unused(self.folder, [str(before)])  # left by killed processes, or not open any more
            if not force and not self._is_behind():
                return None
            version = self.store.version()
            folder = self._free_folder(version)
            name = folder.name
            built = self.build_index(version, folder, progress)
            derived.build_as_before(self, None if before is None else self.folder / before, built, progress)
            with self.store.write("compact") as writer:
                writer.set("generation", name)
            remove_unused(self.folder, [name])
            return name

    def _free_folder(self, version: int) -> Path:
        """Where to build a generation: never in a folder that may be in use."""
        name, times = f"{version:08d}", 1
        while (self.folder / name).exists():
            name, times = f"{version:08d}-{times}", times + 1
        return self.folder / name

    def build_index(
        self, version: int, folder: Path, progress: Progress = lambda *_: None, *, exact: bool = False
    ) -> Generation:
        """Build the generation of a version. An `exact` one is without tantivy and FAISS: built sooner, searched
        slower."""
        limits = (sys.maxsize, sys.maxsize) if exact else (self._tantivy_from, self._ivf_from)
        model = (self._model, self._dim)
        with translate_index_errors():
            return build_generation(
                self.store, version, folder, self.analyser, model, progress, tantivy_from=limits[0], ivf_from=limits[1]
            )

    @property
    def graph_due(self) -> bool:
        return derived.is_graph_due(self)

    def build_graph(self, progress: Progress = lambda *_: None) -> int:
        return derived.build_graph_now(self, progress)

    def build_graph_of(self, generation: Generation, progress: Progress) -> None:
        with translate_index_errors():
            generation.graph(self.store, self.analyser, progress)

    @property
    def tree_settings(self) -> TreeSettings:
        return TreeSettings.from_json(self.store.setting("tree"))

    @property
    def tree_due(self) -> bool:
        return derived.is_tree_due(self)

    def build_tree(self, settings: TreeSettings | None = None, progress: Progress = lambda *_: None) -> int:
        """Build the tree of the current generation now; new settings are saved. How many chunks it covers."""
        return derived.build_tree_now(self, settings or self.tree_settings, progress)

    def build_tree_of(self, generation: Generation, progress: Progress) -> None:
        with translate_index_errors():
            generation.tree(self.store, self.analyser, self._similarity, self.tree_settings, progress)

    def write_summaries(self, chat: ChatModel, progress: Progress = lambda *_: None) -> SummaryReport:
        return tree_summaries.write_summaries(self, chat, progress)

    no_vectors = None

    # -- forgetting

    def forget(self, version: int, progress: Progress = lambda *_: None) -> int:
        return local_forget.forget(self, version, progress)

    def erase(self, doc_ids: Sequence[str], note: str) -> ErasureReport:
        return local_forget.erase(self, doc_ids, note)

    def health(self) -> list[Check]:
        return health(self.store)

    def deep_health(self) -> list[Check]:
        return [check_index_files(self.store)]

    def sweep(self) -> int:
        return sweep(self.store)

    def close(self) -> None:
        self._damaged.close()
        self._background.close()
        self._current = None
        self._reset_to(None)
        self._stamp = (-1, None)
        self._past_indexes.close()
        self.store.close()
