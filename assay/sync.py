"""Keeping a store in step with files: find, read, chunk, embed, commit; a file is taken whole or not at all."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from assay.errors import AssayError, BadFile, MissingExtra, StoreError
from assay.ingest.chunk import Profile, chunk_document
from assay.ingest.walk import FoundFile, Skipped, content_hash, discover, look, plain_name, read_file
from assay.store.sqlite import FileFacts, Store, facts_of
from assay.types import Chunk, Document, Vector, Vectors

_BATCH = 512
"""Chunks embedded and committed together: a killed run loses at most these, and has not acknowledged them."""
_BATCH_UNEMBEDDED = 8_192
_IN_MEMORY = 16_384
"""Chunks of one file held in memory; a larger file waits for its commit on disk."""

Pair = tuple[Chunk, Vector | None]


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
    pairs: Iterable[Pair]
    size: int
    is_new: bool


class Sync:
    """One run of bringing a source (a folder or a file) into the store."""

    def __init__(
        self,
        store: Store,
        encode: Callable[[Sequence[str]], Vectors] | None,
        profile: Profile,
        on_event: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._encode = encode
        self._profile = profile
        self._on_event = on_event
        self._batch = _BATCH_UNEMBEDDED if encode is None else _BATCH
        self._waiting: list[_Waiting] = []
        self._held = 0
        self.report = AddReport()

    def folder(self, root: Path, source: str, moved: bool = False) -> AddReport:
        """Make the store hold what a folder (or one file) holds: new, changed and vanished files alike."""
        self._claim(source, root, moved)
        known = self._store.files(source)
        files: list[FoundFile] = []
        for found in discover(root):
            if self._inside_store(found.path):
                continue
            if isinstance(found, Skipped):
                (self.report.problems if found.unreadable else self.report.ignored).append((found.name, found.reason))
            else:
                files.append(found)
        for done, file in enumerate(files):
            origin = _origin(source, file.name)
            self._file(file, origin, source, known.get(origin))
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
            self._file(found, origin, source, known)
            self._commit()
        elif known is not None:
            with self._store.write(f"remove {origin}") as writer:
                writer.remove_file(origin)
            self.report.removed += 1
            self.report.chunks_removed += writer.died
        self.report.version = self._store.version()
        return self.report

    def documents(self, documents: Iterable[Document], source: str) -> AddReport:
        """Add or replace documents given as data; each is its own origin, and nothing else is removed."""
        for document in documents:
            origin = f"{source}/{document.id}"
            chunks = chunk_document(document, self._profile)
            live = self._store.live_in(origin)
            if {c.id: facts_of(c) for c in chunks} == {name: said for name, (_, said) in live.items()} and live:
                self.report.unchanged += 1
                self.report.chunks_kept += len(chunks)
                continue
            facts = FileFacts(origin, source, "", sum(len(c.text) for c in chunks))
            self._wait(facts, self._embedded(chunks, live), len(chunks), not live)
        self._commit()
        self.report.version = self._store.version()
        return self.report

    def _inside_store(self, path: Path) -> bool:
        """A store may lie in the folder it indexes (`assay add .`); it is no document of that folder."""
        return self._store.folder.resolve() in path.resolve().parents

    def _claim(self, source: str, root: Path, moved: bool) -> None:
        """A source name belongs to one folder: syncing another into it would delete the first one's chunks."""
        before = self._store.sources().get(source)
        here = str(root.resolve())
        if before is not None and before != here and not moved:
            raise StoreError(
                f"the name {source!r} stands for {before} in this store, not for {here}",
                "give this one another name (--as NAME), or say that it is the same folder, moved (--moved)",
            )
        if before != here:
            with self._store.write(f"source {source}") as writer:
                writer.put_source(source, here)

    def _file(self, file: FoundFile, origin: str, source: str, known: FileFacts | None) -> None:
        try:
            facts = FileFacts(origin, source, content_hash(file.path), file.size)
            if known is not None and known.hash == facts.hash:
                self.report.unchanged += 1
                return
            live = self._store.live_in(origin) if known is not None else {}
            pairs, size = self._read(file, origin, live)
        except (BadFile, MissingExtra) as error:
            self.report.problems.append((file.name, str(error).replace("\n  cure:", "; cure:")))
            return
        except OSError as error:
            self.report.problems.append((file.name, f"cannot be read: {error.strerror or error}"))
            return
        self._wait(facts, pairs, size, known is None)

    def _read(self, file: FoundFile, origin: str, live: dict[str, tuple[int, bytes]]) -> tuple[Iterable[Pair], int]:
        """All chunks of a file with their vectors, in memory when few, on disk when many."""
        spool = _Spool(self._store.folder)
        slice_: list[Chunk] = []
        for document in read_file(file.path, origin):
            slice_ += chunk_document(document, self._profile)
            if len(slice_) >= _BATCH_UNEMBEDDED:
                spool.extend(self._embedded(slice_, live))
                slice_ = []
        spool.extend(self._embedded(slice_, live))
        return spool, spool.size

    def _embedded(self, chunks: Sequence[Chunk], live: dict[str, tuple[int, bytes]]) -> list[Pair]:
        """Chunks with vectors; those already in the store, unchanged, keep the vector they have there."""
        if self._encode is None:
            return [(chunk, None) for chunk in chunks]
        fresh = [c for c in chunks if live.get(c.id, (0, b""))[1] != facts_of(c)]
        vectors: dict[str, Vector] = {}
        for start in range(0, len(fresh), _BATCH):
            part = fresh[start : start + _BATCH]
            made = self._encode([chunk.indexed_text for chunk in part])
            vectors.update((chunk.id, vector) for chunk, vector in zip(part, made, strict=True))
        return [(chunk, vectors.get(chunk.id)) for chunk in chunks]

    def _wait(self, facts: FileFacts, pairs: Iterable[Pair], size: int, is_new: bool) -> None:
        self._waiting.append(_Waiting(facts, pairs, size, is_new))
        self._held += size
        if self._held >= self._batch:
            self._commit()

    def _commit(self) -> None:
        """Write what waits in one transaction; only then is it acknowledged in the report."""
        if not self._waiting:
            return
        names = self._waiting[0].facts.origin if len(self._waiting) == 1 else f"{len(self._waiting)} files"
        with self._store.write(f"add {names}") as writer:
            for waiting in self._waiting:
                writer.put_file(waiting.facts, waiting.pairs)
        self.report.added += sum(w.is_new for w in self._waiting)
        self.report.changed += sum(not w.is_new for w in self._waiting)
        self.report.chunks_added += writer.born
        self.report.chunks_removed += writer.died
        self.report.chunks_kept += writer.kept
        self._waiting, self._held = [], 0


class _Spool:
    """Pairs in memory up to a bound, then in a temporary file that vanishes with the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._memory: list[Pair] = []
        self._file: IO[bytes] | None = None
        self.size = 0

    def extend(self, pairs: list[Pair]) -> None:
        self.size += len(pairs)
        self._memory += pairs
        if len(self._memory) > _IN_MEMORY:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - lives as long as the spool
            pickle.dump(self._memory, self._file, pickle.HIGHEST_PROTOCOL)
            self._memory = []

    def __iter__(self) -> Iterator[Pair]:
        if self._file is not None:
            self._file.seek(0)
            while True:
                try:
                    yield from pickle.load(self._file)
                except EOFError:
                    break
        yield from self._memory


def _origin(source: str, name: str) -> str:
    """The document id of a found file: its name with the source's name in place of the folder's own."""
    _, slash, inside = name.partition("/")
    return f"{source}{slash}{inside}"


def _under(origin: str, blind: tuple[str, ...]) -> bool:
    """Is a file inside a place we could not look into? Then its absence means nothing."""
    return any(origin == place or origin.startswith(f"{place}/") for place in blind)


def default_source(root: Path) -> str:
    """A folder's own name, or a file's."""
    name = root.resolve().name
    if not name:
        raise AssayError(f"{root} has no name to call its documents by", "give one: --as NAME")
    return name
