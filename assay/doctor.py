"""Is this store well? A list of checks; each is ok, a warning or a failure, and says what cures it.

A failure means wrong or missing answers; a warning means slower or poorer ones. Nothing here changes the store.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay import embed
from assay.backend.addresses import open_backend
from assay.backend.kept import KeptBackend
from assay.backend.local import COMPACT_FROM, LocalBackend
from assay.backend.postgres.backend import PostgresBackend
from assay.errors import AssayError, MissingExtra, ModelError
from assay.index.generation import Generation
from assay.kb import ENGLISH_MODELS, FOREIGN_SHARE
from assay.store.record import COPYING, STAGED, Record
from assay.store.sqlite import Store
from assay.store.weight import weight
from assay.text.analyse import Analyser

State = Literal["ok", "warn", "fail"]

LEAST_FREE = 64_000_000
"""Bytes below which the next write may fail."""
_LEFT_BY = re.compile(r"\..+\.(?P<pid>\d+)(-journal|-wal|-shm)?")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    name: str
    state: State
    text: str
    cure: str = ""


def examine(address: str | Path, *, deep: bool = False) -> list[Check]:
    """Every check, in order. `deep` reads every page and every chunk, which takes a while on a large store."""
    try:
        backend = open_backend(address)
    except AssayError as error:
        return [Check("store", "fail", error.message, error.cure), _model_here()]
    store = backend.store
    try:
        kept = "read-only here" if store.readonly else "readable and writable"
        found = [Check("store", "ok", f"{store.address} is format {store.settings['format']}, {kept}")]
        sound = _integrity(store, deep)
        found.append(sound)
        if sound.state == "ok":
            folder, server = type(store) is Store, isinstance(backend, PostgresBackend)
            left_out = (frozenset() if folder else OF_FOLDERS) | (frozenset() if server else OF_SERVERS)
            found += [check(backend) for check in CHECKS if check not in left_out]
        return found
    except (sqlite3.DatabaseError, AssayError) as error:
        return [*found, Check("database", "fail", f"it cannot be read: {error}", _RESTORE)]
    finally:
        backend.close()


_RESTORE = "assay restore BACKUP --store NEW, or add the documents to a new store"


def _integrity(store: Record, deep: bool) -> Check:
    wrong = store.damage(deep)
    if wrong:
        return Check("database", "fail", wrong, _RESTORE)
    begun = store.setting(COPYING)
    if begun:
        text = f"this is a copy of {begun} that is not whole yet"
        return Check("database", "fail", text, f"go on with it: assay copy {store.address} --store {begun}")
    return Check(
        "database",
        "ok",
        "its pages and indexes are sound, every chunk is what was written" if deep else "its pages are sound",
    )


def _index(backend: LocalBackend) -> Check:
    """Is there a generation, whole, made with this analyser and model?"""
    store = backend.store
    generation = _generation(store)
    if generation is None:
        waiting = _alive(store)
        if not waiting:
            return Check("index", "ok", "the store is empty; there is nothing to index")
        named = store.setting("generation")
        text = f"the index {named} is missing, damaged or out of date" if named else "there is no index yet"
        state: State = "warn" if named or waiting >= COMPACT_FROM else "ok"
        return Check("index", state, f"{text}; {waiting:,} chunks are searched one by one", "assay optimize")
    return Check("index", "ok", f"{generation.size:,} chunks as of v{generation.version}")


def _tail(backend: LocalBackend) -> Check:
    """How much has changed since the index was built."""
    store = backend.store
    generation = _generation(store)
    since = generation.last_seq if generation else 0
    new = store.count_since(since)
    dead = len(store.deaths_since(generation.version)) if generation else 0
    text = f"{new:,} new and {dead:,} removed since the index was built"
    if new + dead >= COMPACT_FROM:
        return Check("tail", "warn", text, "assay optimize")
    return Check("tail", "ok", text)


def _vectors(backend: KeptBackend) -> Check:
    store = backend.store
    if backend.no_vectors:
        return Check("vectors", "ok", backend.no_vectors.partition("; cure: ")[0])
    lacking = len(store.lacking_vectors()) if store.settings["dim"] else 0
    if lacking:
        return Check(
            "vectors", "fail", f"{lacking:,} chunks have none: meaning cannot find them", "assay optimize --embed"
        )
    begun = store.setting(STAGED)
    if begun:
        text = f"a move to {begun['embedder']} has begun and is not done; until then nothing changes"
        return Check("vectors", "warn", text, "go on with it: assay reembed")
    if not store.settings["dim"]:
        text = "made without an embedding model: words only, meaning is not searched"
        return Check("vectors", "warn", text, "assay model install, then assay optimize --embed")
    return Check("vectors", "ok", "every chunk has one")


def _model(backend: KeptBackend) -> Check:
    """Is the store's model here, and is it the one its vectors were made with?"""
    store = backend.store
    if backend.no_vectors:
        return Check("model", "ok", "none is needed")
    spec, made_with = store.settings["embedder"], store.settings["model"]
    if not store.settings["dim"]:
        return _model_here()
    try:
        model = embed.load(spec)
    except (ModelError, MissingExtra, AssayError) as error:
        return Check("model", "fail", f"{spec}: {error.message}", error.cure)
    if model is None or model.digest != made_with:
        here = model.digest[:12] if model else "none"
        text = f"the vectors were made with {spec} {made_with[:12]}; the model here is {here}"
        return Check("model", "fail", text, "install that model, or move to this one: assay reembed")
    return Check("model", "ok", f"{spec} {made_with[:12]} is installed")


def _model_here() -> Check:
    """What this machine has, when no store says what it needs."""
    from assay.embed.installed import find, verify

    model = find("minilm")
    if model is None:
        return Check("model", "warn", "no embedding model is installed", "assay model install")
    try:
        verify(model)
    except ModelError as error:
        return Check("model", "fail", error.message, error.cure)
    return Check("model", "ok", f"{model.name} is installed and whole")


def _languages(backend: KeptBackend) -> Check:
    """Does the embedding model read what the store holds?"""
    store = backend.store
    counted = store.tally()
    told = sum(number for name, number in counted.languages.items() if name)
    other = told - counted.languages.get("en", 0)
    share = other / max(counted.chunks, 1)
    if not told:
        return Check("languages", "ok", "none was told")
    if store.settings["embedder"] in ENGLISH_MODELS and share >= FOREIGN_SHARE:
        text = f"{share:.0%} of the chunks are not in English, and {store.settings['embedder']} reads English only"
        return Check("languages", "warn", text, "assay reembed --embedder onnx:/path/to/a/multilingual/encoder")
    return Check(
        "languages", "ok", f"{1 - share:.0%} English or untold; words are stemmed as {store.settings['language']}"
    )


def _disk(backend: LocalBackend) -> Check:
    """Room for the next index, which is written beside the present one."""
    store = backend.store
    free = shutil.disk_usage(store.folder).free
    needed = LEAST_FREE + 2 * weight(store.folder / "generations")
    text = f"{free / 1e9:,.1f} GB free"
    if free < LEAST_FREE:
        return Check("disk", "fail", f"{text}: the next write may fail", "free some space")
    if free < needed:
        return Check("disk", "warn", f"{text}; the next index needs {needed / 1e9:,.1f} GB", "free some space")
    return Check("disk", "ok", text)


def _sources(backend: KeptBackend) -> Check:
    """Are the folders still there from which documents came?"""
    store = backend.store
    gone = [f"{name} ({root})" for name, root in store.sources().items() if not Path(root).exists()]
    if gone:
        cure = "moved: assay add NEWPATH --as NAME --moved; deleted: assay rm NAME"
        return Check("sources", "warn", f"no longer there: {', '.join(gone)}", cure)
    return Check("sources", "ok", f"{len(store.sources())} known, all still there")


def _server(backend: PostgresBackend) -> Check:
    """What serves, and whether a commit is as durable as we promise."""
    facts = backend.server()
    text = f"PostgreSQL {facts.version}; pgvector {facts.pgvector or 'not switched on'}; words by {facts.words}"
    if facts.lazy:
        unsafe = ", ".join(facts.lazy)
        return Check(
            "server", "warn", f"{text}; a crash of its machine may lose commits: {unsafe}", "switch it on there"
        )
    return Check("server", "ok", text)


def _graph(backend: PostgresBackend) -> Check:
    """Is there a graph for pipelines that walk one, and is it in step?"""
    if backend.store.no_graph:
        what, _, cure = backend.store.no_graph.partition("; cure: ")
        return Check("graph", "warn", f"the graph leg is skipped: {what}", cure)
    text = backend.graph_said()
    if backend.graph_behind >= COMPACT_FROM:
        return Check("graph", "warn", text, "assay optimize")
    return Check("graph", "ok", text)


def _leftovers(backend: LocalBackend) -> Check:
    store = backend.store
    left = sorted(leftovers(store))
    if left:
        names = ", ".join(str(path.relative_to(store.folder)) for path in left[:5])
        return Check("leftovers", "warn", f"a killed process left behind: {names}", "assay optimize")
    return Check("leftovers", "ok", "none")


def leftovers(store: Store) -> Iterator[Path]:
    """Half-written files and folders of processes that are no more. Old indexes are swept by the next build."""
    for folder in (store.folder, store.folder / "generations", store.folder / "snapshots"):
        for path in folder.iterdir() if folder.is_dir() else ():
            found = _LEFT_BY.fullmatch(path.name)
            if found and not _runs(int(found["pid"])):
                yield path


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _generation(store: Store) -> Generation | None:
    """The generation the store names, if the store can use it."""
    named = store.setting("generation")
    try:
        found = Generation(store.folder / "generations" / str(named))
        made_with = (found.manifest["analyser"], found.manifest["model"], found.manifest["dim"])
    except (OSError, ValueError, KeyError):
        return None
    analyser = Analyser(language=store.settings["language"])
    return found if made_with == (analyser.digest, store.settings["model"], store.settings["dim"]) else None


def _alive(store: Store) -> int:
    return store.tally().chunks


CHECKS: tuple[Callable[[Any], Check], ...] = (
    _server,
    _graph,
    _index,
    _tail,
    _vectors,
    _model,
    _languages,
    _disk,
    _sources,
    _leftovers,
)
OF_FOLDERS = frozenset({_index, _tail, _disk, _leftovers})
"""Checks of the embedded store, whose indexes lie beside its truth."""
OF_SERVERS = frozenset({_server, _graph})
"""Checks of a PostgreSQL store."""
