"""Keeping a store in step with files: find, read, chunk, embed, commit; a file is taken whole or not at all.

Without embedding, reading and chunking are the work, so a larger folder is read by helper processes (`parallel`);
what they give is taken in the order of the files, so the store is the same either way.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from assay.errors import AssayError, BadFile, StoreError
from assay.ingest.chunk import Profile, chunk_document
from assay.ingest.triples import Reading
from assay.ingest.walk import FoundFile, Skipped, discover, look, plain_name
from assay.ingest.worker import Event as Given
from assay.ingest.worker import Setup, Task, grouped, taken
from assay.store.contract import ChunkStore
from assay.store.rows import FileFacts, stored
from assay.store.spool import Spool
from assay.store.validation import RefusedWrite
from assay.types import Chunk, Document, Vectors
from assay.util.parallel import Crashed, Crew, NoHelpers, workers

_BATCH = 512
"""Chunks embedded and committed together: a killed run loses at most these, and has not acknowledged them."""
_BATCH_UNEMBEDDED = 8_192
RECORDS = "records"
"""The source of records that are given no name."""
HELPED_FILES, HELPED_BYTES = 2, 4_000_000
"""Files, new or of another size, from which starting helper processes pays."""

Parts = Iterable[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Event:
    """Progress: one file was dealt with. `done` of `total` files; `chunks` committed or waiting so far."""

    name: str
    done: int
    total: int
    chunks: int


@dataclass
class AddReport:
    """What an `add` did. Chunks `kept` were already there, unchanged; `problems` were reported and skipped."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    chunks_kept: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    version: int = 0

    @property
    def files(self) -> int:
        return self.added + self.changed + self.unchanged


@dataclass
class _Waiting:
    """A file read, chunked and embedded, waiting for its commit."""

    facts: FileFacts
    rows: Spool
    is_new: bool


class Sync:
    """One run of bringing a source (a folder or a file) into the store."""

    def __init__(
        self,
        store: ChunkStore,
        encode: Callable[[Sequence[str]], Vectors] | None,
        profile: Profile,
        on_event: Callable[[Event], None] = lambda _: None,
        triples: Reading | None = None,
    ) -> None:
        self._store = store
        self._encode = encode
        self._triples = triples
        self._profile = profile
        self._plain = encode is None and triples is None  # chunks go to the store as they are
        self._setup = Setup(profile, stored if self._plain else _itself)
        self._on_event = on_event
        self._batch = _BATCH_UNEMBEDDED if encode is None else _BATCH
        self._waiting: list[_Waiting] = []
        self._held = 0
        self.report = AddReport()

    def folder(self, root: Path, source: str, moved: bool = False) -> AddReport:
        """Make the store hold what a folder (or one file) holds: new, changed and vanished files alike."""
        self._claim(source, str(root.resolve()), moved)
        known = self._store.files(source)
        files: list[FoundFile] = []
        own = self._own_place(root)
        for found in discover(root):
            if own is not None and _is_own(found.path, own):
                continue
            if isinstance(found, Skipped):
                (self.report.problems if found.unreadable else self.report.ignored).append((found.name, found.reason))
            else:
                files.append(found)
        tasks = [_task(file, _origin(source, file.name), known) for file in files]
        with contextlib.closing(self._given(files, tasks, self._helpers(files, tasks, known))) as given:
            for done, (file, task, parts) in enumerate(zip(files, tasks, given, strict=True)):
                self._file(file, FileFacts(task.origin, source, task.known, file.size), parts, task.origin in known)
                self._on_event(Event(file.name, done + 1, len(files), self.report.chunks_added + self._held))
        self._commit()
        seen = {_origin(source, file.name) for file in files}
        blind = tuple(_origin(source, name) for name, _ in self.report.problems)
        gone = [o for o in known if o not in seen and not _under(o, blind)]
        if gone:
            with self._store.write(f"remove {len(gone)} files of {source}") as writer:
                for origin in gone:
                    writer.remove_file(origin)
            self.report.removed += len(gone)
            self.report.chunks_removed += writer.died
        self.report.version = self._store.version()
        return self.report

    def one(self, root: Path, path: Path, source: str) -> AddReport:
        """Bring one file of a known source into step (`assay watch`)."""
        origin = source if path == root else f"{source}/{plain_name(path.relative_to(root).as_posix())}"
        known = self._store.files(source).get(origin)
        found = look(path, origin)
        if isinstance(found, FoundFile):
            task = Task(path, origin, known.hash if known else "")
            facts = FileFacts(origin, source, task.known, found.size)
            self._file(found, facts, _flat(taken([task], self._setup)), known is not None)
            self._commit()
        elif isinstance(found, Skipped) and found.unreadable and not _is_gone(path):
            self.report.problems.append((found.name, found.reason))
        elif known is not None:
            with self._store.write(f"remove {origin}") as writer:
                writer.remove_file(origin)
            self.report.removed += 1
            self.report.chunks_removed += writer.died
        self.report.version = self._store.version()
        return self.report

    def documents(self, documents: Iterable[Document], source: str = RECORDS) -> AddReport:
        """Add or replace documents given as data; each is its own origin, and nothing else is removed.

        Under a name of their own their ids begin with it, so that two sources may hold the same record.
        """
        self._claim(source, "", moved=False)
        for given in documents:
            origin = f"{source}/{given.id}"
            document = given if source == RECORDS else replace(given, id=origin)
            live = self._store.live_in(origin)
            try:
                chunks = self._said(chunk_document(document, self._profile), live)
            except BadFile as error:
                self.report.problems.append((origin, f"{error.message}; cure: {error.cure}"))
                continue
            rows = list(map(stored, chunks))
            if live and {row[0]: row[-1] for row in rows} == {name: said for name, (_, said) in live.items()}:
                self.report.unchanged += 1
                self.report.chunks_kept += len(chunks)
                continue
            spool = Spool(self._store.scratch)
            self._take(spool, rows if self._plain else chunks, live)
            self._wait(FileFacts(origin, source, "", sum(len(c.text) for c in chunks)), spool, not live)
        self._commit()
        self.report.version = self._store.version()
        return self.report

    def _own_place(self, root: Path) -> Path | None:
        """A store may lie in the folder it indexes (`assay add .`); it is no document of that folder."""
        if self._store.place is None:
            return None
        store, real = self._store.place.resolve(), root.resolve()
        return Path(os.path.abspath(root)) / store.relative_to(real) if store.is_relative_to(real) else None

    def _claim(self, source: str, here: str, moved: bool) -> None:
        """A source name belongs to one folder, or to records (""): syncing another would delete the first's chunks."""
        if not source or "/" in source:
            raise StoreError(f"{source!r} cannot be a source's name", "give a name without / (--as NAME)")
        if self._store.sources().get(source) == here:
            return
        with self._store.write(f"source {source}") as writer:
            before = writer.root_of(source)  # asked again: another process may have come first
            if before not in (None, here) and not (moved and before and here):
                folder = "say that it is the same folder, moved (--moved)"
                raise StoreError(
                    f"the name {source!r} stands for {_spelt(before)} in this store, not for {_spelt(here)}",
                    f"give this one another name (--as NAME){f', or {folder}' if before and here else ''}",
                )
            writer.put_source(source, here)

    def _helpers(self, files: Sequence[FoundFile], tasks: Sequence[Task], known: Mapping[str, FileFacts]) -> int:
        """How many helper processes read these files: none for a few, nor beside a model, which needs the cores."""
        if not self._plain:
            return 0
        fresh = [f.size for f, t in zip(files, tasks, strict=True) if not t.known or known[t.origin].size != f.size]
        return workers() if len(fresh) >= HELPED_FILES and sum(fresh) >= HELPED_BYTES else 0

    def _given(self, files: Sequence[FoundFile], tasks: Sequence[Task], helpers: int) -> Generator[Parts, None, None]:
        """What each file gives, in the order of the files."""
        done = 0
        if helpers:
            with contextlib.suppress(NoHelpers):  # then what is left is done here
                groups = grouped(tasks, [file.size for file in files])
                with Crew("assay.ingest.worker", self._setup, groups, helpers) as crew:
                    for group, parts in zip(groups, crew, strict=True):
                        yield from self._of_group(group, parts)
                        done += len(group)
        for task in tasks[done:]:
            yield _flat(taken([task], self._setup))

    def _of_group(self, group: Sequence[Task], parts: Iterator[list[Given]]) -> Iterator[Parts]:
        """What each file of a group gives; a file that is a group of its own may be large and is passed on as it
        comes."""
        if len(group) == 1:
            yield _flat(parts)
            return
        try:
            events = [event for part in parts for event in part]
        except Crashed:  # over one of them: alone, each shows whether it was the one
            with Crew("assay.ingest.worker", self._setup, [[task] for task in group], 1) as crew:
                yield from map(_flat, crew)
            return
        for _, of_one in groupby(events, itemgetter(0)):
            yield _flat([list(of_one)])

    def _file(self, file: FoundFile, before: FileFacts, parts: Parts, is_known: bool) -> None:
        """Take in one file, whole, or say why not; `before` has the hash it had when last taken in."""
        spool = Spool(self._store.scratch)
        facts, live = before, dict[str, tuple[int, bytes]]()
        problem = ""
        try:
            for kind, said in parts:
                if kind == "problem":
                    problem = said
                elif kind == "chunks":
                    self._take(spool, said if self._plain else self._said(said, live), live)
                elif is_known and said == before.hash:
                    self.report.unchanged += 1
                    return
                else:
                    facts = replace(before, hash=said)
                    live = self._store.live_in(before.origin) if is_known else {}
        except Crashed:
            problem = "its reader crashed; cure: open and re-save it"
        except BadFile as error:
            problem = f"{error.message}; cure: {error.cure}"
        if problem:
            spool.close()
            self.report.problems.append((file.name, problem))
        else:
            self._wait(facts, spool, not is_known)

    def _said(self, chunks: Sequence[Chunk], live: Mapping[str, tuple[int, bytes]]) -> Sequence[Chunk]:
        """Chunks with what they say; what the store knows of one that stayed as it was is not asked again."""
        if self._triples is None:
            return chunks
        stayed = [live[chunk.id][0] for chunk in chunks if chunk.id in live]
        known = {row.chunk.id: row.chunk.meta for row in self._store.rows(stayed)}
        return [self._triples(chunk, known.get(chunk.id, {})) for chunk in chunks]

    def _take(self, spool: Spool, made: Sequence[Any], live: dict[str, tuple[int, bytes]]) -> None:
        """Put rows, or chunks to be embedded, into a spool; those unchanged in the store keep the vector they have."""
        if self._plain:
            spool.rows += made
        elif self._encode is None:
            spool.rows += map(stored, made)
        else:
            for chunk in made:
                row = stored(chunk)
                if live.get(chunk.id, (0, b""))[1] != row[-1]:
                    spool.wanting.append((len(spool.rows), chunk.indexed_text))
                spool.rows.append(row)
        spool.size += len(made)
        if len(spool.wanting) >= _BATCH or spool.is_long:
            self._embed([spool])
        spool.spill()

    def _embed(self, spools: Sequence[Spool]) -> None:
        """Make the vectors that are still wanted, those of many small files together: that keeps every core busy."""
        wanted = [(spool, place, text) for spool in spools for place, text in spool.wanting]
        for start in range(0, len(wanted), _BATCH):
            part = wanted[start : start + _BATCH]
            assert self._encode is not None
            made = self._encode([text for _, _, text in part])
            for (spool, place, _), vector in zip(part, made, strict=True):
                spool.vectors[place] = vector
        for spool in spools:
            spool.wanting.clear()

    def _wait(self, facts: FileFacts, rows: Spool, is_new: bool) -> None:
        self._waiting.append(_Waiting(facts, rows, is_new))
        self._held += rows.size
        if self._held >= self._batch:
            self._commit()

    def _commit(self) -> None:
        """Write what waits in one transaction; only then is it acknowledged in the report."""
        if not self._waiting:
            return
        waiting, self._waiting, self._held = self._waiting, [], 0
        self._embed([one.rows for one in waiting])
        try:
            self._write(waiting)
        except (
            RefusedWrite
        ):  # because of one of them, e.g. an id that another file has; the others must not suffer for it
            for one in waiting:
                try:
                    self._write([one])
                except RefusedWrite as error:
                    self.report.problems.append((one.facts.origin, f"{error.message}; cure: {error.cure}"))

    def _write(self, waiting: Sequence[_Waiting]) -> None:
        names = waiting[0].facts.origin if len(waiting) == 1 else f"{len(waiting)} files"
        with self._store.write(f"add {names}") as writer:
            for one in waiting:
                writer.put_file(one.facts, one.rows)
        for one in waiting:
            one.rows.close()
        self.report.added += sum(one.is_new for one in waiting)
        self.report.changed += sum(not one.is_new for one in waiting)
        self.report.chunks_added += writer.born
        self.report.chunks_removed += writer.died
        self.report.chunks_kept += writer.kept


def _itself(chunk: Chunk) -> Chunk:
    """What becomes of a chunk whose text is still to be embedded."""
    return chunk


def _flat(parts: Iterable[list[Given]]) -> Parts:
    """What one file gives, without its number."""
    return ((kind, said) for part in parts for _, kind, said in part)


def _task(file: FoundFile, origin: str, known: Mapping[str, FileFacts]) -> Task:
    return Task(file.path, origin, known[origin].hash if origin in known else "")


def _origin(source: str, name: str) -> str:
    """The document id of a found file: its name with the source's name in place of the folder's own."""
    _, slash, inside = name.partition("/")
    return f"{source}{slash}{inside}"


def _under(origin: str, blind: tuple[str, ...]) -> bool:
    """Is a file inside a place we could not look into? Then its absence means nothing."""
    return any(origin == place or origin.startswith(f"{place}/") for place in blind)


def _is_own(path: Path, own: Path) -> bool:
    """Is this the store, inside it, or the journal of one that is a single file?"""
    beside = path.parent == own.parent and path.name.removeprefix(own.name) in ("-wal", "-shm", "-journal")
    return beside or own in (path, *path.parents)


def _is_gone(path: Path) -> bool:
    """Does nothing have this name any more? What merely cannot be read is still there."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _spelt(root: str | None) -> str:
    return root or "records given as data"


def default_source(root: Path) -> str:
    """A folder's own name, or a file's."""
    name = root.resolve().name
    if not name:
        raise AssayError(f"{root} has no name to call its documents by", "give one: --as NAME")
    return name
