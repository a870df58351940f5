"""A PostgreSQL store with its index in a real Qdrant server: the answers of brute force, whatever befalls the index."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.backend.addresses import create_backend, open_backend
from assay.backend.qdrant.backend import IndexedBackend
from assay.backend.qdrant.manifest import IndexManifest
from assay.errors import ConfigError, StoreError
from assay.testing.backends import DIM, check_backend, compare, random_chunk, random_vector
from assay.testing.qdrant import QdrantNodes
from assay.types import Chunk, Query
from assay.where import parse
from tests.backend.test_local import backend as local_backend

SETTINGS = {"embedder": "test", "model": "m", "dim": DIM, "language": "english", "profile": "default"}


def opener(address: str, dim: int = DIM) -> Callable[[], IndexedBackend]:
    """Creates the store at the first call and opens it at the others."""
    made: list[bool] = []

    def make() -> Any:
        if made:
            return open_backend(address)
        made.append(True)
        return create_backend(address, {**SETTINGS, "dim": dim})

    return make


def corpus(size: int, seed: int = 1) -> list[tuple[Chunk, np.ndarray | None]]:
    rng = random.Random(seed)
    return [(random_chunk(rng, number), random_vector(rng)) for number in range(size)]


def notes(backend: IndexedBackend, query: Query, k: int = 5) -> list[str]:
    snapshot = backend.snapshot()
    found = [*snapshot.lexical(query, k).notes, *snapshot.nearest(query, k).notes]
    return [f"{note.kind}: {note.text}" for note in found]


def asked(text: str = "rotate the signing key", **facts: Any) -> Query:
    return Query(text, vector=random_vector(random.Random(5)), **facts)


@pytest.mark.parametrize("seed", range(2))
def test_contract(indexed: str, seed: int) -> None:
    check_backend(opener(indexed), seed, rounds=6)


def test_contract_with_filters_in_the_index(indexed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows a filter keeps, the index evaluates what it can of it."""
    monkeypatch.setattr("assay.backend.postgres.version_view.MAX_ROWS_BY_SEQ", -1)
    check_backend(opener(indexed), 2, rounds=6)


def test_contract_where_proofs_need_more_rows(indexed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.backend.qdrant.reader._SPARE", 0)
    monkeypatch.setattr("assay.backend.postgres.version_view.MAX_ROWS_BY_SEQ", -1)
    check_backend(opener(indexed), 3, rounds=6)


def test_contract_without_vectors(indexed: str) -> None:
    check_backend(opener(indexed, dim=0), 7, rounds=4)


def test_other_parameters_of_bm25(database: str, qdrant: QdrantNodes) -> None:
    for k1, b in ((0.0, 0.0), (2.0, 1.0)):
        address = f"{database}_{int(k1)}&index={qdrant.address}&index_vectors=exact"
        create_backend(address, {**SETTINGS, "k1": k1, "b": b}).close()
        check_backend(lambda address=address: open_backend(address), 2, rounds=3, k1=k1, b=b)


def test_the_index_serves_and_says_so(indexed: str) -> None:
    backend = opener(indexed)()
    backend.put(corpus(200))
    assert notes(backend, asked())[0].startswith("info: PostgreSQL answered without the index: there is no index")
    assert backend.pending == 200
    assert backend.compact()
    assert backend.pending == 0
    assert not backend.compact()
    served = notes(backend, asked())
    assert served == [
        "info: Qdrant (1 shard) proposed words, Assay scored them",
        "info: Qdrant (1 shard) proposed vectors, Assay scored them",
    ]
    found = backend.snapshot().nearest(asked(), 5)
    assert found.notes[0].data["index"] == {
        "shards_asked": 1,
        "shards_answered": 1,
        "shards_failed": [],
        "shards_late": [],
        "rows_covered": 1.0,
    }
    backend.close()


def test_answers_are_those_of_a_folder(indexed: str, tmp_path: Path) -> None:
    """The same ids in the same order with the same scores, tail and deletions included."""
    there, here = opener(indexed)(), local_backend(tmp_path / "kb")
    for backend in (there, here):
        backend.put(corpus(300))
        backend.compact()
        backend.put(corpus(40, seed=2))
        backend.remove([f"c{n:03d}" for n in range(0, 120, 7)])
    for text in ("rotate the signing key", "travel policy in Lisbon key key", "CVE-2024-1234 retry"):
        for where in (None, 'lang = "en"', "n >= 3 and n < 8"):
            query = asked(text, where=parse(where) if where else None)
            for look in ("lexical", "nearest", "exact"):
                one, two = (getattr(backend.snapshot(), look)(query, 20) for backend in (there, here))
                ids = [backend.snapshot().ids(found.rows).tolist() for backend, found in ((there, one), (here, two))]
                assert ids[0] == ids[1], (text, where, look)
                for mine, theirs in zip(one.parts, two.parts, strict=True):
                    assert mine.name == theirs.name
                    np.testing.assert_array_equal(mine.column, theirs.column)
    there.close()
    here.close()


def test_a_lost_index_is_noticed_and_rebuilt(indexed: str) -> None:
    backend = opener(indexed)()
    items = corpus(150)
    backend.put(items)
    backend.compact()
    before = _manifest(backend)
    backend._cluster.ask(lambda client: client.delete_collection(before.collection))
    alive = {chunk.id: (chunk, vector) for chunk, vector in items}
    compare(backend.snapshot(), alive, "without its collection", random.Random(1))
    assert any(note.startswith("degraded") for note in notes(backend, asked()))
    backend.close()
    again = open_backend(indexed)
    assert "is gone" in notes(again, asked())[0]
    assert again.compact()
    assert notes(again, asked())[0].startswith("info: Qdrant")
    again.close()


def test_a_rebuilt_collection_never_has_an_old_name(indexed: str) -> None:
    """A snapshot that was taken before must not read a collection that is just being filled."""
    backend = opener(indexed)()
    backend.put(corpus(60))
    backend.compact()
    before, old = _manifest(backend), backend.snapshot()
    backend._cluster.ask(lambda client: client.delete_collection(before.collection))
    backend.compact()
    assert _manifest(backend).collection != before.collection
    found = old.lexical(asked(), 20)
    assert found.notes[0].kind == "degraded"
    assert old.ids(found.rows).tolist() == backend.snapshot().ids(backend.snapshot().lexical(asked(), 20).rows).tolist()
    backend.close()


def test_an_index_that_lost_rows_does_not_serve(indexed: str) -> None:
    """A short collection would give short lists without a word."""
    backend = opener(indexed)()
    items = corpus(150)
    backend.put(items)
    backend.compact()
    name = _manifest(backend).collection
    backend._synchroniser.collection(_manifest(backend)).delete(list(range(1, 60)))
    backend.close()
    again = open_backend(indexed)
    assert "the index has lost 59 of 150 rows" in notes(again, asked())[0]
    compare(again.snapshot(), {c.id: (c, v) for c, v in items}, "short index", random.Random(1))
    assert again.compact()
    assert _manifest(again).collection != name
    assert notes(again, asked())[0].startswith("info: Qdrant")
    again.close()


def test_a_server_that_is_down_costs_time_and_no_answer(database: str, qdrant: QdrantNodes) -> None:
    with QdrantNodes.start() as own:
        address = f"{database}&index={own.address}&index_vectors=exact&index_timeout=2"
        backend = opener(address)()
        items = corpus(100)
        backend.put(items)
        backend.compact()
        own.nodes[0].end()
        compare(backend.snapshot(), {c.id: (c, v) for c, v in items}, "index down", random.Random(1))
        assert "does not answer" in notes(backend, asked())[0]
        backend.put([(Chunk("new", "d", "signing key of the harbour", 5), None)])
        assert "new" in backend.snapshot().ids(backend.snapshot().lexical(asked("harbour"), 3).rows).tolist()
        check = next(check for check in backend.health() if check.name == "index")
        assert check.state == "warn"
        with pytest.raises(StoreError, match="does not answer"):
            backend.compact()
        own.run(0)
        assert backend.compact()
        backend.close()


def test_erased_rows_leave_the_index(indexed: str) -> None:
    backend = opener(indexed)()
    backend.put(corpus(60))
    backend.compact()
    ids = [f"c{n:03d}" for n in range(0, 60, 5)]
    backend.remove(ids)
    backend.compact()
    collection = backend._synchroniser.collection(_manifest(backend))
    assert collection.count() == 60  # dead rows serve older versions
    report = backend.erase(["d0"], "purge")
    assert any("points" in line for line in report.erased)
    assert collection.count() == 48
    assert not backend.compact()
    assert backend.forget(backend.store.version()) == 0
    backend.close()


def test_vectors_that_come_later_are_found(indexed: str) -> None:
    """A row whose vector is added after it was indexed: the index is built anew."""
    backend = opener(indexed)()
    backend.put([(Chunk(f"c{i}", "d", "key", 1), None) for i in range(20)])
    backend.compact()
    vector = random_vector(random.Random(5))
    assert vector is not None
    with backend.store.write("vectors") as writer:
        writer.put_vectors([(seq, vector) for seq in backend.store.rows_without_vector()])
    assert len(backend.snapshot().nearest(asked(), 20).rows) == 20
    assert backend.compact()
    found = backend.snapshot().nearest(asked(), 20)
    assert len(found.rows) == 20
    assert found.notes[0].text.startswith("Qdrant")
    backend.close()


def test_somebody_elses_collection_is_left_alone(database: str, qdrant: QdrantNodes) -> None:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(url=qdrant.nodes[0].url, check_compatibility=False)
    client.create_collection("theirs_1", vectors_config=models.VectorParams(size=3, distance=models.Distance.DOT))
    client.upsert("theirs_1", [models.PointStruct(id=1, vector=[1.0, 0.0, 0.0])], wait=True)
    backend = opener(f"{database}&index={qdrant.address}/theirs&index_vectors=exact")()
    backend.put(corpus(30))
    backend.compact()
    assert _manifest(backend).collection not in ("theirs_1", "")
    assert client.count("theirs_1").count == 1
    with backend.store.derived_transaction() as db:  # as after a copy of the database beside another cluster
        facts: Any = ("theirs_1", 30, 1, 1, 1.0, "m", backend.store.settings["analyser"])
        IndexManifest(*facts, database=backend.store.database).write(db)
    assert "PostgreSQL answered" in notes(backend, asked())[0]
    backend.compact()
    assert client.count("theirs_1").count == 1
    backend.close()
    client.close()


def test_a_key_is_wanted_and_never_shown(database: str) -> None:
    with QdrantNodes.start(key="s3cret") as own:
        plain = f"{database}&index={own.address}"
        backend = opener(plain)()
        backend.put(corpus(20))
        with pytest.raises(StoreError, match="wants an API key"):
            backend.compact()
        backend.close()
        keyed = open_backend(f"{plain}&index_key=s3cret")
        assert keyed.compact()
        assert "s3cret" not in keyed.store.address
        assert "s3cret" not in str(keyed.index())
        keyed.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("index=http://localhost:6333", "no address of Qdrant"),
        ("index=qdrant://", "no address of Qdrant"),
        ("index_shards=2", "names no index"),
        ("index=qdrant://h&index_shards=0", "cannot be '0'"),
        ("index=qdrant://h&index_vectors=fast", "cannot be 'fast'"),
        ("index=qdrant://h&index_colour=red", "no setting 'index_colour'"),
        ("index=qdrant://h&index_timeout=soon", "cannot be 'soon'"),
        ("index=qdrant://h&index_partial=maybe", "cannot be 'maybe'"),
    ],
)
def test_what_cannot_be_read_creates_nothing(database: str, options: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        create_backend(f"{database}&{options}", SETTINGS)
    with pytest.raises(StoreError, match="there is no store"):
        open_backend(database)


def test_shards_need_a_cluster(database: str, qdrant: QdrantNodes) -> None:
    backend = opener(f"{database}&index={qdrant.address}&index_shards=3")()
    backend.put(corpus(20))
    with pytest.raises(StoreError, match="single server"):
        backend.compact()
    assert len(backend.snapshot().lexical(asked(), 5).rows) == 5  # PostgreSQL answers
    backend.close()


def _manifest(backend: IndexedBackend) -> IndexManifest:
    manifest = backend._manifest()
    assert manifest is not None
    return manifest
