"""Somebody else's Qdrant collection on a real server: read only, filtered here, refused without permission."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from assay.config.load import from_dict, to_config
from assay.errors import AssayError, ConfigError, StoreError
from assay.sources.qdrant_collection import QdrantCollection
from assay.testing.contracts import check_source
from assay.testing.qdrant import QdrantNodes
from assay.testing.sample import sample_snapshot
from assay.types import Query
from assay.util.permissions import NotAllowed, address_effects
from assay.where import parse

PAYLOADS = [
    {"text": "Keys are kept in the vault.", "lang": "en", "when": 100.0, "n": 1, "tags": ["a", "b"]},
    {"text": "Lunch is at noon.", "when": "1970-01-01T00:03:20+00:00", "n": 2, "scope": "x"},
    {"text": "It's a key.", "lang": "de", "n": 3, "metadata": {"page": 7, "deep": {"no": 1}}},
    {"text": "A twin of it.", "lang": "en", "when": 300.0, "n": 4},
]
VECTORS = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0], [0.6, 0.8, 0.0]]
AT = np.array([1.0, 0.0, 0.0], np.float32)


@pytest.fixture(scope="module")
def address(qdrant: QdrantNodes) -> Iterator[str]:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(url=qdrant.nodes[0].url, check_compatibility=False)
    client.create_collection("notes", vectors_config=models.VectorParams(size=3, distance=models.Distance.COSINE))
    client.upsert(
        "notes",
        [
            models.PointStruct(id=number, vector=vector, payload=payload)
            for number, (vector, payload) in enumerate(zip(VECTORS, PAYLOADS, strict=True))
        ],
        wait=True,
    )
    yield f"{qdrant.address}/notes"
    client.delete_collection("notes")
    client.close()


def ids(source: QdrantCollection, query: Query, k: int = 10) -> list[str]:
    return source.find(query, sample_snapshot(), k).ids.tolist()


def test_nearest_first_ties_by_id(address: str) -> None:
    found = QdrantCollection(address, created="when").find(Query(vector=AT), sample_snapshot(), 10)
    assert found.ids.tolist() == ["0", "2", "3", "1"]
    assert found.score.tolist() == pytest.approx([1.0, 0.6, 0.6, 0.0], abs=1e-6)
    assert found.chunks[0].meta == {"lang": "en", "n": 1, "tags": ["a", "b"]}
    assert found.chunks[1].meta == {"page": 7, "lang": "de", "n": 3}
    assert [chunk.created for chunk in found.chunks] == pytest.approx([100.0, math.nan, 300.0, 200.0], nan_ok=True)
    assert ids(QdrantCollection(address), Query(vector=AT), k=2) == ["0", "2"], "the edge of a tie is stable"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ('lang = "en"', ["0", "3"]),
        ("lang is missing", ["1"]),
        ("n >= 2 and n < 4", ["2", "1"]),
        ('not (lang = "en")', ["2", "1"]),
        ('tags = "b"', ["0"]),
        ("page = 7", ["2"]),
    ],
)
def test_filters(address: str, where: str, expected: list[str]) -> None:
    assert ids(QdrantCollection(address), Query(vector=AT, where=parse(where))) == expected


def test_scope_and_moment(address: str) -> None:
    assert ids(QdrantCollection(address), Query(vector=AT, scope="x")) == ["1"]
    assert ids(QdrantCollection(address, created="when"), Query(vector=AT, at=150.0)) == ["0", "2"]


def test_a_filter_never_leaves_a_list_short(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only match is the farthest point, behind what the first request fetches."""
    monkeypatch.setattr("assay.sources.qdrant_collection._SPARE", 0)
    assert ids(QdrantCollection(address), Query(vector=AT, where=parse("n = 2")), k=1) == ["1"]


def test_contract(address: str) -> None:
    check_source(QdrantCollection(address, created="when", exact=True))


def test_as_a_leg_of_a_pipeline(address: str) -> None:
    config = {"legs": {"theirs": {"source": {"use": "qdrant_collection", "address": address}}}}
    again = to_config(from_dict(config))
    assert again["legs"]["theirs"]["source"]["address"] == address


def test_what_cannot_be_asked(address: str, qdrant: QdrantNodes) -> None:
    view = sample_snapshot()
    with pytest.raises(StoreError, match="the query has none"):
        QdrantCollection(address).find(Query("key"), view, 5)
    assert len(QdrantCollection(address).find(Query(" "), view, 5)) == 0
    with pytest.raises(StoreError, match="not answer"):
        QdrantCollection(f"{qdrant.address}/nothing").find(Query(vector=AT), view, 5)
    with pytest.raises(StoreError, match="expected dim"):
        QdrantCollection(address).find(Query(vector=np.ones(5, np.float32)), view, 5)
    with pytest.raises(StoreError, match="does not answer"):
        QdrantCollection("qdrant://127.0.0.1:1/notes", timeout=1.0).find(Query(vector=AT), view, 5)
    for bad in ("qdrant://127.0.0.1", "http://127.0.0.1/notes", ""):
        with pytest.raises(ConfigError):
            QdrantCollection(bad)


def test_a_host_is_contacted_only_when_allowed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_ALLOW", "host:example.org")
    with pytest.raises(NotAllowed, match=r"127\.0\.0\.1"):
        QdrantCollection(address).find(Query(vector=AT), sample_snapshot(), 5)
    monkeypatch.setenv("ASSAY_ALLOW", "host:127.0.0.1")
    with pytest.raises(AssayError, match="SECRET_OF_MINE"):
        QdrantCollection(address, key_env="SECRET_OF_MINE").find(Query(vector=AT), sample_snapshot(), 5)


def test_the_index_of_a_store_is_a_host_too() -> None:
    effects = address_effects("postgres://ann@db.example/team?index=qdrant://one.example:6333,two.example&schema=x")
    assert [str(effect) for effect in effects] == ["host:db.example", "host:one.example", "host:two.example"]
