"""Checks a store and reports problems with their cures.

A failure means wrong or missing answers; a warning means slower or poorer ones. Nothing here changes the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from assay import embed
from assay.backend.addresses import open_backend, resolve_factory
from assay.backend.contract import AcceptingFactory, Check, DeepBackend, StoreBackend
from assay.embed.model_languages import ENGLISH_MODELS, FOREIGN_SHARE
from assay.errors import AssayError, MissingExtra, ModelError, StoreError
from assay.store.contract import COPYING, STAGED, ChunkStore

BETTER_MODEL = "gte-small finds better and embeds at a third of the speed"


def examine(address: str | Path, *, deep: bool = False) -> list[Check]:
    """Every check, in order. `deep` reads every page and every chunk, which takes a while on a large store."""
    try:
        backend = open_backend(address)
    except AssayError as error:
        return [Check("store", "fail", error.message, error.cure), _installed_model()]
    store = backend.store
    try:
        access = "read-only here" if store.readonly else "readable and writable"
        checks = [Check("store", "ok", f"{store.address} is format {store.settings['format']}, {access}")]
        integrity = _integrity(store, deep)
        checks.append(integrity)
        if integrity.state == "ok":
            own = [*backend.health(), *(check(backend) for check in CHECKS)]
            own += backend.deep_health() if deep and isinstance(backend, DeepBackend) else []
            checks += sorted(own, key=lambda check: ORDER.index(check.name) if check.name in ORDER else len(ORDER))
        return checks
    except (sqlite3.DatabaseError, AssayError) as error:
        return [*checks, Check("database", "fail", f"it cannot be read: {error}", _RESTORE)]
    finally:
        backend.close()


def accept(address: str | Path) -> int:
    """Go on with the present state of a store that lost commits or was changed outside; its version."""
    factory, place = resolve_factory(address)
    if not isinstance(factory, AcceptingFactory):
        raise StoreError("a store of this kind keeps no commit journal", "there is nothing to accept")
    return factory.accept(place)


_RESTORE = "assay restore BACKUP --store NEW, or add the documents to a new store"


def _integrity(store: ChunkStore, deep: bool) -> Check:
    damage = store.find_damage(deep)
    if damage:
        return Check("database", "fail", damage, _RESTORE)
    unfinished = store.setting(COPYING)
    if unfinished:
        text = f"this is a copy of {unfinished} that is not whole yet"
        return Check("database", "fail", text, f"go on with it: assay copy {store.address} --store {unfinished}")
    return Check(
        "database",
        "ok",
        "its pages and indexes are sound, every chunk is what was written" if deep else "its pages are sound",
    )


def _vectors(backend: StoreBackend) -> Check:
    store = backend.store
    if backend.no_vectors:
        return Check("vectors", "ok", backend.no_vectors.text)
    lacking = len(store.rows_without_vector()) if store.settings["dim"] else 0
    if lacking:
        return Check(
            "vectors", "fail", f"{lacking:,} chunks have none: meaning cannot find them", "assay optimize --embed"
        )
    staged = store.setting(STAGED)
    if staged:
        text = f"a move to {staged['embedder']} has begun and is not done; until then nothing changes"
        return Check("vectors", "warn", text, "go on with it: assay reembed")
    if not store.settings["dim"]:
        text = "made without an embedding model: words only, meaning is not searched"
        return Check("vectors", "warn", text, "assay model install, then assay optimize --embed")
    return Check("vectors", "ok", "every chunk has one")


def _model(backend: StoreBackend) -> Check:
    """Whether the store's model is installed, and is the one its vectors were made with."""
    store = backend.store
    if backend.no_vectors:
        return Check("model", "ok", "none is needed")
    spec, made_with = store.settings["embedder"], store.settings["model"]
    if not store.settings["dim"]:
        return _installed_model()
    try:
        model = embed.load(spec)
    except (ModelError, MissingExtra, AssayError) as error:
        return Check("model", "fail", f"{spec}: {error.message}", error.cure)
    if model is None or model.digest != made_with:
        installed = model.digest[:12] if model else "none"
        text = f"the vectors were made with {spec} {made_with[:12]}; the model here is {installed}"
        return Check("model", "fail", text, "install that model, or move to this one: assay reembed")
    hint = f"; {BETTER_MODEL}: assay reembed --embedder gte-small" if spec == "minilm" else ""
    return Check("model", "ok", f"{spec} {made_with[:12]} is installed{hint}")


def _installed_model() -> Check:
    """The check of the installed model, when no store says which one it needs."""
    from assay.embed.installed_models import list_models, verify_model

    models = list_models()
    if not models:
        return Check("model", "warn", "no embedding model is installed", "assay model install")
    try:
        for model in models:
            verify_model(model)
    except ModelError as error:
        return Check("model", "fail", error.message, error.cure)
    names = [model.name for model in models]
    hint = "" if "gte-small" in names else f"; {BETTER_MODEL}: assay model install gte-small"
    return Check("model", "ok", f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} installed and whole{hint}")


def _languages(backend: StoreBackend) -> Check:
    """Whether the embedding model knows the languages of the chunks."""
    store = backend.store
    counts = store.count_chunks()
    known = sum(number for name, number in counts.languages.items() if name)
    other = known - counts.languages.get("en", 0)
    share = other / max(counts.chunks, 1)
    if not known:
        return Check("languages", "ok", "none was told")
    if store.settings["embedder"] in ENGLISH_MODELS and share >= FOREIGN_SHARE:
        text = f"{share:.0%} of the chunks are not in English, and {store.settings['embedder']} reads English only"
        return Check("languages", "warn", text, "assay reembed --embedder onnx:/path/to/a/multilingual/encoder")
    return Check(
        "languages", "ok", f"{1 - share:.0%} English or untold; words are stemmed as {store.settings['language']}"
    )


def _folders(backend: StoreBackend) -> Check:
    """Whether the folders are still there from which documents came."""
    store = backend.store
    gone = [f"{name} ({root})" for name, root in store.folders().items() if not Path(root).exists()]
    if gone:
        cure = "moved: assay add NEWPATH --as NAME --moved; deleted: assay rm NAME"
        return Check("folders", "warn", f"no longer there: {', '.join(gone)}", cure)
    return Check("folders", "ok", f"{len(store.folders())} known, all still there")


CHECKS: tuple[Callable[[StoreBackend], Check], ...] = (_vectors, _model, _languages, _folders)
"""Checks of every store; a backend adds its own (`StoreBackend.health`)."""
ORDER = (
    "server",
    "graph",
    "index",
    "index files",
    "tail",
    "vectors",
    "model",
    "languages",
    "disk",
    "folders",
    "leftovers",
)
"""The order in which checks are reported; others come last."""
