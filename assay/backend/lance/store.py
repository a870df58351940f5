"""A record of truth in Lance tables (see `lance_tables`): for bulk, and for tables that other programs read.

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
from assay.backend.lance.staging import LanceStaging, table_of
from assay.backend.lance.tables import FORMAT, NAMES, TRUTH, Tables, arrow, schemas, told, vector_schema
from assay.backend.lance.writer import LanceWriter
from assay.errors import StoreError
from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.disk_usage import weight
from assay.store.locks import in_turn
from assay.store.rows import ChunkRow, FileFacts, Stored, facts_of
from assay.store.sqlite import SETTINGS
from assay.store.validation import embedded_anew, forgotten, version_of
from assay.text.analyse import Analyser
from assay.text.spell import spelt
from assay.types import Chunk, Vector, Vectors

_PART = 1_000
"""Rows asked for at a time."""
_STORED = ("id", "doc_id", "text", "tokens", "created", "importance", "meta", "facts")


class LanceStore(LanceStaging):
    """Implements `record.Record`."""

    def __init__(self, folder: Path, readonly: bool) -> None:
        self.folder = folder
        self.readonly = readonly
        self.tables = Tables(folder)
        self.known = Catalogue(self.tables)
        self._lock = threading.RLock()
        self._writer = 0
        missing = sorted(set(NAMES) - set(self.tables.names()))
        if missing:
            raise StoreError(
                f"{folder} is not an Assay store of Lance tables: it has no table {missing[0]!r}",
                "give another address; tables of others can be brought in with: assay memory import",
            )
        self.look()
        if not self.known.said["setting"].keys() >= SETTINGS:
            raise StoreError(f"{folder} does not say how it was made", "restore the folder from a copy")
        self.settings: dict[str, Any] = dict(self.known.said["setting"])

    @staticmethod
    def exists(folder: Path) -> bool:
        return (folder / "version.lance").is_dir()

    @staticmethod
    def create(folder: Path, settings: Mapping[str, Any]) -> LanceStore:
        """A new, empty store; the table `version` comes last, so a killed process leaves none."""
        with told(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with told(folder), in_turn(folder / ".writing"):
            if not LanceStore.exists(folder):
                tables = Tables(folder)
                for name, schema in schemas().items():
                    if name != "version":
                        tables.drop(name)
                        tables.make(name, schema)
                said = {"format": FORMAT, "epoch": 0, **settings}
                tables.add(
                    "fact",
                    {"kind": ["setting"] * len(said), "key": list(said), "version": [0] * len(said)}
                    | {"value": [json.dumps(value) for value in said.values()]},
                )
                first = {"number": [0], "note": ["made"], "last_seq": [0], "rows": [0], "deaths": [0]}
                pa = arrow()
                tables._db.create_table("version", pa.table(first, schema=schemas()["version"]))
        return LanceStore(folder, readonly=False)

    @staticmethod
    def open(folder: Path) -> LanceStore:
        if not LanceStore.exists(folder):
            raise StoreError(f"there is no store at {folder}", f"make one: assay add ./my-docs --store {folder}")
        return LanceStore(folder, readonly=not os.access(folder, os.W_OK))

    @property
    def address(self) -> str:
        return str(self.folder) if self.folder.suffix == ".lance" else f"lance:{self.folder}"

    @property
    def place(self) -> Path | None:
        return self.folder

    @property
    def scratch(self) -> Path | None:
        return None

    def close(self) -> None:
        self.tables.close()

    def look(self) -> Catalogue:
        """What is known, brought into step."""
        with self._lock, told(self.folder):
            self.known.refresh()
            return self.known

    def start_over(self) -> None:
        """Forget what is known: rows were erased that it names."""
        with self._lock:
            self.known = Catalogue(self.tables)
            self.look()

    # -- versions and settings

    def version(self) -> int:
        return self.look().version

    def oldest(self) -> int:
        return self.look().oldest

    def resolve(self, snapshot: str) -> int:
        return version_of(snapshot, self.tags(), self.oldest(), self.version())

    def tags(self) -> dict[str, int]:
        oldest = self.oldest()  # what a tag named may have been forgotten
        return {name: version for name, version in sorted(self.look().said["tag"].items()) if version >= oldest}

    def setting(self, key: str) -> Any:
        return self.look().said["setting"].get(key)

    # -- rows

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        with self._lock:
            yield

    def live_at(self, version: int) -> Iterator[tuple[str, int]]:
        known = self.look()
        alive = (p for p, seq in enumerate(known.seqs) if known.born[p] <= version < known.died.get(seq, version + 1))
        yield from sorted((known.ids[place], known.seqs[place]) for place in alive)

    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]:
        found: dict[int, ChunkRow] = {}
        died = self.known.died
        for start in range(0, len(seqs), _PART):
            wanted = ", ".join(str(int(seq)) for seq in seqs[start : start + _PART])
            table = self.tables.read("chunk", TRUTH, f"seq IN ({wanted})")
            for row in zip(*(table[name].to_pylist() for name in TRUTH), strict=True):
                seq, name, doc_id, text, tokens, created, importance, meta, facts, born = row
                moment = float("nan") if created is None else created
                chunk = Chunk(name, doc_id, text, tokens, moment, importance, json.loads(meta))
                found[seq] = ChunkRow(seq, chunk, facts, born, died.get(seq))
        try:
            return [found[int(seq)] for seq in seqs]
        except KeyError as error:
            raise forgotten(self.folder) from error

    @property
    def vector_table(self) -> str:
        return table_of(self.settings["model"])

    def vectors(self, seqs: Sequence[int], dim: int) -> Vectors:
        out = np.zeros((len(seqs), dim), np.float32)
        place = {int(seq): i for i, seq in enumerate(seqs)}
        any_yet = bool(dim) and self.vector_table in self.tables.names()
        for start in range(0, len(seqs) if any_yet else 0, _PART):
            wanted = ", ".join(str(int(seq)) for seq in seqs[start : start + _PART])
            table = self.tables.read(self.vector_table, ("seq", "value"), f"seq IN ({wanted})").combine_chunks()
            held = table["value"].combine_chunks().flatten().to_numpy().reshape(-1, dim)
            for seq, value in zip(table["seq"].to_pylist(), held, strict=True):
                out[place[seq]] = value
        return out

    def lacking_vectors(self) -> list[int]:
        known = self.look()
        if self.vector_table not in self.tables.names():
            return [known.seqs[place] for place in known.live()]
        having = set(self.tables.read(self.vector_table, ("seq",))["seq"].to_pylist())
        return [known.seqs[place] for place in known.live() if known.seqs[place] not in having]

    def live_in(self, origin: str) -> dict[str, tuple[int, bytes]]:
        known = self.look()
        places = known.alive(known.by_origin.get(origin, []))
        return {known.ids[place]: (known.seqs[place], known.facts[place]) for place in places}

    # -- where they came from

    def files(self, source: str | None = None) -> dict[str, FileFacts]:
        found = sorted(self.look().said["file"].items())
        every = {origin: FileFacts(origin, said[0], said[1], said[2]) for origin, said in found}
        return {origin: facts for origin, facts in every.items() if source is None or facts.source == source}

    def sources(self) -> dict[str, str]:
        return dict(sorted(self.look().said["source"].items()))

    # -- counting and looking back

    def tally(self) -> StoreCounts:
        known = self.look()
        live = list(known.live())
        alive = {known.seqs[place] for place in live}
        metas = self.tables.read("chunk", ("seq", "meta"))
        languages = Counter(
            str(json.loads(meta).get("lang") or "")
            for seq, meta in zip(metas["seq"].to_pylist(), metas["meta"].to_pylist(), strict=True)
            if seq in alive
        )
        most = dict(sorted(languages.items(), key=lambda pair: (-pair[1], pair[0])))
        documents = len({known.docs[place] for place in live})
        return StoreCounts(len(live), documents, sum(known.tokens[p] for p in live), len(known.seqs) - len(live), most)

    def extents(self, prefix: str) -> Iterator[OriginExtent]:
        known = self.look()
        for origin in sorted(name for name in known.by_origin if name.startswith(prefix)):
            live = list(known.alive(known.by_origin[origin]))
            if live:
                documents = len({known.docs[place] for place in live})
                yield OriginExtent(origin, documents, len(live), sum(known.tokens[place] for place in live))

    def heads(self, origin: str) -> Iterator[ChunkHead]:
        known = self.look()
        seqs = [known.seqs[place] for place in known.alive(known.by_origin.get(origin, []))]
        for row in self.rows(seqs):
            yield ChunkHead(row.chunk.id, row.chunk.doc_id, row.chunk.tokens, row.chunk.text[:200])

    def reach(self, target: str) -> tuple[int, int]:
        known = self.look()
        named = [o for o in known.by_origin if o == target or o.startswith(f"{target}/")]
        places = {p for o in named for p in known.by_origin[o]} | {*known.by_doc.get(target, [])}
        live = list(known.alive(sorted(places)))
        return len({known.docs[place] for place in live}), len(live)

    def sizes(self) -> dict[str, int]:
        return {"tables": weight(self.folder)}

    def has_document(self, doc_id: str) -> bool:
        known = self.look()
        return any(True for _ in known.alive(known.by_doc.get(doc_id, [])))

    def states(self, beginning: str) -> list[StoreState]:
        known = self.look()
        places = [p for name, places in known.by_doc.items() if name.startswith(beginning) for p in places]
        rows = self.rows([known.seqs[place] for place in places])
        notes = {number: note for number, (note, _) in known.notes.items()}
        found = [StoreState(row, notes.get(row.born, ""), notes.get(row.died or -1, "")) for row in rows]
        return sorted(found, key=lambda state: (state.row.born, state.row.seq))

    def buried(self, beginning: str) -> Iterator[tuple[str, Any]]:
        known = self.look()
        names = [name for name in known.by_doc if name.startswith(beginning) and not self.has_document(name)]
        for row in self.rows([known.seqs[place] for name in names for place in known.by_doc[name]]):
            yield row.chunk.doc_id, row.chunk.meta.get("scope")

    def damage(self, deep: bool) -> str:
        """Are all tables there, and all committed rows? `deep` reads every chunk against the digest of its facts."""
        try:
            known = self.look()
            lost = len(known.seqs) - self.tables.count("chunk")
            if lost > 0:
                return f"{lost} chunks are lost"
            every = self.rows(known.seqs) if deep else []
        except (StoreError, ValueError) as error:
            return f"it is damaged: {error}"
        wrong = [row.chunk.id for row in every if facts_of(row.chunk) != row.facts]
        return f"{len(wrong)} chunks are not what was written: {', '.join(wrong[:3])}" if wrong else ""

    # -- writing

    @contextlib.contextmanager
    def turn(self, name: str) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            with told(self.folder):
                held.enter_context(in_turn(self.folder / f".{name}"))
            yield

    @contextlib.contextmanager
    def write(self, note: str) -> Iterator[LanceWriter]:
        if self.readonly:
            raise StoreError(f"the store {self.folder} is read-only here", "copy it to a folder you may write to")
        if self._writer == threading.get_ident():
            raise StoreError(f"a transaction within a transaction on {self.folder}", "end the first one before")
        with self._lock, self.turn("writing"), self._as_writer():
            known = self.look()
            if known.said["setting"]["model"] != self.settings["model"]:
                raise embedded_anew(self.folder)
            self._tidy(known)
            writer = LanceWriter(known, self.settings["dim"], self._words)
            yield writer
            self._commit(writer, note)
            self.settings.update(writer.settings)

    @contextlib.contextmanager
    def _as_writer(self) -> Iterator[None]:
        self._writer = threading.get_ident()
        try:
            yield
        finally:
            self._writer = 0

    def _words(self, row: Stored) -> tuple[str, int]:
        """The analysed terms of a row, each between spaces of its own, and how many they are."""
        chunk = Chunk(row[0], row[1], row[2], row[3], meta=json.loads(row[6]))
        terms = Analyser(language=self.settings["language"]).terms(chunk.indexed_text)
        return "".join(f" {spelt(term)} " for term in terms), len(terms)

    def read_words_anew(self, analyser: Analyser) -> None:
        """Analyse every row again: another release of the analyser read them before. One new version of the table."""
        if self.readonly:
            raise StoreError(
                f"the words of {self.folder} were read by another release of the analyser, and it is read-only here",
                "open it once where it may be written",
            )
        with self.write("words read anew") as writer:
            if self.setting("analyser") != analyser.digest:  # another may have done it while we waited
                table = self.tables.read("chunk", schemas()["chunk"].names)
                read = [self._words(row) for row in zip(*(table[n].to_pylist() for n in _STORED), strict=True)]
                for place, name in enumerate(("body", "length")):
                    fresh = arrow().array([one[place] for one in read], table.schema.field(name).type)
                    table = table.set_column(table.schema.get_field_index(name), name, fresh)
                self.tables.replace("chunk", table)
                writer.set("analyser", analyser.digest)
                writer.set("epoch", int(self.setting("epoch") or 0) + 1)

    def _tidy(self, known: Catalogue) -> None:
        """Remove what a killed writer left: it has numbers that no version names."""
        counted = {"chunk": len(known.seqs), "death": len(known.died), "fact": known.fact_rows}
        if all(self.tables.count(name) == number for name, number in counted.items()):
            return
        self.tables.delete("chunk", f"seq > {known.last_seq}")
        self.tables.delete("death", f"died > {known.version}")
        self.tables.delete("fact", f"version > {known.version}")
        for name in self.tables.names():
            if name.startswith("vector_"):
                self.tables.delete(name, f"seq > {known.last_seq}")

    def _commit(self, writer: LanceWriter, note: str) -> None:
        """Append everything; the version's row, which makes it count, comes last."""
        if not writer.changed and not writer.facts:
            return
        if writer.rows:
            self.tables.add("chunk", writer.columns())
        if writer.vectors:
            self.add_vectors(self.vector_table, self.settings["dim"], writer.vectors)
            self._note_filled(writer)
        if writer.deaths:
            died = [writer.version] * len(writer.deaths)
            self.tables.add("death", {"seq": writer.deaths, "died": died})
        if writer.facts:
            self.tables.add("fact", writer.said())
        last = self.known.last_seq + len(writer.rows)
        counts = {"rows": [len(writer.rows)], "deaths": [len(writer.deaths)]}
        self.tables.add("version", {"number": [writer.version], "note": [note], "last_seq": [last], **counts})
        if writer.settings.get("model", self.settings["model"]) != self.settings["model"]:
            self.tables.drop(self.vector_table)

    def _note_filled(self, writer: LanceWriter) -> None:
        """Vectors that came after their rows are no part of the rows' marks; a setting covers them."""
        late = {seq: vector for seq, vector in writer.vectors.items() if seq <= self.known.last_seq}
        if late:
            before = self.known.said["setting"].get("filled", "")
            digest = hashlib.blake2b(before.encode(), digest_size=16)
            for seq, vector in sorted(late.items()):
                digest.update(seq.to_bytes(8, "big") + vector.tobytes())
            writer.set("filled", digest.hexdigest())

    def add_vectors(self, name: str, dim: int, vectors: Mapping[int, Vector]) -> None:
        """Append vectors to the table of a model, by the numbers of their rows."""
        self.tables.make(name, vector_schema(dim))
        flat = arrow().array(np.concatenate(list(vectors.values())))
        values = arrow().FixedSizeListArray.from_arrays(flat, dim)
        self.tables.add(name, {"seq": list(vectors), "value": values})
