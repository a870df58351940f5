"""NUL and lone surrogates: no store keeps one, every store can be asked about one, and nothing else is lost."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.backend.addresses import create_backend
from assay.backend.contract import StoreBackend
from assay.errors import StoreError
from assay.types import Chunk, Query
from assay.where import Compare, Not, compare_values

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
ODD = ("\0", "a\0b", "a\0", "\ud800", "a\ud800", "a\udfffz", "ab\0", "\ue000\0")
PLAIN = ("a", "ab", "b", "", "a\ud7ff", "a\ue000", "\U0001f511", "aB")


@pytest.fixture
def backend(any_store: str):  # type: ignore[no-untyped-def]
    made = create_backend(any_store, SETTINGS)
    yield made
    made.close()


@pytest.mark.parametrize(
    "odd",
    [
        Chunk("c", "d", "a\0b", 1),
        Chunk("c", "d\0", "t", 1),
        Chunk("c", "d", "t", 1, meta={"scope": "a\0b"}),
        Chunk("c", "d", "t", 1, meta={"tags": ["fine", "é\0"]}),
        Chunk("c", "d", "t", 1, meta={"a\0b": "t"}),
        Chunk("c", "d", "t", 1, meta={"deep": {"a": ["\\\0"]}}),
        Chunk("c\0", "d", "t", 1),
        Chunk("c", "d", "a\ud800", 1),
    ],
    ids=["text", "document", "value", "list", "key", "deep", "id", "surrogate"],
)
def test_none_is_kept_and_nothing_is_half_written(backend: StoreBackend, odd: Chunk) -> None:
    backend.put([(Chunk("before", "d", "vault key", 2), None)])
    version = backend.store.version()
    with pytest.raises(StoreError, match=r"NUL|surrogate|cannot be a chunk's id") as told:
        backend.put([(Chunk("fine", "d", "vault", 1), None), (odd, None)])
    assert told.value.cure
    view = backend.snapshot()
    assert (view.ids_with_prefix(""), backend.store.version()) == (["before"], version)
    assert view.ids(view.lexical(Query("vault"), 5).rows).tolist() == ["before"]


def test_a_spelt_out_nul_is_no_nul(backend: StoreBackend) -> None:
    chunk = Chunk("c", "d", "\\u0000 \\0", 1, meta={"k": "\\u0000", "l": "\\\\u0000"})
    backend.put([(chunk, None)])
    (found,) = backend.snapshot().chunks(backend.snapshot().live_rows(None))
    assert (found.text, found.meta) == (chunk.text, chunk.meta)


def test_every_store_can_be_asked_about_one(backend: StoreBackend) -> None:
    chunks = [Chunk(f"c{i}", text or "d", "t", 1, meta={"k": text}) for i, text in enumerate(PLAIN)]
    backend.put([(chunk, None) for chunk in chunks])
    view = backend.snapshot()
    for value in (*ODD, *PLAIN):
        for op in ("=", "!=", "<", "<=", ">", ">=", "~"):
            for field in ("k", "doc_id"):
                held = [c.id for c in chunks if compare_values(c.meta["k"] if field == "k" else c.doc_id, op, value)]
                where = Compare(field, op, value)
                assert view.ids(view.live_rows(where)).tolist() == held, where
                others = [c.id for c in chunks if c.id not in held]
                assert view.ids(view.live_rows(Not(where))).tolist() == others, where
    assert (view.rows(np.array(ODD, dtype=object)) == -1).all()
    assert [view.ids_with_prefix(odd) for odd in ODD] == [[]] * len(ODD)


def test_a_scope_with_a_nul_is_nobodys(backend: StoreBackend) -> None:
    """SQLite's JSON ends a text at a NUL: were one kept, the scope "a\\0b" would pass for "a"."""
    backend.put([(Chunk("c", "d", "vault", 1, meta={"scope": "a"}), None)])
    view = backend.snapshot()
    assert view.ids(view.lexical(Query("vault", scope="a"), 5).rows).tolist() == ["c"]
    for odd in ODD:
        assert len(view.lexical(Query("vault", scope=odd), 5).rows) == 0


def test_what_is_added_keeps_everything_but_the_nul(any_store: str) -> None:
    with assay.open(any_store, embedder="none") as base:
        report = base.add(
            [{"id": "a\0b\ud800", "text": "nul \0 and \ud800 gateway", "k\0": "v\0", "scope": "x\0"}, {"text": "fine"}]
        )
        assert (report.added, report.problems) == (2, [])
        (hit,) = base.search("gateway", pipeline="bm25")
        assert hit.text == "nul \ufffd and \ufffd gateway"
        assert hit.chunk.meta["k\ufffd"] == "v\ufffd"
        assert not base.search("gateway", pipeline="bm25", scope="x").hits
        assert len(base.search("\0gate\ud800way gateway\0", pipeline="bm25")) == 1
        for target in ("\0", "\ud800", "a\0b"):
            with pytest.raises(StoreError):
                base.remove(target)
        assert base.snapshot().size == 2
