"""Asks a store everything that a user may ask, and notes answers, troubles and errors."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.addresses import open_backend
from assay.backend.contract import StoreBackend
from assay.errors import AssayError
from assay.kb import KnowledgeBase
from assay.protocols import WalkSettings
from assay.types import Query
from assay.where import parse
from benchmarks.torture._stores import PRELOADED, create_store, has_vectors, make_chunk, make_vector

KINDS = ("folder", "graph and tree", "one file", "lance")
"""Kinds of stores under attack; `graph and tree` is a folder with both, whose other files are left alone."""
_CHUNKS, _TAIL, _DEAD = 240, 12, 20
_SECONDS = 300
"""After so many seconds a probe counts as hanging."""
_QUERIES = ("heron nest lake", "ticket-00017 rotate the signing key", "turbine zzz")
_TREE = "graph and tree"
_SUFFIX = {"folder": "", _TREE: "", "one file": ".sqlite", "lance": ".lance"}


def build_store(kind: str, place: Path) -> Path:
    """A store with an index, a graph, a tree, chunks in two scopes, newer chunks and deletions; its path."""
    path = place.with_name(place.name.replace(" ", "-") + _SUFFIX[kind])
    backend = create_store(kind, str(path))
    with contextlib.closing(_tuned(backend)) as tuned:
        vectors = has_vectors(kind)

        def put(first: int, end: int) -> None:
            pairs = [(make_chunk(f"c{n:04d}", n, f"user:{'ab'[n % 2]}"), make_vector(n)) for n in range(first, end)]
            tuned.put([(chunk, vector if vectors else None) for chunk, vector in pairs])

        put(0, _CHUNKS)
        tuned.compact(force=True)
        if kind == _TREE:
            tuned.build_graph()
            tuned.build_tree()
        put(_CHUNKS, _CHUNKS + _TAIL)
        tuned.remove([f"c{n:04d}" for n in range(0, 5 * _DEAD, 5)])
    return path


def _tuned(backend: StoreBackend) -> Any:
    """The backend with limits so low that tantivy and FAISS are used in a small store."""
    for name, value in (("_tantivy_from", 1), ("_ivf_from", 100)):
        if hasattr(backend, name):
            setattr(backend, name, value)
    return backend


def probe_store(kind: str, path: Path) -> dict[str, Any]:
    """Every answer by its name, as plain values, and what the store told about troubles."""
    from assay.backend.shared import bm25
    from assay.index import vectors

    bm25._SCAN, bm25._FEW_ROWS, vectors._GATHER = 10, 5, 5  # so that tantivy and FAISS propose here
    backend = _tuned(open_backend(str(path)))
    kb = KnowledgeBase(backend, path)
    answers: dict[str, Any] = {}
    told: list[str] = []
    try:
        view = kb.snapshot()
        rows = view.live_rows(None)
        for text in _QUERIES:
            vector = make_vector(len(text)) if has_vectors(kind) else None
            for where in (None, 'scope = "user:a"', "n < 100"):
                query = Query(text, vector=vector, where=parse(where) if where else None)
                key = f"{text} where {where}"
                answers[f"lexical {key}"] = _matches(view, view.lexical(query, 8))
                answers[f"exact {key}"] = _matches(view, view.exact(query, 8))
                if vector is not None:
                    answers[f"nearest {key}"] = _matches(view, view.nearest(query, 5))
                if kind == _TREE:
                    answers[f"related {key}"] = _matches(
                        view, view.related(query, 5, WalkSettings(rows[:0], 0.5, 0.5, "all", 0.0))
                    )
        if kind == _TREE:
            tree = view.tree()
            answers["tree"] = [tree.parent.tolist(), tree.leaf_of_row.tolist()]
            walked = kb.search("heron nest lake", k=5, pipeline="hcr-margin", vector=make_vector(3))
            answers["walk down the tree"] = [(hit.id, hit.score) for hit in walked]
            told += [str(problem) for problem in walked.status.problems]
        for scope in ("user:a", "user:b"):
            held = view.live_rows(parse(f'scope = "{scope}"'))
            answers[f"list {scope}"] = sorted(chunk.text for chunk in view.chunks(held))
        answers["all"] = [(c.id, c.text, c.created, dict(c.meta)) for c in view.chunks(rows)]
        if has_vectors(kind):
            answers["vectors"] = np.round(view.vectors(rows[::7]).astype(float), 6).tolist()
        answer = kb.search("heron nest lake", k=5, pipeline="bm25", where='scope = "user:b"')
        answers["search"] = [(hit.id, hit.score) for hit in answer]
        told += [str(problem) for problem in answer.status.problems]
        told += [str(view.trouble)] if getattr(view, "trouble", None) else []
    finally:
        kb.close()
    return {"answers": json.loads(json.dumps(answers)), "told": told}


def _matches(view: Any, found: Any) -> list[Any]:
    scores = np.zeros(len(found.rows))
    for part in found.parts:
        scores += part.column
    return [view.ids(found.rows).tolist(), np.round(scores, 9).tolist()]


_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["benchmarks.torture._probe", *PRELOADED, "faiss", "tantivy"])
"""Children come from a process that has imported everything and computed nothing: threads do not survive a fork."""


def in_child(work: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a child process: a crash of a library must not end the campaign. The signal that ended the
    child, as {"signal": number}, where it returned nothing."""
    with contextlib.closing(ChildProcess()) as child:
        return child.call(work, *args)


class ChildProcess:
    """A child that calls functions one after the other, and is replaced when it ends or hangs. Importing Lance takes
    longer than a trial."""

    def __init__(self) -> None:
        self._child: Any = None
        self._pipe: Any = None

    def call(self, work: Callable[..., Any], *args: Any) -> Any:
        if self._child is None:
            self._pipe, there = _CONTEXT.Pipe()
            self._child = _CONTEXT.Process(target=_serve, args=(there,), daemon=True)
            self._child.start()
            there.close()
        try:
            self._pipe.send((work, args))
            if self._pipe.poll(_SECONDS):
                return self._pipe.recv()
            number = int(signal.SIGALRM)
        except (EOFError, OSError):
            self._child.join()
            number = -(self._child.exitcode or 0)
        self.close()
        return {"signal": number}

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.join()
            self._pipe.close()
            self._child = None


def _serve(pipe: Connection) -> None:
    with contextlib.suppress(EOFError):
        while True:
            work, args = pipe.recv()
            pipe.send(work(*args))


def open_and_record(kind: str, path: Path) -> None:
    """Ask a store, so that its files are recorded as verified, though they are not two seconds old."""
    from assay.index import verified_files

    settled, verified_files._SETTLED = verified_files._SETTLED, -1.0
    probe_store(kind, path)
    verified_files._SETTLED = settled


def try_probe(kind: str, path: Path) -> dict[str, Any]:
    with warnings.catch_warnings(), Path(os.devnull).open("w") as nowhere:
        warnings.simplefilter("ignore")
        os.dup2(nowhere.fileno(), 2)
        try:
            return probe_store(kind, path)
        except AssayError as error:
            return {"error": error.message, "cure": error.cure}
        except BaseException as error:
            return {"exception": f"{type(error).__name__}: {error}"[:300]}
