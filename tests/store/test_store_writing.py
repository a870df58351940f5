"""What a transaction may do, what it refuses, and what a refusal leaves behind: nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makers import alive, chunk, made, put, vector

from assay.errors import StoreError
from assay.store.rows import FileState, digest_chunk, encode_row
from assay.store.sqlite import SqliteStore
from assay.store.validation import IdInUse
from assay.types import Chunk


@pytest.mark.parametrize(
    "bad",
    [
        Chunk("", "d", "t", 1),
        Chunk("a\0", "d", "t", 1),
        Chunk("a", "d", "t\0", 1),
        Chunk("a", "d\0", "t", 1),
        Chunk("a", "d", "t", 1, meta={"x": ["\0"]}),
        Chunk("\ud800", "d", "t", 1),
        Chunk("a", "\ud800", "t", 1),
        Chunk("a", "d", "\ud800", 1),
        Chunk("a", "d", "t", -1),
        Chunk("a", "d", "t", 1 << 70),
        Chunk("a", "d", "t", 1, created=float("inf")),
        Chunk("a", "d", "t", 1, importance=1.5),
        Chunk("a", "d", "t", 1, importance=float("nan")),
        Chunk("a", "d", "t", 1, meta={"x": float("nan")}),
        Chunk("a", "d", "t", 1, meta={"x": {1, 2}}),
        Chunk("a", "d", "t", 1, meta={1: "a", "b": 2}),  # type: ignore[dict-item]
        Chunk("a", "d", "t", 1, meta={"x": "\ud800"}),
    ],
    ids=lambda bad: repr(bad)[:60],
)
def test_a_chunk_no_store_can_hold(tmp_path: Path, bad: Chunk) -> None:
    """It is refused when it is put, with a cure; the rest of its transaction is undone, the store goes on."""
    store = made(tmp_path)
    put(store, chunk("good"))
    with pytest.raises(StoreError) as caught:
        put(store, chunk("with it"), bad)
    assert caught.value.cure
    assert alive(store) == ["good"]
    put(store, chunk("next"))
    assert alive(store) == ["good", "next"]


@pytest.mark.parametrize(
    "bad", [np.ones(3, np.float32), np.ones((2, 2), np.float32), np.array([np.nan, 0], np.float32), np.ones(0)]
)
def test_a_vector_no_search_can_use(tmp_path: Path, bad: Any) -> None:
    store = made(tmp_path, dim=2)
    with pytest.raises(StoreError, match="vector"), store.write("put") as writer:
        writer.put(chunk("a"), bad, "")
    with pytest.raises(StoreError, match="vector"), store.write("put") as writer:
        writer.put_file(FileState("f", "s", "h", 1), [(encode_row(chunk("a")), bad)])
    assert alive(store) == []


def test_no_vectors_in_a_store_without(tmp_path: Path) -> None:
    store = made(tmp_path)
    with pytest.raises(StoreError, match="length 0"), store.write("put") as writer:
        writer.put(chunk("a"), vector(1, 0), "")
    with pytest.raises(StoreError, match="length 0"), store.write("add") as writer:
        writer.put_file(FileState("f", "s", "h", 1), [(encode_row(chunk("a")), vector(1, 0))])
    assert alive(store) == []


def test_the_same_again_is_no_change(tmp_path: Path) -> None:
    store = made(tmp_path, dim=2)
    for times in range(3):
        with store.write("put") as writer:
            assert writer.put(chunk("a"), vector(1, 0), "") == (times == 0)
    assert store.version() == 1
    with store.write("put") as writer:
        assert not writer.put(chunk("a"), None, "")  # no vector asks for no change
    assert store.version() == 1


def test_another_vector_is_a_change(tmp_path: Path) -> None:
    store = made(tmp_path, dim=2)
    for numbers in ((1, 0), (0, 1)):
        with store.write("put") as writer:
            assert writer.put(chunk("a"), vector(*numbers), "")
    ((_, seq),) = store.live_at(2)
    assert store.vectors([seq], 2).tolist() == [[0, 1]]
    ((_, before),) = store.live_at(1)
    assert store.vectors([before], 2).tolist() == [[1, 0]]


def test_a_missing_vector_arrives(tmp_path: Path) -> None:
    """A file's chunk that has none yet gets it, and the version says that something is new to index."""
    store = made(tmp_path, dim=2)
    facts = FileState("s/f", "s", "h", 1)
    with store.write("add") as writer:
        writer.put_file(facts, [(encode_row(chunk("a")), None)])
    with store.write("add") as writer:
        writer.put_file(facts, [(encode_row(chunk("a")), vector(0, 1))])
    assert (writer.inserted, writer.unchanged, store.version()) == (0, 1, 2)
    assert store.rows_without_vector() == []


def test_a_file_is_what_it_holds(tmp_path: Path) -> None:
    """Equal chunks stay, changed ones are replaced under their id, missing ones die; all in one version."""
    store = made(tmp_path)
    facts = FileState("s/f", "s", "1", 10)
    with store.write("add") as writer:
        writer.put_file(facts, [(encode_row(chunk(name)), None) for name in "abc"])
    seqs = dict(store.live_at(1))
    with store.write("add") as writer:
        writer.put_file(facts, [(encode_row(one), None) for one in (chunk("a"), chunk("b", "new"), chunk("d"))])
    assert (writer.inserted, writer.deleted, writer.unchanged) == (2, 2, 1)
    assert alive(store) == ["a", "b", "d"]
    now = dict(store.live_at(2))
    assert now["a"] == seqs["a"]
    assert now["b"] > seqs["c"]
    assert dict(store.live_at(1)) == seqs


def test_an_id_of_another_file(tmp_path: Path) -> None:
    store = made(tmp_path)
    with store.write("add") as writer:
        writer.put_file(FileState("s/f", "s", "1", 1), [(encode_row(chunk("a")), None)])
    for chunks in ([chunk("a", "mine")], [chunk("b"), chunk("b", "twice")]):
        with pytest.raises(IdInUse, match="already in use") as caught, store.write("add") as writer:
            writer.put_file(FileState("s/g", "s", "1", 1), [(encode_row(one), None) for one in chunks])
        assert caught.value.cure
    assert alive(store) == ["a"]
    assert list(store.files()) == ["s/f"]


def test_born_and_replaced_in_one_version(tmp_path: Path) -> None:
    store = made(tmp_path)
    put(store, chunk("a", "first"), chunk("a", "second"))
    assert [row.chunk.text for row in store.rows([seq for _, seq in store.live_at(1)])] == ["second"]
    with store.write("both") as writer:
        writer.put(chunk("b"), None, "")
        writer.remove_chunk("b")
    assert alive(store) == ["a"]


def test_part_of_a_file_removed(tmp_path: Path) -> None:
    """The file is remembered as changed, so the next add brings it back whole; with its last chunk it is forgotten."""
    store = made(tmp_path)
    with store.write("add") as writer:
        writer.put_file(
            FileState("s/f", "s", "hash", 10), [(encode_row(chunk("a")), None), (encode_row(chunk("b")), None)]
        )
    with store.write("rm") as writer:
        writer.remove_chunk("a")
    assert store.files()["s/f"].hash == ""
    with store.write("rm") as writer:
        writer.remove_document("doc-b")
    assert store.files() == {}


def test_rows_that_were_forgotten(tmp_path: Path) -> None:
    store = made(tmp_path)
    put(store, chunk("a"))
    seqs = [seq for _, seq in store.live_at(1)]
    with store.write("rm") as writer:
        writer.remove_chunk("a")
    assert len(store.rows(seqs)) == 1
    with store.write("forget") as writer:
        assert writer.forget_dead(2) == 1
    with pytest.raises(StoreError, match="forgotten"):
        store.rows(seqs)
    assert (store.oldest(), store.version()) == (2, 2)


def test_embedded_anew_meanwhile(tmp_path: Path) -> None:
    """Who opened the store under the old model may not write to it under the new one."""
    old, other = made(tmp_path, dim=2), SqliteStore.open(tmp_path)
    with other.write("embed") as writer:
        writer.set("model", "m2")
        writer.set("dim", 3)
        writer.put(chunk("a"), vector(1, 0, 0), "")
    with pytest.raises(StoreError, match="another model") as caught, old.write("put") as writer:
        writer.put(chunk("b"), vector(1, 0), "")
    assert "open it again" in caught.value.cure
    with other.write("put") as writer:
        writer.put(chunk("c"), vector(0, 1, 0), "")
    assert alive(other) == ["a", "c"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SqliteStore:
    return made(tmp_path_factory.mktemp("kb"))


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
scalars = st.one_of(texts, st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
metas = st.dictionaries(texts, st.one_of(scalars, st.lists(scalars, max_size=3), st.none()), max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    text=texts,
    meta=metas,
    created=st.one_of(st.just(float("nan")), st.floats(allow_nan=False, allow_infinity=False)),
    importance=st.floats(0, 1),
)
def test_what_is_read_is_what_was_written(
    store: SqliteStore, text: str, meta: dict[str, Any], created: float, importance: float
) -> None:
    """Every chunk without a NUL that JSON and UTF-8 can hold comes back equal, with the same digest of its facts."""
    written = Chunk("a", "d", text, 3, created, importance, meta)
    put(store, written)
    ((_, seq),) = store.live_at(store.version())
    (row,) = store.rows([seq])
    assert row.facts == digest_chunk(row.chunk) == digest_chunk(written)
    assert (row.chunk.text, row.chunk.meta, row.chunk.importance) == (text, meta, importance)
    assert row.chunk.created == created or (row.chunk.created != row.chunk.created and created != created)
    before = store.version()
    put(store, row.chunk)
    assert store.version() == before


@pytest.mark.parametrize("name", ["\ud800", "v" + "9" * 5_000, "v99", "-1", "v-1", "", "١", "v1 ", "0x1", "\0"])
def test_a_snapshot_that_is_not_there(tmp_path: Path, name: str) -> None:
    store = made(tmp_path)
    put(store, chunk("a"))
    with pytest.raises(StoreError) as caught:
        store.resolve(name)
    assert caught.value.cure


def test_versions_and_tags(tmp_path: Path) -> None:
    store = made(tmp_path)
    put(store, chunk("a"))
    with store.write("tag") as writer:
        writer.tag("before", 1)
    put(store, chunk("b"))
    assert [store.resolve(name) for name in ("0", "v0", "1", "v1", "before", "v2")] == [0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize(
    "odd",
    [
        {"meta": {"title": '\x7f\x01\x1f"\\'}},
        {"meta": {"title": "é", "ключ": ["ß", 1.5, None, True]}},
        {"meta": {"b": 1, "a": {"z": [], "y": -0.0}}},
        {"created": -0.0},
        {"created": 1e300, "importance": 1},
        {"created": 12, "importance": 0},
        {"tokens": True},
        {"text": "a\ud800\u2028\x7f", "id": "ü"},
    ],
    ids=str,
)
def test_a_row_has_the_digest_of_its_chunk(odd: dict[str, Any]) -> None:
    """`encode_row` takes a shorter way to the same bytes."""
    one = replace(chunk("a"), **odd)
    assert encode_row(one)[-1] == digest_chunk(one)


@pytest.mark.parametrize("odd", [{"meta": {"x": float("nan")}}, {"created": float("inf")}, {"meta": {"x": object()}}])
def test_a_chunk_that_no_row_can_hold(odd: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="cannot be stored"):
        encode_row(replace(chunk("a"), **odd))
