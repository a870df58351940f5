"""The oracle itself, against values computed by hand."""

import math

import numpy as np
import pytest

from assay.errors import QueryError, StoreError
from assay.protocols import Snapshot
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import CHUNKS, NOW, QUERIES, sample_snapshot
from assay.types import DAY, Chunk, Query, fold
from assay.where import parse

THREE = MemorySnapshot([Chunk("a", "d", "red red car", 3), Chunk("b", "d", "red bus", 2), Chunk("c", "d", "blue", 1)])


def ids(snapshot, found):
    return snapshot.ids(found.rows).tolist()


def test_it_is_a_snapshot():
    assert isinstance(sample_snapshot(), Snapshot)
    assert sample_snapshot().capabilities == {"lexical", "exact", "dense", "graph"}
    assert sample_snapshot(vectors=False).capabilities == {"lexical", "exact", "graph"}
    reason = sample_snapshot(vectors=False).lacks("dense")
    assert reason is not None
    assert "pass them" in str(reason)
    assert sample_snapshot().lacks("dense") is None


def test_bm25_by_hand():
    """N = 3, avgdl = 2. red: df 2, idf ln(1 + 1.5/2.5). a: tf 2, dl 3; b: tf 1, dl 2."""
    found = THREE.lexical(Query("red car"), 10)
    red, car = math.log(1.6), math.log(1 + 2.5 / 1.5)
    long = 1.2 * (0.25 + 0.75 * 3 / 2)
    a = red * 2 * 2.2 / (2 + long) + car * 1 * 2.2 / (1 + long)
    b = red * 1 * 2.2 / (1 + 1.2)
    assert ids(THREE, found) == ["a", "b"]
    assert fold(found.parts, 2).tolist() == pytest.approx([a, b])
    assert [part.name for part in found.parts] == ["car", "red"]
    assert found.ideal == pytest.approx(2.2 * (red + car))
    assert THREE.term_weights("red cars") == pytest.approx({"red": red, "car": car})


def test_ties_go_by_id_and_k_is_a_prefix():
    snapshot = MemorySnapshot([Chunk(name, "d", "same words", 2) for name in "cab"])
    assert ids(snapshot, snapshot.lexical(Query("words"), 10)) == ["a", "b", "c"]
    assert ids(snapshot, snapshot.lexical(Query("words"), 2)) == ["a", "b"]


def test_nearest_by_hand():
    snapshot = sample_snapshot()
    found = snapshot.nearest(QUERIES[0], 4)
    assert ids(snapshot, found) == ["keys-1", "keys-2", "long-1", "keys-3"]
    assert fold(found.parts, 4).tolist() == pytest.approx([1.0, 0.96, 0.8, 0.6])
    everyone = ids(snapshot, snapshot.nearest(QUERIES[0], 100))
    assert "odd-1" not in everyone  # it has no vector
    assert everyone[-1] == "odd-2"


def test_nearest_without_vectors():
    with pytest.raises(StoreError, match="no vectors"):
        sample_snapshot(vectors=False).nearest(QUERIES[0], 3)
    for vector in (None, np.ones(2, np.float32)):
        with pytest.raises(QueryError, match="length 3"):
            sample_snapshot().nearest(Query("q", vector=vector), 3)


def test_exact_by_hand():
    snapshot = sample_snapshot()
    assert ids(snapshot, snapshot.exact(Query("what is jina_api_key?"), 10)) == ["keys-2"]
    found = snapshot.exact(Query('"signing key" JINA_API_KEY'), 10)
    assert ids(snapshot, found) == ["keys-2", "keys-1", "long-1"]
    assert found.ideal == 1.0
    assert fold(found.parts, 3)[0] == pytest.approx(1.0)
    assert len(snapshot.exact(Query("nothing special"), 10).rows) == 0


def test_who_may_be_found():
    snapshot = sample_snapshot()

    def seen(**limits):
        return set(ids(snapshot, snapshot.nearest(Query(vector=QUERIES[0].vector, **limits), 99)))

    everyone = {chunk.id for chunk in CHUNKS} - {"odd-1"}
    assert seen() == everyone
    assert seen(at=NOW - 30 * DAY) == {"keys-3", "food-1", "food-2"}  # an undated chunk is never hidden
    assert seen(scope="team") == {"food-2"}
    assert seen(scope="nobody") == set()
    assert seen(where=parse('lang = "en"')) == {"keys-1", "food-1"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('title = "Keys" and importance < 0.9', {"keys-2", "keys-3"}),
        ("lang is missing and created >= 2024-10-01", {"odd-1", "odd-2", "long-1"}),
        ('doc_id in ("food") and created is missing', {"food-1"}),
        ("size > 6", {"long-1"}),
        ('title ~ "EY"', {"keys-1", "keys-2", "keys-3"}),
        ("chars = 0", {"odd-1"}),
    ],
)
def test_filters(expression, expected):
    snapshot = sample_snapshot()
    mask = snapshot.matches(expression, np.arange(snapshot.size))
    assert {chunk.id for chunk, yes in zip(CHUNKS, mask, strict=True) if yes} == expected


@pytest.mark.parametrize("expression", ['langg = "en"', "lang = 3", 'size = "big"', "size ~ 3", "langg is missing"])
def test_filters_that_cannot_be_meant(expression):
    with pytest.raises(QueryError):
        sample_snapshot().matches(expression, np.arange(3))


def test_facts():
    snapshot = sample_snapshot()
    rows = snapshot.rows(np.array(["food-1", "nobody", "long-1"]))
    assert rows.tolist() == [3, -1, 5]
    known = rows[rows >= 0]
    assert snapshot.numbers("size", known).tolist() == pytest.approx([math.nan, 7.0], nan_ok=True)
    assert snapshot.numbers("chars", known).tolist() == [26.0, 29.0 * 40]
    assert math.isnan(snapshot.numbers("created", known)[0])
    assert [chunk.id for chunk in snapshot.chunks(known)] == ["food-1", "long-1"]
    assert snapshot.vectors(known).tolist() == np.array([[0, 0, 1], [0.8, 0, 0.6]], np.float32).tolist()


def test_an_empty_snapshot():
    empty = MemorySnapshot([])
    assert empty.size == 0
    for query in QUERIES:
        assert len(empty.lexical(query, 5).rows) == len(empty.exact(query, 5).rows) == 0


def test_the_digest_sees_everything():
    def digest(vectors=None, **change):
        return MemorySnapshot(
            [Chunk(**({"id": "a", "doc_id": "d", "text": "t", "tokens": 1} | change))], vectors
        ).digest

    changed = [{"text": "u"}, {"created": 1.0}, {"importance": 0.5}, {"meta": {"x": 1}}, {"vectors": np.ones((1, 2))}]
    assert len({digest(), digest(text="\ud800"), *(digest(**change) for change in changed)}) == 7
    assert digest() == digest()
