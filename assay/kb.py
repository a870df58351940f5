"""A knowledge base: open, add, search, explain. The edge where files, clocks and models meet the engine."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from assay import embed
from assay.backend.addresses import hidden, open_backend, place_of
from assay.backend.contract import NO_GRAPH, GraphBackend, StoreBackend, StoreSnapshot
from assay.config.resolve import resolve
from assay.embed.cache import CachedEmbedder
from assay.embed.languages import ENGLISH_MODELS, FOREIGN_SHARE
from assay.engine.answer import Answer, ChunkStep
from assay.engine.deadline_executor import DeadlineKeeper
from assay.engine.foreign_chunks import base_snapshot
from assay.engine.missing_reasons import reasons
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError, ConfigError, ModelError, StoreError, nearest
from assay.ingest.chunk import PROFILES, Profile
from assay.ingest.dates import parse_moment
from assay.ingest.records import document_from
from assay.ingest.triples import reading
from assay.protocols import Embedder, Executor
from assay.store.contract import ChunkStore
from assay.sync import RECORDS, AddReport, Event, Sync, default_source
from assay.text.analyse import Analyser
from assay.text.fold import askable
from assay.types import Chunk, Progress, Query, Vector, Vectors
from assay.upkeep.annotate import annotate
from assay.upkeep.export import exported
from assay.upkeep.reembed import fill, move
from assay.util.closing import Closing
from assay.where import Filter, parse

_LOOKED_AT = 20
"""Ids that begin alike, at most, before we say that there are more."""


def open(
    path: str | Path,
    *,
    embedder: str = "auto",
    language: str = "english",
    profile: str = "default",
    triples: str = "none",
    create: bool = True,
) -> KnowledgeBase:
    """Open the knowledge base at an address, making it when it is not there yet: a folder, one file (`notes.sqlite`),
    or another backend's (see `assay.backend.addresses`).

    `embedder`, `language`, `profile` and `triples` are chosen when a store is made and remembered by it; for an
    existing store they are left at their defaults, or must say the same. "auto" is the local model where it is
    installed, else none: words only, and every answer says so. `triples` names who reads them out of every chunk for
    the graph (docs/graph.md).
    """
    place, address = place_of(path)
    if place.exists(address):
        kb = KnowledgeBase(place.open(address), path)
        try:
            kb.check_settings(embedder, language, profile, triples)
        except StoreError:
            kb.close()
            raise
        return kb
    if not create:
        said = hidden(str(path))
        raise StoreError(f"there is no store at {said}", f"make one: assay add ./my-docs --store {said}")
    if profile not in PROFILES:
        raise ConfigError(f"there is no chunking profile {profile!r}", nearest(profile, PROFILES))
    analyser = Analyser(language=language)
    if place.no_vectors and embedder not in ("auto", "none"):
        what, _, cure = place.no_vectors.partition("; cure: ")
        raise ConfigError(f"{path} cannot hold vectors of {embedder}: {what}", cure)
    spec = "none" if place.no_vectors else embed.default_spec() if embedder == "auto" else embedder
    model = embed.load(spec)
    settings = {
        "embedder": spec,
        "model": model.digest if model else "",
        "dim": model.dim if model else 0,
        "language": analyser.language,
        "profile": profile,
        **({} if reading(triples) is None else {"triples": triples}),
    }
    return KnowledgeBase(place.create(address, settings), path)


@dataclass(frozen=True)
class Explanation:
    """Why a chunk stands where it stands, or why it is not there at all."""

    answer: Answer
    chunk: Chunk | None
    rank: int | None
    passages: tuple[ChunkStep, ...]
    reasons: tuple[str, ...]


class KnowledgeBase(Closing):
    """One store with its indexes and model. Safe to share between threads; use as a context manager or close it."""

    def __init__(self, backend: StoreBackend, address: str | Path) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._compactor: threading.Thread | None = None
        self._deadlines = DeadlineKeeper(time.monotonic)
        self._attach(backend)

    def _attach(self, backend: StoreBackend) -> None:
        """Take a store's settings as they are now."""
        self.backend = backend
        settings = self.store.settings
        self.spec: str = settings["embedder"]
        self.language: str = settings["language"]
        self.triples: str = settings.get("triples", "none")
        if settings["profile"] not in PROFILES:
            raise ConfigError(f"this store has the chunking profile {settings['profile']!r}", nearest("", PROFILES))
        self.profile: Profile = PROFILES[settings["profile"]]
        self._embedder: Embedder | None = None

    @property
    def store(self) -> ChunkStore:
        """The record of truth."""
        return self.backend.store

    def close(self) -> None:
        if self._compactor is not None:
            self._compactor.join()
        self._deadlines.close()
        self.backend.close()

    def check_settings(self, embedder: str, language: str, profile: str, triples: str = "none") -> None:
        """Refuse to open a store under other settings than it was made with."""
        anew = "make a new store with it"
        move = anew if embedder == "none" else f"move it: assay reembed --embedder {embedder}"
        asked = {
            "embedder": (embedder, self.spec, "auto", self.backend.no_vectors.partition("; cure: ")[2] or move),
            "language": (language, self.language, "english", anew),
            "profile": (profile, self.profile.name, "default", anew),
            "triples": (triples, self.triples, "none", f"read them: assay optimize --triples {triples}"),
        }
        for name, (wanted, made, unsaid, cure) in asked.items():
            if wanted not in (made, unsaid):
                raise StoreError(
                    f"this store was made with {name} {made!r}, not {wanted!r}", f"leave {name} out, or {cure}"
                )

    @property
    def embedder(self) -> Embedder | None:
        """The store's model, loaded when first needed; None for a store without vectors. May raise ModelError."""
        with self._lock:
            if self._embedder is None and self.store.settings["dim"]:
                model = embed.load(self.spec)
                made_with = self.store.settings["model"]
                if model is None or model.digest != made_with:
                    raise ModelError(
                        f"this store's vectors were made with {self.spec} {made_with[:12]}; "
                        f"the model here is {model.digest[:12] if model else 'none'}",
                        "install that model, or move to this one: assay reembed",
                    )
                self._embedder = CachedEmbedder(model)
            return self._embedder

    def _encode(self, texts: Sequence[str]) -> Vectors:
        return self._needed_model().encode(texts)

    def _embed_query(self, text: str) -> Vector:
        return self._needed_model().encode_query(text)

    def _needed_model(self) -> Embedder:
        if self.embedder is None:
            raise ModelError("this store was made without an embedding model", "assay optimize --embed")
        return self.embedder

    # -- writing

    def add(
        self,
        what: str | Path | Iterable[Mapping[str, Any] | str],
        *,
        name: str | None = None,
        moved: bool = False,
        on_event: Callable[[Event], None] = lambda _: None,
        compact: bool = True,
    ) -> AddReport:
        """Bring a folder, a file, or records into the store; what is already there, unchanged, costs nothing.

        A folder is kept in step as a whole: files that vanished from it vanish from the store. Records are
        mappings with `text` (and `id`, `title`, `created`, `importance`, any metadata) or plain strings.
        `compact=False` leaves the index to a later `optimize`.
        """
        sync = self.sync(on_event)
        if isinstance(what, str | Path):
            root = Path(what)
            if not root.exists():
                raise StoreError(f"{root} does not exist", "name a folder or a file that is there")
            report = sync.folder(root, name or default_source(root), moved)
        else:
            records = ({"text": r} if isinstance(r, str) else r for r in what)
            report = sync.documents((document_from(r) for r in records), name or RECORDS)
        if compact:
            self.compact_soon()
        return report

    def sync(self, on_event: Callable[[Event], None] = lambda _: None) -> Sync:
        """A run of bringing things into this store, with its model (loaded once something needs embedding) and its
        reader of triples."""
        encode = self._encode if self.store.settings["dim"] else None
        return Sync(self.store, encode, self.profile, on_event, reading(self.triples))

    def remove(self, target: str) -> int:
        """Remove a source, a file, a document or a chunk by its name; how many chunks died. They never come back
        in any snapshot from here on."""
        snapshot = self.snapshot()
        origins = [o for o in self.store.files() if o == target or o.startswith(f"{target}/")]
        with self.store.write(f"remove {target}") as writer:
            for origin in origins:
                writer.remove_file(origin)
            known = writer.remove_source(target) or bool(origins)
            writer.remove_document(target)
            if not writer.died and not known and target:
                writer.remove_chunk(self.full_id(target, snapshot, missing_ok=True))
        if not writer.died and not known:
            raise StoreError(f"nothing here is called {target!r}", "see what there is: assay ls")
        self.compact_soon()
        return writer.died

    def tag(self, name: str) -> int:
        """Name the present version, so that it can be read later with `snapshot=name`."""
        if not name.isprintable() or not name.strip() or name.removeprefix("v").isdigit():
            raise StoreError(
                f"{name!r} cannot be a tag: it is no word, or reads like a version number",
                "use a word, e.g. before-move",
            )
        with self.store.write(f"tag {name}") as writer:
            version = self.store.version()
            writer.tag(name, version)
        return version

    def compact_soon(self) -> None:
        """Index in the background once enough has changed; readers and writers go on."""
        if not self.backend.due or (self._compactor is not None and self._compactor.is_alive()):
            return
        self._compactor = threading.Thread(target=self._compact_quietly, name="assay-compact", daemon=True)
        self._compactor.start()

    def _compact_quietly(self) -> None:
        try:
            self.backend.compact()
        except AssayError:
            return  # the tail still answers; `optimize` and `doctor` say what is wrong

    def optimize(self, progress: Progress = lambda *_: None, force: bool = False) -> bool:
        """Build the indexes now; False when they already are in step."""
        return self.backend.compact(progress, force)

    def forget_before(self, name: str, progress: Progress = lambda *_: None) -> int:
        """Erase what was already dead at a version or tag; how many chunks. Snapshots older than it are gone for good,
        and the file shrinks, so nothing lingers in it."""
        return self.backend.forget(self.store.resolve(name), progress)

    def build_graph(self, progress: Progress = lambda *_: None) -> int:
        """Build the graph now that pipelines with a graph leg walk, instead of for the first question to one; how
        many chunks it covers. From then on every index is built with it."""
        if not isinstance(self.backend, GraphBackend):
            what, _, cure = NO_GRAPH.partition("; cure: ")
            raise StoreError(f"{self.store.address}: {what}", cure)
        return self.backend.build_graph(progress)

    def read_triples(self, spec: str, progress: Progress = lambda *_: None) -> int:
        """Let a reader say what every chunk says, for the graph, and what is added from now on; how many it read.
        `none` names nobody any more; what was read stays."""
        made = annotate(self.store, spec, progress)
        self.triples = spec
        return made

    def embed_missing(self, spec: str = "auto", progress: Progress = lambda *_: None) -> int:
        """Give every chunk a vector: after a model was installed, or to move to another model (see `reembed`)."""
        if self.backend.no_vectors:
            what, _, cure = self.backend.no_vectors.partition("; cure: ")
            raise StoreError(f"{self.store.address} cannot hold vectors: {what}", cure)
        begun = self.store.setting("staged")
        own = self.spec if self.spec != "none" else embed.default_spec()
        spec = spec if spec != "auto" else begun["embedder"] if begun else own
        model = embed.load(spec)
        if model is None:
            raise ModelError("no embedding model is named or installed", "assay model install, or name one: --embedder")
        if model.digest == self.store.settings["model"]:
            made = fill(self.store, model, progress)
        else:
            made = move(self.store, spec, model, progress)
        self.backend.close()
        self._attach(open_backend(self._address))
        self.optimize(progress, force=True)
        return made

    # -- reading

    def snapshot(self, name: str | None = None) -> StoreSnapshot:
        """The newest state, or an older one by version or tag."""
        return self.backend.snapshot(None if name is None else self.store.resolve(name))

    def search(
        self,
        text: str = "",
        k: int | None = None,
        *,
        pipeline: str | Pipeline = "default",
        where: str | Filter | None = None,
        at: str | float | None = None,
        scope: str | None = None,
        snapshot: str | None = None,
        budget: int | None = None,
        sort: str = "relevance",
        vector: Vector | None = None,
    ) -> Answer:
        """Answer a question. `at` is the scoring clock and hides chunks created later; `snapshot` reads an old
        state; `budget` keeps what fits into so many tokens; `sort` puts the best in another order (recency,
        importance). See docs/tutorial.md for each of them at work."""
        if k is not None and k < 1:
            raise ConfigError(f"k = {k} is below 1", "ask for at least one result")
        chosen = self.pipeline(pipeline, budget, sort)
        query = Query(
            text=askable(text),
            vector=vector,
            at=parse_moment(at) if isinstance(at, str) else at,
            where=parse(where) if isinstance(where, str) else where,
            scope=scope,
        )
        view = self.snapshot(snapshot)
        answer = chosen.run(query, view, self._embed_query, k=k, clock=time.perf_counter, asker=self.asker(chosen))
        return replace(answer, remarks=self._remarks(view))

    def asker(self, pipeline: Pipeline) -> Executor:
        """Keeps the deadlines of one query, which begins now. A model that is not loaded yet is loaded before: that
        belongs to no question."""
        if pipeline.budget_ms is not None and pipeline.needs("vector"):
            with contextlib.suppress(ModelError):  # the search will say it, and go on with words
                _ = self.embedder
        return self._deadlines.query(pipeline.digest, pipeline.budget_ms)

    def pipeline(self, pipeline: str | Pipeline, budget: int | None = None, sort: str = "relevance") -> Pipeline:
        """A pipeline by preset name, path or value, in another order than relevance, within a token budget."""
        return resolve(pipeline, budget, sort)

    def explain(self, text: str, chunk_id: str, **options: Any) -> Explanation:
        """Why a chunk is at its place for a query, or why it is not there. `chunk_id` may be a unique beginning."""
        answer = self.search(text, **options)
        view, own = (
            answer.snapshot,
            cast(StoreSnapshot, base_snapshot(answer.snapshot)),
        )
        elsewhere = chunk_id in {name for span in answer.trace for name in span.gave.ids.tolist()}
        full = chunk_id if elsewhere else self.full_id(chunk_id, own)
        row = view.rows(np.array([full]))
        chunk = view.chunks(row)[0] if row[0] >= 0 else None
        place = answer.chosen.places().get(full)
        passages = answer.passages(full)
        if place is not None:
            return Explanation(answer, chunk, place + 1, passages, ())
        pipeline = self.pipeline(options.get("pipeline", "default"))
        return Explanation(answer, chunk, None, passages, tuple(reasons(answer, pipeline, full, chunk)))

    def full_id(self, beginning: str, view: StoreSnapshot, missing_ok: bool = False) -> str:
        """A chunk's id from its beginning, when only one chunk begins so."""
        found = view.ids_from(beginning, _LOOKED_AT)
        if len(found) == 1 or beginning in found:
            return beginning if beginning in found else found[0]
        if missing_ok:
            return beginning
        if not found:
            raise StoreError(
                f"no chunk of v{view.version} has the id {beginning!r}",
                "ids are shown by: assay search, assay ls -v; what was removed since is in an older one (--snapshot)",
            )
        many = f"{len(found)} or more" if len(found) == _LOOKED_AT else f"{len(found)}"
        raise StoreError(f"{many} chunks begin with {beginning!r}", f"say more: {', '.join(found[:5])} …")

    def _remarks(self, view: StoreSnapshot) -> tuple[str, ...]:
        share = view.foreign_share
        if self.spec in ENGLISH_MODELS and share >= FOREIGN_SHARE:
            return (
                f"{share:.0%} of this store is not in English, and its embedding model reads English only: "
                "expect words to find more than meaning",
            )
        return ()

    def chunks(self, where: str | Filter | None = None) -> Iterator[Chunk]:
        """Every live chunk, in id order, a few at a time."""
        view = self.snapshot()
        rows = view.live_rows(parse(where) if isinstance(where, str) else where)
        for start in range(0, len(rows), 1_000):
            yield from view.chunks(rows[start : start + 1_000])

    def export(self, with_vectors: bool = False) -> Iterator[str]:
        """Every live chunk as a line of JSON: what it takes to leave, or to look."""
        return exported(self.snapshot(), with_vectors and bool(self.store.settings["dim"]))
