"""Is this store well? A list of checks; each is ok, a warning or a failure, and says what cures it.

A failure means wrong or missing answers; a warning means slower or poorer ones. Nothing here changes the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from assay import embed
from assay.backend.addresses import open_backend
from assay.backend.contract import Check, StoreBackend
from assay.embed.languages import ENGLISH_MODELS, FOREIGN_SHARE
from assay.errors import AssayError, MissingExtra, ModelError
from assay.store.contract import COPYING, STAGED, ChunkStore


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
            found += [*backend.health(), *(check(backend) for check in CHECKS)]
        return found
    except (sqlite3.DatabaseError, AssayError) as error:
        return [*found, Check("database", "fail", f"it cannot be read: {error}", _RESTORE)]
    finally:
        backend.close()


_RESTORE = "assay restore BACKUP --store NEW, or add the documents to a new store"


def _integrity(store: ChunkStore, deep: bool) -> Check:
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


def _vectors(backend: StoreBackend) -> Check:
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


def _model(backend: StoreBackend) -> Check:
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


def _languages(backend: StoreBackend) -> Check:
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


def _sources(backend: StoreBackend) -> Check:
    """Are the folders still there from which documents came?"""
    store = backend.store
    gone = [f"{name} ({root})" for name, root in store.sources().items() if not Path(root).exists()]
    if gone:
        cure = "moved: assay add NEWPATH --as NAME --moved; deleted: assay rm NAME"
        return Check("sources", "warn", f"no longer there: {', '.join(gone)}", cure)
    return Check("sources", "ok", f"{len(store.sources())} known, all still there")


CHECKS: tuple[Callable[[StoreBackend], Check], ...] = (_vectors, _model, _languages, _sources)
"""Checks of every store; a backend adds its own (`KeptBackend.health`)."""
