"""The chunk store in Lance tables (see `tables`), for large data and for tables that other programs read.

Lance calls no fsync: a commit survives a killed process; after a power failure the newest ones may be gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.lance.catalogue import Catalogue
from assay.backend.lance.staging import LanceStaging, vector_table_name
from assay.backend.lance.tables import (
    FORMAT,
    NAMES,
    TRUTH,
    Tables,
    import_arrow,
    schemas,
    translate_lance_errors,
    vector_schema,
)
from assay.backend.lance.writer import LanceWriter
from assay.errors import MissingStore, StoreError
from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.disk_usage import count_bytes
from assay.store.locks import lock_file
from assay.store.rows import ChunkRow, FileState, StoredRow, digest_chunk, verify_row
from assay.store.sqlite import SETTINGS
from assay.store.validation import model_changed_error, resolve_version, rows_forgotten_error
from assay.text.analyser import Analyser
from assay.text.term_encoding import encode_term
from assay.types import Chunk, Vector, Vectors

_BATCH = 1_000
"""Rows read at a time."""
_STORED = ("id", "doc_id", "text", "tokens", "created", "importance", "meta", "facts")


class LanceStore(LanceStaging):
    """Implements `ChunkStore`."""

    def __init__(self, folder: Path, readonly: bool) -> None:
        self.folder = folder
        self.readonly = readonly
        self.tables = Tables(folder)
        self.known = Catalogue(self.tables)
        self._lock = threading.RLock()
        self._writer = 0
        missing = sorted({*NAMES} - {*self.tables.names()})
        if missing:
            raise StoreError(
                f"{folder} is not an Assay store of Lance tables: it has no table {missing[0]!r}",
                "give another address; tables of others can be brought in with: assay memory import",
            )
        self.tables.verify()  # before Lance reads anything
        if not readonly:
            self.tables.recover()
        self.refresh()
        if not self.known.entries["setting"].keys() >= SETTINGS:
            raise StoreError(f"{folder} does not say how it was made", "restore the folder from a copy")
        self.settings: dict[str, Any] = dict(self.known.entries["setting"])

    @staticmethod
    def exists(folder: Path) -> bool:
        return (folder / "version.lance").is_dir()

    @staticmethod
    def create(folder: Path, settings: Mapping[str, Any]) -> LanceStore:
        """A new, empty store; the table `version` comes last, so a killed process leaves none."""
        with translate_lance_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with translate_lance_errors(folder), lock_file(folder / ".writing"):
            if not LanceStore.exists(folder):
                tables = Tables(folder)
                for name, schema in schemas().items():
                    if name != "version":
                        tables.drop(name)
                        tables.make(name, schema)
                stored = {"format": FORMAT, "epoch": 0, **settings}
                tables.add(
                    "fact",
                    {"kind": ["setting"] * len(stored), "key": list(stored), "version": [0] * len(stored)}
                    | {"value": [json.dumps(value) for value in stored.values()]},
                )
                first = {"number": [0], "note": ["made"], "last_seq": [0], "rows": [0], "deaths": [0]}
                tables.make_filled("version", import_arrow().table(first, schema=schemas()["version"]))
                tables.files.add_new()
        return LanceStore(folder, readonly=False)

    @staticmethod
    def open(folder: Path) -> LanceStore:
        if not LanceStore.exists(folder):
            raise MissingStore(folder)
        return LanceStore(folder, readonly=not os.access(folder, os.W_OK))

    @property
    def address(self) -> str:
        return str(self.folder) if self.folder.suffix == ".lance" else f"lance:{self.folder}"

    @property
    def place(self) -> Path | None:
        return self.folder

    scratch: Path | None = None

    def close(self) -> None:
        self.tables.close()

    def refresh(self) -> Catalogue:
        """The catalogue, with what was committed since the last call."""
        with self._lock, translate_lance_errors(self.folder):
            self.known.refresh()
            return self.known

    def reload(self) -> None:
        """Read the catalogue from scratch: rows that it names were erased."""
        with self._lock:
            self.known = Catalogue(self.tables)
            self.refresh()

    # -- versions and settings

    def version(self) -> int:
        return self.refresh().version

    def oldest(self) -> int:
        return self.refresh().oldest

    def resolve(self, snapshot: str) -> int:
        return resolve_version(snapshot, self.tags(), self.oldest(), self.version())

    def tags(self) -> dict[str, int]:
        oldest = self.oldest()  # what a tag named may have been forgotten
        return {name: version for name, version in sorted(self.refresh().entries["tag"].items()) if version >= oldest}

    def setting(self, key: str) -> Any:
        return self.refresh().entries["setting"].get(key)

    # -- rows

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        with self._lock:
            yield

    def live_at(self, version: int) -> Iterator[tuple[str, int]]:
        known = self.refresh()
        alive = (
            p
            for p, seq in enumerate(known.seqs)
            if known.inserted_in[p] <= version < known.deleted_in.get(seq, version + 1)
        )
        yield from sorted((known.ids[place], known.seqs[place]) for place in alive)

    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]:
        found: dict[int, ChunkRow] = {}
        deleted_in = self.known.deleted_in
        for start in range(0, len(seqs), _BATCH):
            wanted = ", ".join(str(int(seq)) for seq in seqs[start : start + _BATCH])
            table = self.tables.read("chunk", TRUTH, f"seq IN ({wanted})")
            for row in zip(*(table[name].to_pylist() for name in TRUTH), strict=True):
                seq, name, doc_id, text, tokens, created, importance, meta, facts, inserted_in = row
                moment = float("nan") if created is None else created
                chunk = Chunk(name, doc_id, text, tokens, moment, importance, json.loads(meta))
                found[seq] = ChunkRow(seq, chunk, facts, inserted_in, deleted_in.get(seq))
                with translate_lance_errors(self.folder):
                    verify_row(chunk, created, meta, facts)
        try:
            return [found[int(seq)] for seq in seqs]
        except KeyError as error:
            raise rows_forgotten_error(self.folder) from error

    @property
    def vector_table(self) -> str:
        return vector_table_name(self.settings["model"])

    def vectors(self, seqs: Sequence[int], dim: int) -> Vectors:
        out = np.zeros((len(seqs), dim), np.float32)
        place = {int(seq): i for i, seq in enumerate(seqs)}
        any_yet = bool(dim) and self.vector_table in self.tables.names()
        for start in range(0, len(seqs) if any_yet else 0, _BATCH):
            wanted = ", ".join(str(int(seq)) for seq in seqs[start : start + _BATCH])
            table = self.tables.read(self.vector_table, ("seq", "value"), f"seq IN ({wanted})").combine_chunks()
            values = table["value"].combine_chunks().flatten().to_numpy().reshape(-1, dim)
            for seq, value in zip(table["seq"].to_pylist(), values, strict=True):
                out[place[seq]] = value
        return out

    def rows_without_vector(self) -> list[int]:
        known = self.refresh()
        if self.vector_table not in self.tables.names():
            return [known.seqs[place] for place in known.live_positions()]
        having = set(self.tables.read(self.vector_table, ("seq",))["seq"].to_pylist())
        return [known.seqs[place] for place in known.live_positions() if known.seqs[place] not in having]

    def live_chunks_of(self, origin: str) -> dict[str, tuple[int, bytes]]:
        known = self.refresh()
        places = known.live_among(known.by_origin.get(origin, []))
        return {known.ids[place]: (known.seqs[place], known.facts[place]) for place in places}

    # -- where they came from

    def files(self, folder: str | None = None) -> dict[str, FileState]:
        entries = sorted(self.refresh().entries["file"].items())
        files = {origin: FileState(origin, values[0], values[1], values[2]) for origin, values in entries}
        return {origin: file for origin, file in files.items() if folder is None or file.folder == folder}

    def folders(self) -> dict[str, str]:
        return dict(sorted(self.refresh().entries["source"].items()))

    # -- counting and looking back

    def count_chunks(self) -> StoreCounts:
        known = self.refresh()
        live = list(known.live_positions())
        alive = {known.seqs[place] for place in live}
        metas = self.tables.read("chunk", ("seq", "meta"))
        pairs = zip(metas["seq"].to_pylist(), metas["meta"].to_pylist(), strict=True)
        languages = Counter(str(json.loads(meta).get("lang") or "") for seq, meta in pairs if seq in alive)
        most = dict(sorted(languages.items(), key=lambda pair: (-pair[1], pair[0])))
        documents, tokens = len({known.docs[place] for place in live}), sum(known.tokens[place] for place in live)
        return StoreCounts(len(live), documents, tokens, len(known.seqs) - len(live), most)

    def origin_extents(self, prefix: str) -> Iterator[OriginExtent]:
        known = self.refresh()
        for origin in sorted(name for name in known.by_origin if name.startswith(prefix)):
            live = list(known.live_among(known.by_origin[origin]))
            if live:
                documents = len({known.docs[place] for place in live})
                yield OriginExtent(origin, documents, len(live), sum(known.tokens[place] for place in live))

    def heads(self, origin: str) -> Iterator[ChunkHead]:
        known = self.refresh()
        seqs = [known.seqs[place] for place in known.live_among(known.by_origin.get(origin, []))]
        for row in self.rows(seqs):
            yield ChunkHead(row.chunk.id, row.chunk.doc_id, row.chunk.tokens, row.chunk.text[:200])

    def count_target(self, target: str) -> tuple[int, int]:
        known = self.refresh()
        named = [o for o in known.by_origin if o == target or o.startswith(f"{target}/")]
        places = {p for o in named for p in known.by_origin[o]} | {*known.by_doc.get(target, [])}
        live = list(known.live_among(sorted(places)))
        return len({known.docs[place] for place in live}), len(live)

    def sizes(self) -> dict[str, int]:
        return {"tables": count_bytes(self.folder)}

    def check_outside(self, target: Path) -> None:
        if target.resolve().is_relative_to(self.folder.resolve()):
            raise StoreError(f"{target} belongs to the store itself", "give another name")

    def has_document(self, doc_id: str) -> bool:
        known = self.refresh()
        return any(True for _ in known.live_among(known.by_doc.get(doc_id, [])))

    def states(self, prefix: str) -> list[StoreState]:
        known = self.refresh()
        places = [p for name, places in known.by_doc.items() if name.startswith(prefix) for p in places]
        rows = self.rows([known.seqs[place] for place in places])
        notes = {number: note for number, (note, _) in known.notes.items()}
        found = [StoreState(row, notes.get(row.inserted_in, ""), notes.get(row.deleted_in or -1, "")) for row in rows]
        return sorted(found, key=lambda state: (state.row.inserted_in, state.row.seq))

    def deleted_documents(self, prefix: str) -> Iterator[tuple[str, Any]]:
        known = self.refresh()
        names = [name for name in known.by_doc if name.startswith(prefix) and not self.has_document(name)]
        for row in self.rows([known.seqs[place] for name in names for place in known.by_doc[name]]):
            yield row.chunk.doc_id, row.chunk.meta.get("scope")

    def find_damage(self, deep: bool) -> str:
        """Check the tables and the number of rows; `deep` checks every chunk against its digest."""
        try:
            known = self.refresh()
            if deep and (damaged := self.tables.files.find_damage()):
                return f"{len(damaged)} files are damaged: {'; '.join(damaged[:20])}"
            lost = len(known.seqs) - self.tables.count("chunk")
            if lost > 0:
                return f"{lost} chunks are lost"
            every = self.rows(known.seqs) if deep else []
        except (StoreError, ValueError) as error:
            return f"it is damaged: {error}"
        wrong = [row.chunk.id for row in every if digest_chunk(row.chunk) != row.facts]
        return f"{len(wrong)} chunks are not what was written: {', '.join(wrong[:3])}" if wrong else ""

    # -- writing

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        with contextlib.ExitStack() as values:
            with translate_lance_errors(self.folder):
                values.enter_context(lock_file(self.folder / f".{name}"))
            yield

    @contextlib.contextmanager
    def write(self, note: str) -> Iterator[LanceWriter]:
        if self.readonly:
            raise StoreError(f"the store {self.folder} is read-only here", "copy it to a folder you may write to")
        if self._writer == threading.get_ident():
            raise StoreError(f"a transaction within a transaction on {self.folder}", "end the first one before")
        with self._lock, self.lock("writing"), self._as_writer(), self.tables.taking_back():
            known = self.refresh()
            if known.entries["setting"]["model"] != self.settings["model"]:
                raise model_changed_error(self.folder)
            self._remove_uncommitted(known)
            writer = LanceWriter(known, self.settings["dim"], self._analyse)
            yield writer
            self._commit(writer, note)
            self.tables.files.add_new()  # before the caller hears of the commit
            self.settings.update(writer.settings)

    @contextlib.contextmanager
    def _as_writer(self) -> Iterator[None]:
        self._writer = threading.get_ident()
        try:
            yield
        finally:
            self._writer = 0

    def _analyse(self, row: StoredRow) -> tuple[str, int]:
        """The terms of a row, each between spaces of its own, and their number."""
        chunk = Chunk(row[0], row[1], row[2], row[3], meta=json.loads(row[6]))
        terms = Analyser(language=self.settings["language"]).terms(chunk.indexed_text)
        return "".join(f" {encode_term(term)} " for term in terms), len(terms)

    def rebuild_words(self, analyser: Analyser) -> None:
        """Analyse every row again, after another release of the analyser did. One new version of the table."""
        if self.readonly:
            raise StoreError(
                f"the words of {self.folder} were read by another release of the analyser, and it is read-only here",
                "open it once where it may be written",
            )
        with self.write("words read anew") as writer:
            if self.setting("analyser") != analyser.digest:  # another may have done it while we waited
                table = self.tables.read("chunk", schemas()["chunk"].names)
                read = [self._analyse(row) for row in zip(*(table[n].to_pylist() for n in _STORED), strict=True)]
                for place, name in enumerate(("body", "length")):
                    fresh = import_arrow().array([one[place] for one in read], table.schema.field(name).type)
                    table = table.set_column(table.schema.get_field_index(name), name, fresh)
                self.tables.replace("chunk", table)
                writer.set("analyser", analyser.digest)
                writer.set("epoch", int(self.setting("epoch") or 0) + 1)

    def _remove_uncommitted(self, known: Catalogue) -> None:
        """Remove what a killed writer left: rows above the last committed number."""
        counted = {"chunk": len(known.seqs), "death": len(known.deleted_in), "fact": known.fact_rows}
        if all(self.tables.count(name) == number for name, number in counted.items()):
            return
        self.tables.delete("chunk", f"seq > {known.last_seq}")
        self.tables.delete("death", f"died > {known.version}")
        self.tables.delete("fact", f"version > {known.version}")
        for name in self.tables.names():
            if name.startswith("vector_"):
                self.tables.delete(name, f"seq > {known.last_seq}")

    def _commit(self, writer: LanceWriter, note: str) -> None:
        """Append everything; the row in `version`, which commits it, comes last."""
        if not writer.changed and not writer.facts:
            return
        if writer.rows:
            self.tables.add("chunk", writer.columns())
        if writer.vectors:
            self.add_vectors(self.vector_table, self.settings["dim"], writer.vectors)
            self._record_late_vectors(writer)
        if writer.deletions:
            died = [writer.version] * len(writer.deletions)
            self.tables.add("death", {"seq": writer.deletions, "died": died})
        if writer.facts:
            self.tables.add("fact", writer.fact_columns())
        last = self.known.last_seq + len(writer.rows)
        counts = {"rows": [len(writer.rows)], "deaths": [len(writer.deletions)]}
        self.tables.add("version", {"number": [writer.version], "note": [note], "last_seq": [last], **counts})
        if writer.settings.get("model", self.settings["model"]) != self.settings["model"]:
            self.tables.drop(self.vector_table)

    def _record_late_vectors(self, writer: LanceWriter) -> None:
        """Vectors added after their rows are not covered by the rows' marks; a setting records their digest."""
        late = {seq: vector for seq, vector in writer.vectors.items() if seq <= self.known.last_seq}
        if late:
            before = self.known.entries["setting"].get("filled", "")
            digest = hashlib.blake2b(before.encode(), digest_size=16)
            for seq, vector in sorted(late.items()):
                digest.update(seq.to_bytes(8, "big") + vector.tobytes())
            writer.set("filled", digest.hexdigest())

    def add_vectors(self, name: str, dim: int, vectors: Mapping[int, Vector]) -> None:
        """Append vectors to the table of a model, by the numbers of their rows."""
        self.tables.make(name, vector_schema(dim))
        flat = import_arrow().array(np.concatenate(list(vectors.values())))
        values = import_arrow().FixedSizeListArray.from_arrays(flat, dim)
        self.tables.add(name, {"seq": list(vectors), "value": values})
