"""A knowledge base: open, add, search, explain. Here files, clocks and models meet the engine."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from assay import embed
from assay.answerability.judge import DEFAULT_BUDGET, AnswerabilityJudge
from assay.backend.addresses import open_backend, redact_password, resolve_factory
from assay.backend.contract import NO_GRAPH, GraphBackend, StoreBackend, StoreSnapshot
from assay.config.resolve import resolve, token_budget
from assay.config.store_settings import StoreSettings
from assay.embed.model_languages import ENGLISH_MODELS, FOREIGN_SHARE
from assay.embed.vector_cache import CachedEmbedder
from assay.engine.answer import Answer
from assay.engine.deadline_executor import Deadlines
from assay.engine.executor import Executor
from assay.engine.explanation import Explanation
from assay.engine.foreign_chunks import base_snapshot
from assay.engine.missing_reasons import missing_reasons
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError, ConfigError, MissingStore, ModelError, StoreError, nearest
from assay.index.tree.layout import TreeSettings
from assay.ingest.add_report import AddReport, Event
from assay.ingest.chunker import PROFILES, Profile
from assay.ingest.date_bounds import resolve_range
from assay.ingest.dates import parse_moment
from assay.ingest.folder_part import FolderPart
from assay.ingest.origins import default_name
from assay.ingest.records import parse_record
from assay.ingest.triples import load_annotator
from assay.protocols import Embedder
from assay.store.contract import ChunkStore
from assay.sync import RECORDS, Sync
from assay.text.normalisation import sanitise_query
from assay.types import Chunk, Progress, Query, Vector, Vectors
from assay.upkeep import index_policy
from assay.upkeep.annotate import annotate_store
from assay.upkeep.changed_files import files_to_sync
from assay.upkeep.inventory import export_lines
from assay.upkeep.origin_paths import Origin, find_origin
from assay.upkeep.reembed import fill_missing_vectors, move_to_model
from assay.upkeep.tree_report import require_tree_backend
from assay.util.closeable import Closeable
from assay.util.thread_map import thread_map
from assay.where import And, Filter, parse

_MOST_IDS = 20
"""Ids that share a beginning and are counted; beyond, an error says "or more"."""
UPLOADS = "uploads"
"""The name of files that are uploaded without one."""


def open(
    path: str | Path,
    *,
    embedder: str = "auto",
    language: str = "english",
    profile: str = "default",
    triples: str = "none",
    k1: float | None = None,
    b: float | None = None,
    create: bool = True,
) -> KnowledgeBase:
    """Open the knowledge base at an address, making it when it is not there yet: a folder, one file (`notes.sqlite`),
    or another backend's (docs/backends.md).

    `embedder`, `language`, `profile`, `triples` and BM25's `k1` (1.2) and `b` (0.75) are chosen when a store is made
    and kept by it; for an existing store leave them out, or give the same. "auto" is the local model where it is
    installed, else none: words only, and every answer says so. `triples` names the reader of triples for the graph
    (docs/graph.md).
    """
    requested = StoreSettings(embedder, language, profile, triples, k1, b)
    factory, address = resolve_factory(path)
    if factory.exists(address):
        kb = KnowledgeBase(factory.open(address), path)
        try:
            requested.check(kb.store.settings, kb.backend.no_vectors)
        except StoreError:
            kb.close()
            raise
        return kb
    if not create:
        shown = redact_password(str(path))
        raise MissingStore(shown)
    return KnowledgeBase(factory.create(address, requested.of_new_store(str(path), factory.no_vectors)), path)


class KnowledgeBase(Closeable):
    """One store with its indexes and model. Safe to share between threads; use as a context manager or close it."""

    def __init__(self, backend: StoreBackend, address: str | Path) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._compactor: threading.Thread | None = None
        self._deadlines = Deadlines(time.monotonic)
        self._attach(backend)

    def _attach(self, backend: StoreBackend) -> None:
        """Read the store's settings."""
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
        """The chunks, vectors and versions."""
        return self.backend.store

    def __repr__(self) -> str:
        return (
            f"KnowledgeBase({redact_password(str(self._address))!r}, v{self.store.version()}, embedder={self.spec!r})"
        )

    def close(self) -> None:
        if self._compactor is not None:
            self._compactor.join()
        self._deadlines.close()
        self.backend.close()

    @property
    def embedder(self) -> Embedder | None:
        """The store's model, loaded when first needed; None for a store without vectors. May raise ModelError."""
        with self._lock:
            if self._embedder is None and self.store.settings["dim"]:
                model = embed.load(self.spec)
                expected = self.store.settings["model"]
                if model is None or model.digest != expected:
                    raise ModelError(
                        f"this store's vectors were made with {self.spec} {expected[:12]}; "
                        f"the model here is {model.digest[:12] if model else 'none'}",
                        "install that model, or move to this one: assay reembed",
                    )
                self._embedder = CachedEmbedder(model)
            return self._embedder

    @property
    def cached_vectors(self) -> tuple[int, int]:
        """How many texts were found in the vector cache, and how many had to be embedded, since the model is open."""
        model = self._embedder
        return (model.hits, model.misses) if isinstance(model, CachedEmbedder) else (0, 0)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        return self._require_model().encode(texts)

    def _embed_query(self, text: str) -> Vector:
        return self._require_model().encode_query(text)

    def _require_model(self) -> Embedder:
        if self.embedder is None:
            raise ModelError("this store was made without an embedding model", "assay optimize --embed")
        return self.embedder

    # -- writing

    def add(
        self,
        what: str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any] | str],
        *,
        name: str | None = None,
        moved: bool = False,
        exclude: Sequence[str] = (),
        part: str = "1/1",
        listed: Iterable[str] | None = None,
        on_event: Callable[[Event], None] = lambda _: None,
        progress: Progress = lambda *_: None,
        compact: bool | Literal["auto"] = "auto",
    ) -> AddReport:
        """Bring a folder, a file, a record or several into the store; what is already there, unchanged, costs nothing.

        A folder is kept in step as a whole: files that vanished from it vanish from the store. Records are
        mappings with `text` (and `id`, `title`, `created`, `importance`, any metadata) or plain strings.
        `exclude` has patterns in gitignore's syntax for paths to pass over; lasting ones belong into a file
        `.assayignore`. `part="3/8"` takes the third of eight parts of a folder, so that eight processes can add it.
        `listed` names files of the folder: these are added without walking it, and nothing is removed.
        `compact="auto"` builds the index of a folder or file before it returns, if enough has changed
        (`refresh_index`, as `assay add` does); records, which often come one by one, are indexed in the background.
        `True` always builds it, `False` leaves it to a later `optimize`.
        """
        sync = self.sync(on_event)
        if isinstance(what, str | Path):
            root = Path(what)
            if not root.exists():
                raise StoreError(f"{root} does not exist", "name a folder or a file that is there")
            report = sync.add_folder(root, name or default_name(root), moved, exclude, FolderPart.parse(part), listed)
        else:
            several = [what] if isinstance(what, Mapping) else what
            records = ({"text": r} if isinstance(r, str) else r for r in several)
            report = sync.documents((parse_record(r) for r in records), name or RECORDS)
        if compact is True:
            self.optimize(progress)
        elif compact and isinstance(what, str | Path):
            self.refresh_index(progress)
        elif compact:
            self.compact_soon()
        return report

    def upload(
        self, path: Path, name: str, folder: str = UPLOADS, on_event: Callable[[Event], None] = lambda _: None
    ) -> AddReport:
        """Add or replace one file as `folder/name`, wherever it lies just now: a later upload of the name replaces it,
        and nothing else is removed."""
        report = self.sync(on_event).upload(path, name, folder)
        self.compact_soon()
        return report

    def add_changed(self, root: Path, changed: Iterable[Path], name: str) -> Iterator[tuple[str, AddReport]]:
        """Bring changed paths of a folder that was added as `name` into step: (file, report) for each single file,
        or ("", report) of the whole folder where it must be compared."""
        files = files_to_sync(self.store, root, name, changed)
        if files is None:
            yield "", self.add(root, name=name)
            return
        for path in files:
            yield str(path.relative_to(root)), self.sync().one(root, path, name)
        if files:
            self.compact_soon()

    def sync(self, on_event: Callable[[Event], None] = lambda _: None) -> Sync:
        """A run of adding files or records to this store, with its model (loaded once something needs embedding) and
        its reader of triples."""
        encode = self._encode if self.store.settings["dim"] else None
        return Sync(self.store, encode, self.profile, on_event, load_annotator(self.triples))

    def remove(self, target: str) -> int:
        """Remove a folder, a file, a document or a chunk by its name; how many chunks were deleted. They are in no
        snapshot from here on."""
        if not isinstance(target, str):
            raise StoreError(f"remove takes one name, not {type(target).__name__}", "call it once for each name")
        snapshot = self.snapshot()
        origins = [o for o in self.store.files() if o == target or o.startswith(f"{target}/")]
        with self.store.write(f"remove {target}") as writer:
            for origin in origins:
                writer.remove_file(origin)
            known = writer.remove_folder(target) or bool(origins)
            writer.remove_document(target)
            if not writer.deleted and not known and target:
                writer.remove_chunk(self.full_id(target, snapshot, missing_ok=True))
        if not writer.deleted and not known:
            raise StoreError(f"nothing here is called {target!r}", "see what there is: assay ls")
        self.compact_soon()
        return writer.deleted

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

    def refresh_index(self, progress: Progress = lambda *_: None) -> bool:
        """Build the index if enough has changed for it to pay; True if it was built."""
        return index_policy.is_worthwhile(self.backend) and self.backend.compact(progress)

    def prepare(self, pipeline: str | Pipeline | None = None, progress: Progress = lambda *_: None) -> None:
        """Build now what the first search, with this pipeline, would build: the index or the graph of a large store."""
        index_policy.prepare(self.backend, None if pipeline is None else self.pipeline(pipeline), progress)

    def optimize(self, progress: Progress = lambda *_: None, force: bool = False) -> bool:
        """Build the indexes now; False when they already are in step."""
        return self.backend.compact(progress, force)

    def forget_before(self, name: str, progress: Progress = lambda *_: None) -> int:
        """Erase what was already dead at a version or tag; how many chunks. Snapshots older than it are gone for good,
        and the file shrinks, so nothing lingers in it."""
        return self.backend.forget(self.store.resolve(name), progress)

    def build_graph(self, progress: Progress = lambda *_: None) -> int:
        """Build the graph for pipelines with a graph leg now, instead of at the first search; how many chunks it
        covers. From then on every index is built with it."""
        if not isinstance(self.backend, GraphBackend):
            raise StoreError(f"{self.store.address}: {NO_GRAPH.text}", NO_GRAPH.cure)
        return self.backend.build_graph(progress)

    def build_tree(self, settings: TreeSettings | None = None, progress: Progress = lambda *_: None) -> int:
        """Build the tree of chunks now, with new settings or those of the store; how many chunks it covers."""
        return require_tree_backend(self.backend).build_tree(settings, progress)

    def make_token_vectors(self, pipeline: str | Pipeline | None = None, progress: Progress = lambda *_: None) -> int:
        """Compute the token vectors that a pipeline's late_interaction reads, or one by default; how many were new."""
        from assay.upkeep.token_vectors import fill_token_vectors

        chosen = None if pipeline is None else self.pipeline(pipeline)
        return fill_token_vectors(self.snapshot(), chosen, progress)

    def read_triples(self, spec: str, progress: Progress = lambda *_: None) -> int:
        """Extract triples for the graph from every chunk, and from what is added later, with this reader; how many
        chunks it read. `none` switches the reader off; triples that were read stay."""
        count = annotate_store(self.store, spec, progress)
        self.triples = spec
        return count

    def embed_missing(self, spec: str = "auto", progress: Progress = lambda *_: None) -> int:
        """Give every chunk a vector: after a model was installed, or to move to another model (see `reembed`)."""
        if self.backend.no_vectors:
            reason = self.backend.no_vectors
            raise StoreError(f"{self.store.address} cannot hold vectors: {reason.text}", reason.cure)
        staged = self.store.setting("staged")
        own = self.spec if self.spec != "none" else embed.default_spec()
        spec = spec if spec != "auto" else staged["embedder"] if staged else own
        model = embed.load(spec)
        if model is None:
            raise ModelError("no embedding model is named or installed", "assay model install, or name one: --embedder")
        if model.digest == self.store.settings["model"]:
            count = fill_missing_vectors(self.store, model, progress)
        else:
            count = move_to_model(self.store, spec, model, progress)
        self.backend.close()
        self._attach(open_backend(self._address))
        self.optimize(progress, force=True)
        return count

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
        since: str | float | None = None,
        until: str | float | None = None,
        scope: str | None = None,
        snapshot: str | None = None,
        budget: int | None = None,
        sort: str = "relevance",
        vector: Vector | None = None,
        abstain: bool | None = None,
        budget_ms: float | None = None,
    ) -> Answer:
        """Answer a question. `at` is the scoring clock and hides chunks created later; `since` and `until` keep chunks
        created between, by date or in words ("last week", counted from `at`, else from now); `snapshot` reads an old
        state; `budget` adds a context of at most so many tokens (`answer.context`); `sort` puts the best in another
        order (recency, importance); `abstain` withholds the results of a question that is judged impossible
        (`answer.answerability`; None: as the pipeline says); `budget_ms` is the time that legs and steps may take: what
        is late is left out and named in the trace. See docs/tutorial.md for each of them at work."""
        if k is not None and k < 1:
            raise ConfigError(f"k = {k} is below 1", "ask for at least one result")
        chosen = self.pipeline(pipeline, budget, sort, abstain, budget_ms)
        moment = parse_moment(at) if isinstance(at, str) else at
        condition = parse(where) if isinstance(where, str) else where
        created = resolve_range(since, until, time.time() if moment is None else moment)
        if created is not None:
            condition = And((*(() if condition is None else (condition,)), *created.conditions()))
        query = Query(text=sanitise_query(text), vector=vector, at=moment, where=condition, scope=scope)
        view = self.snapshot(snapshot)
        answer = chosen.run(
            query,
            view,
            self._embed_query,
            k=k,
            clock=time.perf_counter,
            executor=self.executor(chosen),
            judge=self.judge(chosen),
        )
        return replace(answer, remarks=self._remarks(view))

    async def asearch(self, text: str = "", k: int | None = None, **options: Any) -> Answer:
        """`search` for asyncio: it runs in a worker thread, and the event loop goes on."""
        return await asyncio.to_thread(self.search, text, k, **options)

    def search_many(
        self, texts: Iterable[str], k: int | None = None, *, threads: int = 1, **options: Any
    ) -> tuple[Answer, ...]:
        """Answer several questions with the same options, in their order, all from the same state of the store.
        `threads` of them are answered at a time; the answers do not depend on it."""
        version = self.snapshot(options.pop("snapshot", None)).version
        chosen = self.pipeline(options.pop("pipeline", "default"))
        return tuple(
            thread_map(
                lambda text: self.search(text, k, pipeline=chosen, snapshot=f"v{version}", **options),
                list(texts),
                threads,
            )
        )

    def executor(self, pipeline: Pipeline) -> Executor:
        """The executor of one query, whose budget starts now. The model is loaded before: that counts against no
        query."""
        if pipeline.budget_ms is not None and pipeline.needs("vector"):
            with contextlib.suppress(ModelError):  # the search reports it, and goes on with words
                _ = self.embedder
        return self._deadlines.executor(pipeline.digest, pipeline.budget_ms)

    def judge(self, pipeline: Pipeline) -> AnswerabilityJudge:
        """The judge of this store's questions, against the token budget of a pipeline."""
        return AnswerabilityJudge(self.store.settings["model"] or "", token_budget(pipeline) or DEFAULT_BUDGET)

    def pipeline(
        self,
        pipeline: str | Pipeline,
        budget: int | None = None,
        sort: str = "relevance",
        abstain: bool | None = None,
        budget_ms: float | None = None,
    ) -> Pipeline:
        """A pipeline by preset name, path or value, in another order than relevance, within a token budget, abstaining
        or not, within a time budget."""
        return resolve(pipeline, budget, sort, abstain, budget_ms)

    def explain(self, text: str, chunk_id: str, **options: Any) -> Explanation:
        """Why a chunk has its rank for a query, or why it is missing. `chunk_id` may be a unique beginning."""
        answer = self.search(text, **options)
        view, own = answer.snapshot, cast(StoreSnapshot, base_snapshot(answer.snapshot))
        in_trace = chunk_id in {name for span in answer.trace for name in span.ranking.ids.tolist()}
        full = chunk_id if in_trace else self.full_id(chunk_id, own)
        row = view.rows(np.array([full]))
        chunk = view.chunks(row)[0] if row[0] >= 0 else None
        place = answer.chosen.places().get(full)
        steps = answer.chunk_steps(full)
        if place is not None:
            return Explanation(answer, chunk, place + 1, steps, ())
        pipeline = self.pipeline(options.get("pipeline", "default"))
        return Explanation(answer, chunk, None, steps, tuple(missing_reasons(answer, pipeline, full, chunk)))

    def full_id(self, beginning: str, view: StoreSnapshot, missing_ok: bool = False) -> str:
        """A chunk's id from its beginning, when only one chunk begins so."""
        ids = view.ids_with_prefix(beginning, _MOST_IDS)
        if len(ids) == 1 or beginning in ids:
            return beginning if beginning in ids else ids[0]
        if missing_ok:
            return beginning
        if not ids:
            raise StoreError(
                f"no chunk of v{view.version} has the id {beginning!r}",
                "ids are shown by: assay search, assay ls -v; what was removed since is in an older one (--snapshot)",
            )
        many = f"{len(ids)} or more" if len(ids) == _MOST_IDS else f"{len(ids)}"
        raise StoreError(f"{many} chunks begin with {beginning!r}", f"say more: {', '.join(ids[:5])} …")

    def origin(self, chunk: Chunk) -> Origin:
        """The file that a chunk came from."""
        return find_origin(chunk.doc_id, self.store.folders())

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
        """Every live chunk as a line of JSON."""
        return export_lines(self.snapshot(), with_vectors and bool(self.store.settings["dim"]))
