"""Keeps a store in step with files: find, read, chunk, embed, commit. A file is stored whole or not at all, except
that a long one is committed in parts: if the run is interrupted, the next one reads the file again, finds those parts
and embeds only the rest.

Without embedding, reading and chunking dominate, so worker processes read a larger folder (`util.worker_pool`). Their
results are taken in the order of the files, so the store is the same either way. A foreign format is always parsed in a
worker process, under limits (`ingest.file_reader`), unless ASSAY_WORKERS is 0.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import BadFile, Reason, StoreError
from assay.ingest.add_report import AddReport, Event
from assay.ingest.chunk_worker import ChunkSetup, FileTask
from assay.ingest.chunker import Profile, chunk_document
from assay.ingest.discovery import FoundFile, SkippedFile, classify_path, discover, normalise_name
from assay.ingest.file_reader import FileEvents, read_files
from assay.ingest.folder_part import WHOLE, FolderPart
from assay.ingest.ignore_rules import reason_along
from assay.ingest.listing import discover_listed
from assay.ingest.origins import is_gone, is_store_file, is_under, origin_of
from assay.ingest.readers import READERS
from assay.ingest.triples import ChunkAnnotator
from assay.store.contract import ChunkStore
from assay.store.rows import FileState, encode_row
from assay.store.spool import Spool
from assay.store.validation import RefusedWrite
from assay.types import Chunk, Document, Vectors
from assay.util.worker_pool import count_workers

_BATCH = 512
"""Chunks embedded and committed together: a killed run loses at most these, and has not acknowledged them."""
_BATCH_UNEMBEDDED = 8_192
_PART = 512
"""Chunks of one file that are committed together when it has more. Later parts are an eighth of what is committed,
since each compares itself with it, up to `_LONGEST_PART`."""
_LONGEST_PART = 8_192
RECORDS = "records"
"""The name of records that are added without one."""
WORKER_FILES, WORKER_BYTES = 2, 4_000_000
"""New or resized files, and their bytes, from which starting worker processes pays."""


@dataclass
class _PendingFile:
    """A file that is read and chunked, and waits for its commit."""

    facts: FileState
    rows: Spool
    is_new: bool


class Sync:
    """One run of bringing a folder, a file or records into the store."""

    def __init__(
        self,
        store: ChunkStore,
        encode: Callable[[Sequence[str]], Vectors] | None,
        profile: Profile,
        on_event: Callable[[Event], None] = lambda _: None,
        triples: ChunkAnnotator | None = None,
    ) -> None:
        self._store = store
        self._encode = encode
        self._triples = triples
        self._profile = profile
        self._plain = encode is None and triples is None  # chunks go to the store as they are
        self._setup = ChunkSetup(profile, encode_row if self._plain else _identity)
        self._on_event = on_event
        self._batch = _BATCH_UNEMBEDDED if encode is None else _BATCH
        self._part = _BATCH_UNEMBEDDED * 2 if encode is None else _PART
        self._state = Event("", 0, 0, 0)
        self._pending: list[_PendingFile] = []
        self._pending_chunks = 0
        self.report = AddReport()

    def add_folder(
        self,
        root: Path,
        name: str,
        moved: bool = False,
        exclude: Sequence[str] = (),
        part: FolderPart = WHOLE,
        listed: Iterable[str] | None = None,
    ) -> AddReport:
        """Make the store hold what a folder (or one file) holds: new, changed and vanished files alike. Files that
        match a pattern of `exclude`, or of an .assayignore file, are passed over, those of other parts left alone.
        Of `listed` names, which may be some of the folder's, new and changed files are added; nothing is removed."""
        self._claim(name, str(root.resolve()), moved)
        known = self._store.files(name)
        files: list[FoundFile] = []
        own = self._store_place(root)
        if listed is None:
            candidates = discover(root, exclude)
        else:
            candidates = discover_listed(root, listed, exclude, lambda found: part.holds(origin_of(name, found)))
        for found in candidates:
            if own is not None and is_store_file(found.path, own):
                continue
            if listed is None and not part.holds(origin_of(name, found.name)):
                continue
            if isinstance(found, SkippedFile):
                self._pass_over(found, origin_of(name, found.name) in known)
            else:
                files.append(found)
        tasks = [_task(file, origin_of(name, file.name), known) for file in files]
        sizes = [file.size for file in files]
        workers = self._worker_count(files, tasks, known)
        with contextlib.closing(read_files(tasks, sizes, self._setup, workers)) as contents:
            for done, (file, task, events) in enumerate(zip(files, tasks, contents, strict=True)):
                self._state = Event(file.name, done, len(files), 0)
                self._add_file(file, FileState(task.origin, name, task.known, file.size), events, task.origin in known)
                self._show_progress(finished=1)
        self._commit()
        seen = {origin_of(name, file.name) for file in files}
        unreadable = tuple(origin_of(name, problem) for problem, _ in self.report.problems)
        gone = [o for o in known if part.holds(o) and o not in seen and not is_under(o, unreadable)]
        if gone and listed is None:
            with self._store.write(f"remove {len(gone)} files of {name}") as writer:
                for origin in gone:
                    writer.remove_file(origin)
            self.report.removed += len(gone)
            self.report.chunks_removed += writer.deleted
        self.report.version = self._store.version()
        return self.report

    def _show_progress(self, finished: int = 0, unqueued: int = 0) -> None:
        """Report the file under way; `unqueued` are its chunks so far."""
        chunks = self.report.chunks_added + self._pending_chunks + unqueued
        self._on_event(replace(self._state, done=self._state.done + finished, chunks=chunks))

    def _pass_over(self, file: SkippedFile, is_known: bool) -> None:
        """Report a file that is not read: a problem where it should have been, else one that was ignored. A known file
        that became a link in a circle may still be there, so its chunks stay."""
        if file.unreadable or (file.is_loop and is_known):
            self.report.problems.append((file.name, Reason(file.reason)))
        else:
            self.report.ignored.append((file.name, file.reason))

    def one(self, root: Path, path: Path, folder: str) -> AddReport:
        """Bring one file of a known folder into step (`assay watch`)."""
        origin = folder if path == root else f"{folder}/{normalise_name(path.relative_to(root).as_posix())}"
        known = self._store.files(folder).get(origin)
        why = reason_along(root, path)
        found = SkippedFile(path, origin, why) if why else classify_path(path, origin, root.resolve())
        if isinstance(found, FoundFile):
            self._add_alone(found, path, origin, folder, known)
        elif isinstance(found, SkippedFile) and (found.unreadable or found.is_loop) and not is_gone(path):
            self.report.problems.append((found.name, Reason(found.reason)))
        elif known is not None:
            with self._store.write(f"remove {origin}") as writer:
                writer.remove_file(origin)
            self.report.removed += 1
            self.report.chunks_removed += writer.deleted
        self.report.version = self._store.version()
        return self.report

    def upload(self, path: Path, name: str, folder: str) -> AddReport:
        """Add or replace one file under a name of its own in a folder of records: `path` is where it lies just now."""
        self._claim(folder, "", moved=False)
        origin = f"{folder}/{normalise_name(name)}"
        known = self._store.files(folder).get(origin)
        found = classify_path(path, name, path.parent.resolve())
        if isinstance(found, FoundFile):
            self._add_alone(found, path, origin, folder, known)
            self._on_event(Event(origin, 1, 1, self.report.chunks_added))
        else:
            why = found.reason if isinstance(found, SkippedFile) else "it is no file that can be read"
            self.report.problems.append((name, Reason(why, f"readable are files ending in {', '.join(READERS)}")))
        self.report.version = self._store.version()
        return self.report

    def _add_alone(self, found: FoundFile, path: Path, origin: str, folder: str, known: FileState | None) -> None:
        """Read one file and write it at once."""
        task = FileTask(path, origin, known.hash if known else "")
        facts = FileState(origin, folder, task.known, found.size)
        for events in read_files([task], [found.size], self._setup):
            self._add_file(found, facts, events, known is not None)
        self._commit()

    def documents(self, documents: Iterable[Document], folder: str = RECORDS) -> AddReport:
        """Add or replace documents given as data; each is its own origin, and nothing else is removed.

        Under a name of their own their ids begin with it, so that two names may hold the same record.
        """
        self._claim(folder, "", moved=False)
        for record in documents:
            origin = f"{folder}/{record.id}"
            document = record if folder == RECORDS else replace(record, id=origin)
            live = self._store.live_chunks_of(origin)
            try:
                chunks = self._annotate(chunk_document(document, self._profile), live)
            except BadFile as error:
                self.report.problems.append((origin, error.reason))
                continue
            rows = list(map(encode_row, chunks))
            if live and {row[0]: row[-1] for row in rows} == {name: digest for name, (_, digest) in live.items()}:
                self.report.unchanged += 1
                self.report.chunks_kept += len(chunks)
                continue
            spool = Spool(self._store.scratch)
            self._fill(spool, rows if self._plain else chunks, live)
            self._queue(FileState(origin, folder, "", sum(len(c.text) for c in chunks)), spool, not live)
        self._commit()
        self.report.version = self._store.version()
        return self.report

    def _store_place(self, root: Path) -> Path | None:
        """A store may lie in the folder it indexes (`assay add .`); it is no document of that folder."""
        if self._store.place is None:
            return None
        store, real = self._store.place.resolve(), root.resolve()
        return Path(os.path.abspath(root)) / store.relative_to(real) if store.is_relative_to(real) else None

    def _claim(self, name: str, path: str, moved: bool) -> None:
        """A name stands for one folder, or for records (""): syncing another would delete the first's chunks."""
        if not name or "/" in name:
            raise StoreError(f"{name!r} cannot be a folder's name", "give a name without / (--as NAME)")
        if self._store.folders().get(name) == path:
            return
        with self._store.write(f"source {name}") as writer:
            before = writer.folder_root(name)  # read again: another process may have been faster
            if before not in (None, path) and not (moved and before and path):
                same = "say that it is the same folder, moved (--moved)"
                raise StoreError(
                    f"the name {name!r} stands for {_describe(before)} in this store, not for {_describe(path)}",
                    f"give this one another name (--as NAME){f', or {same}' if before and path else ''}",
                )
            writer.put_folder(name, path)

    def _worker_count(
        self, files: Sequence[FoundFile], tasks: Sequence[FileTask], known: Mapping[str, FileState]
    ) -> int:
        """How many worker processes read these files: none for a few, and none beside a model, which needs the
        cores."""
        if not self._plain:
            return 0
        fresh = [f.size for f, t in zip(files, tasks, strict=True) if not t.known or known[t.origin].size != f.size]
        return count_workers() if len(fresh) >= WORKER_FILES and sum(fresh) >= WORKER_BYTES else 0

    def _add_file(self, file: FoundFile, before: FileState, events: FileEvents, is_known: bool) -> None:
        """Queue one file, whole, or report why not; `before` has the hash of its last version."""
        spool = Spool(self._store.scratch)
        facts, live = before, dict[str, tuple[int, bytes]]()
        problem: Reason | None = None
        warnings: list[str] = []
        try:
            for kind, content in events:
                if kind == "problem":
                    problem = content
                elif kind == "warning":
                    warnings.append(content)
                elif kind == "chunks":
                    self._fill(spool, content if self._plain else self._annotate(content, live), live, before)
                elif is_known and content == before.hash:
                    self.report.unchanged += 1
                    return
                else:
                    facts = replace(before, hash=content)
                    live = self._store.live_chunks_of(before.origin) if is_known else {}
        except BadFile as error:
            problem = error.reason
        if problem:
            spool.close()
            self._undo_parts(before.origin, spool, live, is_known)
            self.report.problems.append((file.name, problem))
        else:
            self.report.warnings += [(file.name, warning) for warning in warnings]
            self._queue(facts, spool, not is_known)

    def _undo_parts(self, origin: str, spool: Spool, live: Mapping[str, Any], is_known: bool) -> None:
        """Take back the committed parts of a file that turned out unreadable; what the store had before stays."""
        new = [name for name in spool.committed if name not in live]
        if not new:
            return
        with self._store.write(f"take back {origin}") as writer:
            if is_known:
                for name in new:
                    writer.remove_chunk(name)
            else:
                writer.remove_file(origin)
        self.report.chunks_removed += writer.deleted

    def _annotate(self, chunks: Sequence[Chunk], live: Mapping[str, tuple[int, bytes]]) -> Sequence[Chunk]:
        """Chunks with their triples; those of unchanged chunks come from the store."""
        if self._triples is None:
            return chunks
        unchanged = [live[chunk.id][0] for chunk in chunks if chunk.id in live]
        known = {row.chunk.id: row.chunk.meta for row in self._store.rows(unchanged)}
        return [self._triples(chunk, known.get(chunk.id, {})) for chunk in chunks]

    def _fill(
        self,
        spool: Spool,
        chunks: Sequence[Any],
        live: dict[str, tuple[int, bytes]],
        file: FileState | None = None,
    ) -> None:
        """Put rows, or chunks to be embedded, into a spool; chunks unchanged in the store keep their vectors. A long
        `file` is committed in parts."""
        if self._plain:
            spool.rows += chunks
        elif self._encode is None:
            spool.rows += map(encode_row, chunks)
        else:
            for chunk in chunks:
                row = encode_row(chunk)
                if live.get(chunk.id, (0, b""))[1] != row[-1]:
                    spool.unembedded.append((len(spool.rows), chunk.indexed_text))
                spool.rows.append(row)
        spool.size += len(chunks)
        if len(spool.unembedded) >= _BATCH or spool.is_full:
            self._embed([spool])
        elif self._encode is None and spool.size // _BATCH > (spool.size - len(chunks)) // _BATCH:
            self._show_progress(unqueued=spool.size - spool.inserted)
        part = max(self._part, min(len(spool.committed) // 8, _LONGEST_PART))
        if file is not None and not spool.unembedded and spool.count_uncommitted() >= part:
            self._commit_part(file, spool)
        spool.spill()

    def _commit_part(self, file: FileState, spool: Spool) -> None:
        """Commit the rows of a long file that have come since its last part. Its hash stays empty until the file is
        whole, so an interrupted run is taken up by the next one."""
        rows = spool.uncommitted()
        with contextlib.suppress(RefusedWrite):  # reported when the whole file is written
            with self._store.write(f"add part of {file.origin}") as writer:
                writer.put_file(replace(file, hash=""), rows, partial=True)
            spool.committed += [row[0] for row, _ in rows]
            spool.inserted += writer.inserted
            self.report.chunks_added += writer.inserted
            self.report.chunks_removed += writer.deleted
        spool.mark_committed()

    def _embed(self, spools: Sequence[Spool]) -> None:
        """Embed the texts that still need vectors, those of many small files together: that keeps every core busy."""
        wanted = [(spool, place, text) for spool in spools for place, text in spool.unembedded]
        for start in range(0, len(wanted), _BATCH):
            part = wanted[start : start + _BATCH]
            assert self._encode is not None
            vectors = self._encode([text for _, _, text in part])
            for (spool, place, _), vector in zip(part, vectors, strict=True):
                spool.vectors[place] = vector
            self._show_progress(unqueued=sum(spool.size - spool.inserted for spool in spools))
        for spool in spools:
            spool.unembedded.clear()

    def _queue(self, facts: FileState, rows: Spool, is_new: bool) -> None:
        self._pending.append(_PendingFile(facts, rows, is_new))
        self._pending_chunks += rows.size - rows.inserted
        if self._pending_chunks >= self._batch:
            self._commit()

    def _commit(self) -> None:
        """Write the pending files in one transaction; only then does the report count them."""
        if not self._pending:
            return
        pending, self._pending, self._pending_chunks = self._pending, [], 0
        self._embed([one.rows for one in pending])
        try:
            self._write(pending)
        except RefusedWrite:  # one of them is to blame, e.g. an id that another file has: write them one by one
            for one in pending:
                try:
                    self._write([one])
                except RefusedWrite as error:
                    self.report.problems.append((one.facts.origin, error.reason))

    def _write(self, pending: Sequence[_PendingFile]) -> None:
        names = pending[0].facts.origin if len(pending) == 1 else f"{len(pending)} files"
        with self._store.write(f"add {names}") as writer:
            for one in pending:
                writer.put_file(one.facts, one.rows)
        for one in pending:
            one.rows.close()
        self.report.added += sum(one.is_new for one in pending)
        self.report.changed += sum(not one.is_new for one in pending)
        self.report.chunks_added += writer.inserted
        self.report.chunks_removed += writer.deleted
        self.report.chunks_kept += writer.unchanged - sum(one.rows.inserted for one in pending)


def _identity(chunk: Chunk) -> Chunk:
    """Keeps a chunk as it is: its text is still to be embedded. A named function, because workers pickle it."""
    return chunk


def _task(file: FoundFile, origin: str, known: Mapping[str, FileState]) -> FileTask:
    return FileTask(file.path, origin, known[origin].hash if origin in known else "")


def _describe(root: str | None) -> str:
    return root or "records given as data"
